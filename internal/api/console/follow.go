package console

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"

	"github.com/pintle-dev/pintle/internal/store"
)

// liveStacks notifies a list of stacks when it has changed. All viewers of the same page of the same list share one
// check.
func (lp *listPages) liveStacks(v *visit) error {
	q, accounts := v.r.URL.Query(), v.session.accounts()
	look := func(ctx context.Context) (state, error) {
		view, err := lp.listStacks(ctx, accounts, q)
		if err != nil {
			return state{}, err
		}
		return view.state(), nil
	}
	now, err := look(v.r.Context())
	if err != nil {
		return err
	}
	return lp.live.stream(v, now, topic{key: "stacks " + strings.Join(accounts, ",") + " " + q.Encode(), look: look})
}

// state returns a summary of the list's content.
func (v *stacksView) state() state {
	sum := fnv.New64a()
	for i := range v.Stacks {
		s := &v.Stacks[i]
		fmt.Fprintln(sum, s.Key, s.Operation, s.Kind, s.Phase, s.Live)
	}
	fmt.Fprintln(sum, v.Next, v.Partly, len(v.Regions))
	return state{Status: v.Summary(), Running: v.Running, Version: int64(sum.Sum64() >> 11)} // exact as a JavaScript number
}

// Summary returns the number of stacks on the page, and the numbers of running and failed ones.
func (v *stacksView) Summary() string {
	text := plural(len(v.Stacks), "stack")
	for _, part := range []struct {
		count int
		word  string
	}{{v.Running, "in progress"}, {v.Failed, "failed"}} {
		if part.count > 0 {
			text += fmt.Sprintf(", %d %s", part.count, part.word)
		}
	}
	return text
}

// stacksStream returns the path of a list's stream.
func stacksStream(q url.Values) string {
	path := Prefix + "stacks/live"
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// liveRequest notifies a page when its request, or the request's log, has changed. It continues briefly after the
// request has finished, because providers print after they have answered.
func (rp *requestPages) liveRequest(v *visit) error {
	r, _, err := rp.request(v)
	if err != nil {
		return err
	}
	const after = 3 // looks
	quiet := 0
	look := func(ctx context.Context) (state, error) {
		r, err := rp.Rows.Request(ctx, r.ID)
		if err != nil {
			return state{}, err
		}
		now, err := rp.stateOfRequest(ctx, v, &r)
		if r.State == store.RequestSettled {
			quiet++
		}
		now.Ended = quiet > after
		return now, err
	}
	now, err := rp.stateOfRequest(v.r.Context(), v, &r)
	if err != nil {
		return err
	}
	now.Ended = r.State == store.RequestSettled
	return rp.live.stream(v, now, topic{key: "request " + string(r.ID), look: look, ages: true})
}

func (rp *requestPages) stateOfRequest(ctx context.Context, v *visit, r *store.Request) (state, error) {
	sum := fnv.New64a()
	fmt.Fprintln(sum, r.State, r.Cancelled, r.Delivered, r.Due, r.Late, rp.progress(r))
	if rp.Logs != nil {
		lines, err := rp.Logs(ctx, r.ID)
		if err != nil {
			return state{}, err
		}
		for _, line := range lines {
			fmt.Fprintln(sum, line)
		}
	}
	return state{Status: requestStatus(r, v.now).Text, Version: int64(sum.Sum64() >> 11)}, nil
}

func requestStream(r *store.Request) string { return requestURL(r.ID) + "/live" }
