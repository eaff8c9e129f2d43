package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
)

// assertProperties are the properties of Custom::S3Assert.
type assertProperties struct {
	BucketName      string `pintle:"required,pattern='^[A-Za-z0-9._-]{3,63}$'"`
	ObjectKey       string `pintle:"required,length=1..1024"`
	ExpectedContent string `pintle:"required"`
}

// asserts is the provider of a resource that makes nothing: its Create succeeds when an object has the expected content.
// Its physical ID has no meaning: Create returns none, so the package uses the request ID, and Update keeps it.
type asserts struct{ store *store }

// assertPolicy polls an object for five minutes.
var assertPolicy = pintle.PollPolicy{Interval: 5 * time.Second, Timeout: 5 * time.Minute}

// Create starts nothing. Poll does the rest.
func (asserts) Create(context.Context, *pintle.CreateRequest[assertProperties]) (pintle.Response[struct{}], error) {
	return pintle.Response[struct{}]{}, nil
}

// Update also starts nothing.
func (asserts) Update(context.Context, *pintle.UpdateRequest[assertProperties]) (pintle.Response[struct{}], error) {
	return pintle.Response[struct{}]{}, nil
}

// Delete has nothing to delete. With ErrGone, the package does not poll.
func (asserts) Delete(context.Context, *pintle.DeleteRequest[assertProperties]) error {
	return pintle.ErrGone
}

// Poll checks the object once. It waits while the difference may still disappear, and fails immediately if it cannot,
// such as for a missing bucket.
func (a asserts) Poll(ctx context.Context, r *pintle.PollRequest[assertProperties]) (pintle.Progress[struct{}], error) {
	p := r.Properties
	is := object{p.BucketName, p.ObjectKey}
	text, err := a.store.read(ctx, is)
	var tooLarge *awscall.ResponseTooLargeError
	switch {
	case errors.Is(err, errNone):
		return pintle.Progress[struct{}]{Reason: fmt.Sprintf("%v is not there", is)}, nil
	case errors.As(err, &tooLarge):
		return pintle.Progress[struct{}]{Reason: fmt.Sprintf("%v has more than %d bytes, want %d", is, tooLarge.Limit, len(p.ExpectedContent))}, nil
	case mayPass(err):
		return pintle.Progress[struct{}]{Reason: err.Error()}, nil
	case err != nil:
		return pintle.Progress[struct{}]{}, err
	case text != p.ExpectedContent:
		return pintle.Progress[struct{}]{Reason: fmt.Sprintf("%v has %s", is, difference(text, p.ExpectedContent))}, nil
	}
	return pintle.Progress[struct{}]{Done: true, Reason: fmt.Sprintf("%v has the expected content", is)}, nil
}

// difference describes how two texts differ without quoting them, because many people can read events.
func difference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	return fmt.Sprintf("%d bytes, want %d; they differ from byte %d on", len(got), len(want), at)
}
