package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/internal/store"
)

func TestKeepFlags(t *testing.T) {
	const day = 24 * time.Hour
	defaults := store.Keep{Deleted: 90 * day, Requests: 7 * day, Events: 10_000, Audit: 1_000}
	with := func(change func(*store.Keep)) *store.Keep { k := defaults; change(&k); return &k }
	for _, test := range []struct {
		args []string
		want *store.Keep // nil: refused
	}{
		{nil, &defaults},
		{[]string{"--keep-deleted", "1d"}, with(func(k *store.Keep) { k.Deleted = day })},
		{[]string{"--keep-deleted", "36h", "--keep-requests", "25h"}, with(func(k *store.Keep) { k.Deleted, k.Requests = 36*time.Hour, 25*time.Hour })},
		{[]string{"--keep-deleted", "forever", "--keep-requests", "forever"}, with(func(k *store.Keep) { k.Deleted, k.Requests = store.Forever, store.Forever })},
		{[]string{"--keep-events", "5", "--keep-audit", "6"}, with(func(k *store.Keep) { k.Events, k.Audit = 5, 6 })},
		{[]string{"--keep-requests", "23h"}, nil},
		{[]string{"--keep-requests", "forever"}, with(func(k *store.Keep) { k.Requests = store.Forever })},
		{[]string{"--keep-deleted", "0d"}, nil},
		{[]string{"--keep-deleted", "-1h"}, nil},
		{[]string{"--keep-deleted", "d"}, nil},
		{[]string{"--keep-deleted", "106752d"}, nil},
		{[]string{"--keep-deleted", "ninety"}, nil},
		{[]string{"--keep-events", "0"}, nil},
		{[]string{"--keep-audit", "-1"}, nil},
	} {
		var o keepOptions
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		o.flags(flags)
		err := flags.Parse(test.args)
		var got store.Keep
		if err == nil {
			got, err = o.keep()
		}
		switch {
		case test.want == nil && err == nil:
			t.Errorf("%v: accepted as %+v", test.args, got)
		case test.want != nil && err != nil:
			t.Errorf("%v: %v", test.args, err)
		case test.want != nil:
			if diff := cmp.Diff(*test.want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", test.args, diff)
			}
		}
	}
	for text, want := range map[string]string{"2160h": "90d", "36h": "36h0m0s", "forever": "forever"} {
		var k keptFor
		if err := k.Set(text); err != nil || k.String() != want {
			t.Errorf("%s is shown as %s, error %v", text, k.String(), err)
		}
	}
}
