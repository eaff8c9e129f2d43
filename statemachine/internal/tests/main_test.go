package tests_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awslambda"
	"github.com/pintle-dev/pintle/statemachine"
)

// TestMain makes this binary also a function, on either loop.
func TestMain(m *testing.M) {
	handlers := []pintle.Handler{pintle.New(jobs{os.Getenv("TEST_LEDGER")})}
	switch os.Getenv("TEST_FUNCTION") {
	case "pintle":
		statemachine.Main(handlers...)
	case "aws-lambda-go":
		awslambda.Start(handlers...)
	}
	os.Exit(m.Run())
}

const (
	secret = "hunter2-marked"
	mark   = "5ec2e7marked"
)

// jobs is a provider whose operations are done at the third poll. The property Do selects a failure.
type jobs struct{ ledger string }

type properties struct {
	Do     string
	Secret pintle.Secret
}

type attributes struct{ Secret pintle.Secret }

func (j jobs) Create(ctx context.Context, r *pintle.CreateRequest[properties]) (pintle.Response[attributes], error) {
	_, err := j.note(ctx, "create")
	return pintle.Response[attributes]{ID: "job-1", State: job{Secret: secret}}, err
}

func (jobs) Update(context.Context, *pintle.UpdateRequest[properties]) (pintle.Response[attributes], error) {
	return pintle.Response[attributes]{}, errors.New("nothing can be updated")
}

func (jobs) Delete(context.Context, *pintle.DeleteRequest[properties]) error { return nil }

type job struct {
	Secret string
	Step   int
	Bulk   string
}

func (j jobs) Poll(ctx context.Context, r *pintle.PollRequest[properties]) (pintle.Progress[attributes], error) {
	var was job
	if err := json.Unmarshal(r.State, &was); err != nil {
		return pintle.Progress[attributes]{}, err
	}
	first, err := j.note(ctx, fmt.Sprint("ready/", was.Step))
	if err != nil {
		return pintle.Progress[attributes]{}, err
	}
	was.Step++
	p := pintle.Progress[attributes]{Done: was.Step == 3, After: 90 * time.Second, Reason: fmt.Sprint("step ", was.Step),
		Attributes: attributes{r.Properties.Secret}}
	switch {
	case r.Properties.Do == "crash" && was.Step == 2 && first:
		os.Exit(3)
	case r.Properties.Do == "fail" && was.Step == 2:
		return p, errors.New("the disk with " + secret + " is full")
	case r.Properties.Do == "for ever":
		p.Done, p.After = false, time.Duration(was.Step)*20*time.Minute // the second one exceeds the limit of 30 minutes
	case r.Properties.Do == "bulk":
		p.After = time.Millisecond
		was.Bulk = bulk()
	}
	p.State = was
	return p, nil
}

// bulk returns a text that cannot be compressed.
func bulk() string {
	text := make([]byte, 230<<10)
	seed := uint32(1)
	for n := range text {
		seed = seed*1664525 + 1013904223
		text[n] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"[seed>>26]
	}
	return string(text)
}

// note reports to the ledger, and returns whether it is the first time.
func (j jobs) note(ctx context.Context, what string) (first bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, j.ledger+"/ledger/"+what, nil)
	if err != nil {
		return false, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	return response.StatusCode == http.StatusCreated, response.Body.Close()
}
