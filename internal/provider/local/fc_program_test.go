package local_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// fcTold holds the parts of an invocation of a Function Compute program that tests check.
type fcTold struct {
	Header http.Header
	Env    []string
	Inits  int // previous calls of the initializer
	Body   string
}

// fcHandle executes the task in an event. ok is false if the function fails.
func fcHandle(header http.Header, payload []byte, inits int) (result []byte, ok bool) {
	var t task
	if err := json.Unmarshal(payload, &t); err != nil {
		panic(err)
	}
	for _, line := range t.Print {
		fmt.Println(line)
	}
	switch t.Do {
	case "answer":
		return []byte(t.Answer), true
	case "describe":
		result, _ = json.Marshal(fcTold{header, os.Environ(), inits, string(payload)})
		return result, true
	case "large":
		return bytes.Repeat([]byte("x"), 6<<20+1), true
	case "error":
		return []byte(t.Answer), false
	case "exit":
		os.Exit(t.Code)
	case "hang":
		hang()
	}
	panic("unknown task " + t.Do)
}

// runFCProgram behaves like Alibaba Cloud's runtime for Go. It asks for the next event before it has finished the last,
// never stops asking, expects the status 200, and rejects events without a numeric deadline or timeout.
func runFCProgram() {
	base := "http://" + os.Getenv("FC_RUNTIME_API") + "/2020-11-11/runtime/invocation/"
	client := &http.Client{}
	inits := 0
	for {
		h, payload, err := fcNext(client, base+"next")
		if err != nil {
			fmt.Println("no event:", err)
			continue
		}
		go func() { // ends with the process
			for _, name := range []string{"x-fc-function-deadline", "x-fc-function-timeout"} {
				if _, err := strconv.ParseInt(h.Get(name), 10, 64); err != nil {
					panic(err)
				}
			}
			path, result := "/response", []byte(nil)
			if h.Get("x-fc-function-type") == "1" {
				inits++
				if os.Getenv("TEST_INIT") == "fails" {
					path, result = "/error", []byte(`{"errorType":"InitError","errorMessage":"no database"}`)
				}
			} else {
				var ok bool
				if result, ok = fcHandle(h, payload, inits); !ok {
					path = "/error"
				}
			}
			answer, err := client.Post(base+h.Get("x-fc-request-id")+path, "application/json", bytes.NewReader(result))
			if err != nil || answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusRequestEntityTooLarge {
				panic(fmt.Sprint("the result was not taken: ", err))
			}
			answer.Body.Close()
		}()
	}
}

func fcNext(client *http.Client, url string) (http.Header, []byte, error) {
	response, err := client.Get(url)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	payload, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return response.Header, payload, err
}

// runFCServer is a custom runtime, which listens for events.
func runFCServer() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("FC_SERVER_PORT"))
	if err != nil {
		panic(err)
	}
	inits := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /initialize", func(w http.ResponseWriter, _ *http.Request) {
		inits++
		if os.Getenv("TEST_INIT") == "fails" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"errorType":"InitError","errorMessage":"no database"}`)
		}
	})
	mux.HandleFunc("POST /invoke", func(w http.ResponseWriter, r *http.Request) {
		payload, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		result, ok := fcHandle(r.Header, payload, inits)
		if !ok {
			w.Header().Set("x-fc-status", "404")
		}
		_, _ = w.Write(result)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	panic(server.Serve(listener))
}
