package console

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
	"github.com/pintle-dev/pintle/internal/store"
)

const (
	// maxRegions is the maximum number of regions that are searched for stacks.
	maxRegions = 100
	// maxScanned limits how many stacks a page of a filtered list scans. The page may then be incomplete although
	// another page follows.
	maxScanned = 20 * pageSize
)

// stacksView is the content of the list of stacks.
type stacksView struct {
	Name, Status, Region, After string
	Deleted                     bool
	Regions                     []store.Region
	Stacks                      []store.Stack
	// Next is the path of the next page, or empty. Partly means that this page is incomplete because of maxScanned.
	Next   string
	Partly bool
	// ManyRegions means that more regions have stacks than are searched.
	ManyRegions bool
	// Running and Failed count the stacks on this page.
	Running, Failed int
}

// listPages shows what all stacks have: the list of stacks, retained resources and audit entries.
type listPages struct {
	*site

	live *streams
}

// stacksPage lists the stacks of all regions and both dialects, newest first.
func (lp *listPages) stacksPage(v *visit) error {
	q := v.r.URL.Query()
	view, err := lp.listStacks(v.r.Context(), v.session.accounts(), q)
	if err != nil {
		return err
	}
	q.Del("done")
	q.Del("on")
	lp.show(v, 200, "stacks.html", page{Title: "Stacks", Here: "stacks", Content: view, Stream: stacksStream(q), Refresh: 10})
	return nil
}

// listStacks returns the page that a query selects.
func (lp *listPages) listStacks(ctx context.Context, accounts []string, q url.Values) (view *stacksView, err error) {
	view = &stacksView{
		Name: strings.TrimSpace(q.Get("name")), Status: q.Get("status"), Region: q.Get("region"), Deleted: q.Get("deleted") != "",
		After: q.Get("after"),
	}
	after, err := stackKey(view.After)
	if err != nil {
		return nil, err
	}
	if view.Regions, err = lp.Rows.Regions(ctx, accounts, maxRegions+1); err != nil {
		return nil, err
	}
	view.ManyRegions = len(view.Regions) > maxRegions
	view.Regions = view.Regions[:min(len(view.Regions), maxRegions)]
	regions := slices.DeleteFunc(slices.Clone(view.Regions), func(r store.Region) bool {
		return view.Region != "" && r.Name != view.Region
	})
	last, err := lp.pageOfStacks(ctx, regions, after, view)
	if errors.Is(err, store.ErrNotFound) {
		return nil, &failure{404, "The stack that this page starts with no longer exists: go to the first page."}
	}
	if err != nil {
		return nil, err
	}
	if last != 0 {
		next := maps.Clone(q)
		next.Set("after", strconv.FormatInt(int64(last), 10))
		next.Del("done")
		next.Del("on")
		view.Next = Prefix + "stacks?" + next.Encode()
	}
	for i := range view.Stacks {
		switch stackStatus(&view.Stacks[i]).Class {
		case picture.Running:
			view.Running++
		case picture.Failed:
			view.Failed++
		case picture.Waiting, picture.Done, picture.Stopped:
		}
	}
	return view, nil
}

// Filtered reports whether the list is filtered.
func (v *stacksView) Filtered() bool {
	return v.Name != "" || v.Status != "" || v.Region != "" || v.After != ""
}

// pageOfStacks fills a page and returns the position of the next one, or 0.
func (lp *listPages) pageOfStacks(
	ctx context.Context, regions []store.Region, after store.StackKey, view *stacksView,
) (store.StackKey, error) {
	for scanned := 0; ; {
		rows, more, err := lp.newest(ctx, regions, view.Deleted, after)
		if err != nil {
			return 0, err
		}
		for i, row := range rows {
			after = row.Key
			scanned++
			if view.wants(&row) {
				view.Stacks = append(view.Stacks, row)
			}
			if len(view.Stacks) == pageSize && (more || i < len(rows)-1) {
				return after, nil
			}
		}
		if !more {
			return 0, nil
		}
		if scanned >= maxScanned {
			view.Partly = true
			return after, nil
		}
	}
}

// newest merges the stacks of regions, newest first. It returns one page, and whether there are more.
func (lp *listPages) newest(
	ctx context.Context, regions []store.Region, deleted bool, after store.StackKey,
) (page []store.Stack, more bool, err error) {
	for _, region := range regions {
		rows, err := lp.Rows.Stacks(ctx, region.Account, region.Name, deleted, after, pageSize+1)
		if err != nil {
			return nil, false, err
		}
		page = append(page, rows...)
	}
	slices.SortFunc(page, func(a, b store.Stack) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Key, a.Key)) })
	return page[:min(len(page), pageSize)], len(page) > pageSize, nil
}

// wants reports whether a stack matches the filter.
func (v *stacksView) wants(stack *store.Stack) bool {
	if v.Name != "" && !strings.Contains(strings.ToLower(stack.Name), strings.ToLower(v.Name)) {
		return false
	}
	s := stackStatus(stack)
	switch v.Status {
	case "":
		return true
	case "running", "failed", "done":
		return string(s.Class) == v.Status || v.Status == "done" && s.Class == picture.Stopped
	}
	return strings.EqualFold(s.Text, v.Status)
}

// Pointers returns the stacks in the form that template parts expect.
func (v *stacksView) Pointers() []*store.Stack {
	list := make([]*store.Stack, len(v.Stacks))
	for i := range v.Stacks {
		list[i] = &v.Stacks[i]
	}
	return list
}

// Names returns the distinct names of the regions.
func (v *stacksView) Names() []string {
	var names []string
	for _, r := range v.Regions {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}

// stackKey parses the position of a page, or returns 0 for an empty text.
func stackKey(text string) (store.StackKey, error) {
	if text == "" {
		return 0, nil
	}
	key, err := strconv.ParseInt(text, 10, 64)
	if err != nil || key <= 0 {
		return 0, &failure{400, "The address of this page is not right: begin at the first page."}
	}
	return store.StackKey(key), nil
}

// count parses a non-negative number, or returns 0 for an empty text.
func count(q url.Values, name string) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32) // 32 bits, so that sums do not overflow
	if err != nil || n < 0 {
		return 0, &failure{400, "The address of this page is not right: begin at the first page."}
	}
	return int(n), nil
}
