package awscall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
)

func ExampleClient_Call() {
	// This server stands for AWS. Calls to AWS itself need no Endpoint.
	stand := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == `{"Name":"/my/parameter"}` {
			fmt.Fprint(w, `{"Parameter":{"Name":"/my/parameter","Value":"hello","Version":3}}`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"ParameterNotFound","message":"There is none."}`)
	}))
	defer stand.Close()

	client, err := awscall.New(awscall.Config{
		Region:      "eu-west-1",
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
		Endpoint:    stand.URL,
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := client.Call(context.Background(), "SSM", "getParameter", map[string]any{"Name": "/my/parameter"})
	if err != nil {
		log.Fatal(err)
	}
	flat := awscall.Flatten(out)
	fmt.Println(flat["Parameter.Value"], flat["Parameter.Version"])

	_, err = client.Call(context.Background(), "SSM", "getParameter", map[string]any{"Name": "/none"})
	var failed *awscall.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Code)
	}
	// Output:
	// hello 3
	// ParameterNotFound
}
