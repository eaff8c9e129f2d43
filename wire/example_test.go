package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/wire"
)

func ExampleParseRequest() {
	request, err := wire.ParseRequest([]byte(`{
		"RequestType": "Create",
		"ResponseURL": "http://127.0.0.1:4600/response/key",
		"StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/web/5f1a",
		"RequestId": "r-1",
		"LogicalResourceId": "Site",
		"ResourceType": "Custom::Site"
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(request)

	response := wire.ResponseTo(request, wire.Success)
	response.PhysicalResourceID = "site-1"
	response.Data = json.RawMessage(`{"url":"http://site-1.example"}`)
	body, err := response.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(body))
	// Output:
	// Create Custom::Site Site in arn:aws:cloudformation:us-east-1:123456789012:stack/web/5f1a, request r-1
	// {"Status":"SUCCESS","PhysicalResourceId":"site-1","StackId":"arn:aws:cloudformation:us-east-1:123456789012:stack/web/5f1a","RequestId":"r-1","LogicalResourceId":"Site","Data":{"url":"http://site-1.example"}}
}

func ExampleParseResponse() {
	response, err := wire.ParseResponse([]byte(`{"Status":"FAILED","Reason":"disk full"}`))
	var refused *wire.ResponseError
	if errors.As(err, &refused) {
		fmt.Println(refused.Text)
	}
	fmt.Println(response.Reason)
	// Output:
	// Invalid PhysicalResourceId
	// disk full
}

func ExampleRedact() {
	fmt.Println(wire.Redact("cannot PUT https://h.example/k?X-Amz-Expires=7200&X-Amz-Signature=0a1b2c"))
	// Output: cannot PUT https://h.example/k?X-Amz-Expires=7200&X-Amz-Signature=REDACTED
}
