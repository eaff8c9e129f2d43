package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

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

func ExampleSigner() {
	base := &url.URL{Scheme: "http", Host: "127.0.0.1:4600", Path: "/response"}
	signer, err := wire.NewSigner(wire.SignerConfig{
		KeyID: "EXAMPLEKEY", Secret: "at least sixteen bytes", Bases: []*url.URL{base},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	key := wire.ResponseKey{
		StackID:   wire.NewStackID("us-east-1", "123456789012", "web", "5f1a"),
		LogicalID: "Site", RequestID: "r-1",
	}
	signed, err := signer.Sign(base, key, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), wire.SignOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	u, err := url.Parse(signed)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.EscapedPath())
	// Output:
	// /response/arn%3Aaws%3Acloudformation%3Aus-east-1%3A123456789012%3Astack/web/5f1a%7CSite%7Cr-1
}

func ExampleRedact() {
	fmt.Println(wire.Redact("cannot PUT https://h.example/k?X-Amz-Expires=7200&X-Amz-Signature=0a1b2c"))
	// Output: cannot PUT https://h.example/k?X-Amz-Expires=7200&X-Amz-Signature=REDACTED
}
