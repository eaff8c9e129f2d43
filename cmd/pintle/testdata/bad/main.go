// Bad is a provider that misbehaves as its property Mode says. It speaks the Lambda Runtime API by hand, so that it can
// do what a provider on the SDK cannot.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

type event struct {
	RequestType, ResponseURL, StackId, RequestId, LogicalResourceId, PhysicalResourceId string
	ResourceProperties                                                                  struct{ Mode string }
}

func main() {
	base := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
	for {
		response, err := http.Get(base + "next")
		if err != nil {
			os.Exit(0) // the engine has gone
		}
		var e event
		if err := json.NewDecoder(response.Body).Decode(&e); err != nil {
			panic(err)
		}
		response.Body.Close()
		handle(e)
		done, err := http.Post(base+response.Header.Get("Lambda-Runtime-Aws-Request-Id")+"/response", "application/json", strings.NewReader("null"))
		if err != nil {
			os.Exit(0)
		}
		done.Body.Close()
	}
}

func handle(e event) {
	// Where a request that is not answered in time leaves its URL, for the Delete that follows.
	late := filepath.Join(os.Getenv("LATE_DIR"), e.LogicalResourceId)
	if e.RequestType == "Delete" {
		if url, err := os.ReadFile(late); err == nil {
			put(string(url), e.answer("SUCCESS", "late"))
		}
		put(e.ResponseURL, e.answer("SUCCESS", e.PhysicalResourceId))
		return
	}
	switch mode := e.ResourceProperties.Mode; mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "these are my last words")
		os.Exit(3)
	case "panic":
		panic("out of cheese")
	case "failed":
		put(e.ResponseURL, strings.Replace(e.answer("FAILED", "a"), "{", `{"Reason": "no luck",`, 1))
	case "colour":
		reason, _ := json.Marshal("\x1b[31mred\x1b[0m\x00 at " + e.ResponseURL)
		put(e.ResponseURL, strings.Replace(e.answer("FAILED", "a"), "{", `{"Reason": `+string(reason)+`,`, 1))
	case "anonymous":
		put(e.ResponseURL, strings.Replace(e.answer("FAILED", ""), "{", `{"Reason": "no luck",`, 1))
	case "large":
		put(e.ResponseURL, strings.Replace(e.answer("SUCCESS", "a"), "{", `{"Pad": "`+strings.Repeat("x", 5000)+`",`, 1))
	case "garbage":
		put(e.ResponseURL, "this is not JSON")
	case "twice":
		put(e.ResponseURL, e.answer("SUCCESS", "first"))
		put(e.ResponseURL, e.answer("SUCCESS", "second"))
	case "late":
		if err := os.WriteFile(late, []byte(e.ResponseURL), 0o600); err != nil {
			panic(err)
		}
	case "never":
	default:
		put(e.ResponseURL, e.answer("SUCCESS", "a"))
	}
}

func (e event) answer(status, id string) string {
	body, err := json.Marshal(map[string]string{
		"Status": status, "PhysicalResourceId": id, "StackId": e.StackId, "RequestId": e.RequestId,
		"LogicalResourceId": e.LogicalResourceId,
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

func put(url, body string) {
	request, err := http.NewRequest(http.MethodPut, url, bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusOK {
		panic("the response URL answered " + response.Status)
	}
}
