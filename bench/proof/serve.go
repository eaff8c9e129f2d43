//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"golang.org/x/sync/errgroup"

	"github.com/pintle-dev/pintle/bench/measure"
)

// who is the entrant in all rows without a comparison.
const who = "pintle"

// place is a new data directory and a new database. A server may be started there more than once.
type place struct {
	p        *proof
	data     string
	database measure.Database
}

func (p *proof) place(store *measure.Store) (place, error) {
	dir, err := os.MkdirTemp(p.folder, "server-")
	if err != nil {
		return place{}, err
	}
	at := place{p: p, data: filepath.Join(dir, "data")}
	if store.Name != "sqlite" { // the file of sqlite is in the data directory
		at.database, err = store.New()
	}
	return at, err
}

// serve starts a server there that accepts calls with any key and templates of any measured size.
func (at place) serve(ctx context.Context) (*measure.Server, error) {
	return measure.Serve(ctx, at.p.program, at.data, at.database.DSN, "--dev", "--limit", "resources=10000")
}

// plain starts a server there with the default settings and its own keys.
func (at place) plain(ctx context.Context) (*measure.Server, error) {
	return measure.Serve(ctx, at.p.program, at.data, at.database.DSN)
}

// starter is [place.serve] or [place.plain].
type starter func(place, context.Context) (*measure.Server, error)

// during starts a server in a new place, runs the measurement, and stops the server.
func (p *proof) during(ctx context.Context, store *measure.Store, start starter, run func(*measure.Server) error) (err error) {
	at, err := p.place(store)
	if err != nil {
		return err
	}
	s, err := start(at, ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop(), os.RemoveAll(filepath.Dir(at.data))) }()
	return run(s)
}

// template returns a template with the given number of resources, which are independent or each depend on the previous
// one. Its only output has the given value. The template is as short as possible: with 10,000 resources it is just below
// the limit of a million bytes.
func template(provider string, resources int, chained bool, output string) string {
	var text strings.Builder
	text.WriteString(`{"Resources":{`)
	for i := range resources {
		if i > 0 {
			text.WriteString(",")
		}
		fmt.Fprintf(&text, `"R%d":{"Type":"Custom::T","Properties":{"ServiceToken":%q,"Size":"%d"}`, i, provider, i%10)
		if chained && i > 0 {
			fmt.Fprintf(&text, `,"DependsOn":"R%d"`, i-1)
		}
		text.WriteString("}")
	}
	fmt.Fprintf(&text, `},"Outputs":{"Said":{"Value":%q}}}`, output)
	return text.String()
}

// create creates a stack from the template at a URL and returns its ID.
func create(ctx context.Context, s *measure.Server, name, url string) (string, error) {
	out, err := s.Client.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: &name, TemplateURL: &url})
	if err != nil {
		return "", err
	}
	return *out.StackId, nil
}

// fill makes stacks with the given total number of resources, a few at a time, and returns their IDs.
func (p *proof) fill(ctx context.Context, s *measure.Server, asked *provider, resources int) ([]string, error) {
	ids := make([]string, (resources+p.perStack-1)/p.perStack)
	all, within := errgroup.WithContext(ctx)
	all.SetLimit(4)
	for i := range ids {
		all.Go(func() (err error) {
			some := min(p.perStack, resources-i*p.perStack)
			ids[i], err = create(within, s, fmt.Sprint("stack-", i), asked.host(template(asked.URL, some, false, "full")))
			return err
		})
	}
	return ids, all.Wait()
}

// ends waits until a stack's operation ends, and checks its status.
func ends(ctx context.Context, s *measure.Server, id string, want types.StackStatus) error {
	got, err := s.Ends(ctx, id)
	if err == nil && got != want {
		err = fmt.Errorf("a stack ended as %s, not as %s", got, want)
	}
	return err
}
