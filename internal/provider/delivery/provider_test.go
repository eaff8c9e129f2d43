package delivery_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// provide is the main function of a provider's process. Its mode decides how it handles events.
func provide(mode string) {
	if mode == "init" {
		fmt.Println("no database at hunter2&more")
		os.Exit(7)
	}
	api := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
	for {
		response, err := http.Get(api + "next")
		if err != nil {
			os.Exit(0)
		}
		event, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			os.Exit(8)
		}
		id := response.Header.Get("Lambda-Runtime-Aws-Request-Id")
		switch mode {
		case "returns":
		case "exits":
			fmt.Println("the password is hunter2&more")
			fmt.Println(string(event))
			os.Exit(3)
		case "errs":
			post(api+id+"/error", `{"errorType":"Oops","errorMessage":"bad password hunter2&more"}`)
			continue
		case "throws": // throws the event
			post(api+id+"/error", fmt.Sprintf(`{"errorType":"Retry","errorMessage":%q,"trace":[]}`, event))
			continue
		case "echoes":
			post(api+id+"/response", string(event))
			continue
		case "waits": // returns the collector's reply if it may wait
			if response.Header.Get("Pintle-Waits") == "true" {
				post(api+id+"/response", post(os.Getenv("COLLECTOR")+"?arn="+response.Header.Get("Lambda-Runtime-Invoked-Function-Arn"), string(event)))
				continue
			}
		case "collects": // forwards the event and exits if the collector asks for it
			if post(os.Getenv("COLLECTOR")+"?arn="+response.Header.Get("Lambda-Runtime-Invoked-Function-Arn"), string(event)) == "exit" {
				os.Exit(4)
			}
		}
		post(api+id+"/response", "null")
	}
}

func post(url, body string) string {
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	return string(bytes.TrimSpace(answer))
}
