package shape_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall/internal/model"
	"github.com/pintle-dev/pintle/awscall/internal/shape"
	"github.com/pintle-dev/pintle/internal/require"
)

var all = flag.Bool("aws.all", false, "compare every operation of every service with botocore, not a sample")

// sample has every protocol, and the services whose requests are the oddest.
var sample = []string{"apigateway", "cloudfront", "cloudwatch", "dynamodb", "elbv2", "iam", "iot", "lambda", "rds", "route53", "s3", "s3control",
	"ses", "sns", "sqs", "ssm", "sts"}

// serialised is a line of testdata/serialize.py.
type serialised struct {
	Service, Operation, Protocol, Method, Path, Host string
	Params                                           map[string]any
	Query                                            any
	Form                                             map[string]string
	Body                                             []byte
	Headers                                          map[string]string
}

// differ names the operations that smithy-go and botocore are known to write in another way, and why.
var differ = map[string]string{}

func TestSerialisesAsBotocore(t *testing.T) {
	python := require.Python(t, "botocore")
	bundle, err := model.Open()
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]model.Entry{}
	for _, e := range bundle.Entries() {
		entries[e.Name] = e
	}
	args := []string{"testdata/serialize.py"}
	if !*all {
		args = append(args, sample...)
	}
	cmd := exec.CommandContext(t.Context(), python, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	count, failed := 0, 0
	services := map[string]*shape.Service{}
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var want serialised
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		s := services[want.Service]
		if s == nil {
			e, ok := entries[want.Service]
			if !ok {
				t.Skipf("the installed botocore has the service %s, which the bundle has not: it is another version", want.Service)
			}
			m, err := bundle.Service(e)
			if err != nil {
				t.Fatal(err)
			}
			if s, err = shape.New(m); err != nil {
				t.Fatal(err)
			}
			services = map[string]*shape.Service{want.Service: s} // one is enough: lines come by service
		}
		count++
		diff := compare(t, s, want)
		name := want.Service + " " + want.Operation
		switch {
		case diff != "" && differ[name] == "":
			if failed++; failed <= 40 {
				t.Errorf("%s (-botocore +ours):\n%s", name, diff)
			}
		case diff == "" && differ[name] != "":
			t.Errorf("%s is listed as different (%s), and is not", name, differ[name])
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if count < 1000 || *all && count < 18000 {
		t.Errorf("only %d operations were compared", count)
	}
	t.Logf("%d operations compared, %d differ", count, failed)
}

// compare returns how our request differs from botocore's in meaning.
func compare(t *testing.T, s *shape.Service, want serialised) string {
	o, err := s.Operation(want.Operation)
	if err != nil {
		return err.Error()
	}
	refuse := func(path string, _ []string) error { return errors.New("unknown parameter " + path) }
	in, err := o.Coerce(want.Params, refuse, func() string { return "token" })
	if err != nil {
		return err.Error()
	}
	got, err := o.Request(t.Context(), in)
	if err != nil {
		return err.Error()
	}
	host, err := o.HostPrefix(in)
	if err != nil {
		return err.Error()
	}
	type request struct {
		Method, Host, Path string
		Query              map[string][]string
		Headers            map[string]string
		Body               any
	}
	wantPath, wantRaw, _ := strings.Cut(want.Path, "?")
	wantPath = cmp.Or(wantPath, "/")
	wantQuery, err := url.ParseQuery(wantRaw)
	if err != nil {
		return err.Error()
	}
	for k, values := range queryOf(want.Query) {
		wantQuery[k] = append(wantQuery[k], values...)
	}
	gotQuery, err := url.ParseQuery(got.Query)
	if err != nil {
		return err.Error()
	}
	a := request{want.Method, want.Host, wantPath, sorted(wantQuery), headers(want.Headers), meaning(want.Protocol, want.Body, want.Form)}
	flat := map[string]string{}
	for k, values := range got.Header {
		flat[k] = strings.Join(values, ",")
	}
	b := request{got.Method, host, got.Path, sorted(gotQuery), headers(flat), meaning(want.Protocol, got.Body, nil)}
	return gocmp.Diff(a, b)
}

func queryOf(v any) map[string][]string {
	out := map[string][]string{}
	switch v := v.(type) {
	case string:
		q, err := url.ParseQuery(v)
		if err == nil {
			return q
		}
	case map[string]any:
		for k, list := range v {
			items, _ := list.([]any)
			for _, item := range items {
				out[k] = append(out[k], fmt.Sprint(item))
			}
		}
	}
	return out
}

func sorted(q map[string][]string) map[string][]string {
	for k, values := range q {
		for i, v := range values {
			if v == "True" || v == "False" {
				values[i] = strings.ToLower(v) // Python's word, which never reaches the wire
			}
		}
		slices.Sort(q[k])
	}
	return q
}

// headers drops what is about the carriage of the body, and spells numbers one way.
func headers(h map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range h {
		k = http.CanonicalHeaderKey(k)
		if k == "Content-Type" || k == "Content-Length" || k == "X-Amzn-Query-Mode" {
			continue
		}
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			v = strconv.FormatFloat(f, 'g', -1, 64)
		}
		out[k] = strings.ReplaceAll(v, ", ", ",")
	}
	return out
}

// meaning is a body without the freedoms of its format.
func meaning(protocol string, body []byte, form map[string]string) any {
	switch protocol {
	case "query", "ec2":
		if form == nil {
			q, err := url.ParseQuery(string(body))
			if err != nil {
				return err.Error()
			}
			form = map[string]string{}
			for k := range q {
				form[k] = q.Get(k)
			}
		}
		for k, v := range form {
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				form[k] = strconv.FormatFloat(f, 'g', -1, 64)
			}
		}
		return form
	case "json", "rest-json":
		var v any
		if json.Unmarshal(body, &v) == nil {
			if m, ok := v.(map[string]any); ok && len(m) == 0 {
				return ""
			}
			return v
		}
	case "rest-xml":
		if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
			return tree(body)
		}
	}
	return string(body)
}

// tree is an XML document as nested lists.
func tree(body []byte) any {
	d := xml.NewDecoder(bytes.NewReader(body))
	type node struct {
		Name     string
		Attrs    []string
		Text     string
		Children []any
	}
	stack := []*node{{}}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return stack[0].Children
		}
		if err != nil {
			return err.Error()
		}
		top := stack[len(stack)-1]
		switch x := token.(type) {
		case xml.StartElement:
			n := &node{Name: x.Name.Space + ":" + x.Name.Local}
			for _, a := range x.Attr {
				n.Attrs = append(n.Attrs, a.Name.Space+":"+a.Name.Local+"="+a.Value)
			}
			slices.Sort(n.Attrs)
			top.Children = append(top.Children, n)
			stack = append(stack, n)
		case xml.CharData:
			top.Text += string(x)
		case xml.EndElement:
			if f, err := strconv.ParseFloat(top.Text, 64); err == nil {
				top.Text = strconv.FormatFloat(f, 'g', -1, 64)
			}
			stack = stack[:len(stack)-1]
		}
	}
}
