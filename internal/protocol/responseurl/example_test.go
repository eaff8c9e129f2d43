package responseurl_test

import (
	"fmt"
	"net/url"
	"time"

	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/wire"
)

func ExampleSigner() {
	base := &url.URL{Scheme: "http", Host: "127.0.0.1:4600", Path: "/response"}
	signer, err := responseurl.NewSigner(responseurl.SignerConfig{
		KeyID: "EXAMPLEKEY", Secret: "at least sixteen bytes", Bases: []*url.URL{base},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	key := responseurl.ResponseKey{
		StackID:   wire.NewStackID("us-east-1", "123456789012", "web", "5f1a"),
		LogicalID: "Site", RequestID: "r-1",
	}
	signed, err := signer.Sign(base, key, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), responseurl.SignOptions{})
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
