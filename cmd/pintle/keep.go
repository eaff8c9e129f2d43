package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/internal/store"
)

// keepOptions are the flags that limit the history.
type keepOptions struct {
	deleted, requests keptFor
	events, audit     int
}

func (o *keepOptions) flags(flags *pflag.FlagSet) {
	o.deleted, o.requests = keptFor(store.DefaultKeepDeleted), keptFor(store.DefaultKeepRequests)
	flags.Var(&o.deleted, "keep-deleted", "how long deleted stacks can be described by their ARN, a `DURATION` such as 90d or 12h, or forever")
	flags.Var(&o.requests, "keep-requests", "how long completed requests are kept, a `DURATION` of 1d or more")
	flags.IntVar(&o.events, "keep-events", store.DefaultKeepEvents, "how `MANY` event rows of an existing stack are kept; those of its newest operation are always kept")
	flags.IntVar(&o.audit, "keep-audit", store.DefaultKeepAudit, "how `MANY` audit entries of a stack are kept")
	fromEnvironment(flags, "keep-deleted", "keep-requests", "keep-events", "keep-audit")
}

// leastKept is how long the request must be known that a URL belongs to: that of a wait condition's handle is good for a day.
const leastKept = 24 * time.Hour

func (o *keepOptions) keep() (store.Keep, error) {
	keep := store.Keep{Deleted: time.Duration(o.deleted), Requests: time.Duration(o.requests), Events: o.events, Audit: o.audit}
	switch {
	case o.events < 1 || o.audit < 1:
		return keep, usagef("use a number from 1", "--keep-events %d, --keep-audit %d: must be at least 1", o.events, o.audit)
	case keep.Requests < leastKept:
		return keep, usagef("give 1d or more", "--keep-requests %v: response URLs are valid for up to a day", keep.Requests)
	}
	return keep, nil
}

// keptFor is a flag's duration that may have days, or be forever.
type keptFor time.Duration

// String returns it as it is typed.
func (k *keptFor) String() string {
	d := time.Duration(*k)
	switch {
	case d == store.Forever:
		return "forever"
	case d > 0 && d%(24*time.Hour) == 0:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	return d.String()
}

// Set parses the value of the flag.
func (k *keptFor) Set(text string) error {
	if text == "forever" {
		*k = keptFor(store.Forever)
		return nil
	}
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if n, err = strconv.Atoi(days); n > math.MaxInt64/int(24*time.Hour) {
			return fmt.Errorf("%q is too long: use forever", text)
		}
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return fmt.Errorf("%q: use a duration greater than 0 such as 90d or 12h, or forever", text)
	}
	*k = keptFor(d)
	return nil
}

// Type returns the name of the type for help texts.
func (*keptFor) Type() string { return "duration" }
