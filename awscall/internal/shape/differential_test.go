package shape_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
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
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall/internal/shape"
	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

var all = flag.Bool("aws.all", false, "compare every operation of every service with botocore, not a sample")

// sample covers every protocol and the services with the most unusual requests.
var sample = []string{"apigateway", "cloudfront", "cloudwatch", "dynamodb", "elbv2", "iam", "iot", "lambda", "rds", "route53", "s3", "s3control",
	"ses", "sns", "sqs", "ssm", "sts"}

// serialised is a line from testdata/serialize.py.
type serialised struct {
	Service, Operation, Protocol, Method, Path, Host string
	Params                                           map[string]any
	Query                                            any
	Form                                             map[string]string
	Body                                             []byte
	Headers                                          map[string]string
}

// differ lists, by script and operation, the known differences from botocore and their reasons.
var differ = map[string]string{
	"testdata/parse.py s3 GetBucketNotification": "one element is two members, of which botocore leaves one unread",
}

func TestSerialisesAsBotocore(t *testing.T) {
	each(t, "testdata/serialize.py", 18000, func(s *shape.Service, line []byte) (string, string) {
		var want serialised
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		return want.Operation, compare(t, s, want)
	})
}

// TestReadsAsBotocore compares how both read responses that are generated from the models.
func TestReadsAsBotocore(t *testing.T) {
	each(t, "testdata/parse.py", 15000, func(s *shape.Service, line []byte) (string, string) {
		var want struct {
			Operation, Body string
			Headers         map[string]string
			Parsed          any
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		o, err := s.Operation(want.Operation)
		if err != nil {
			return want.Operation, err.Error()
		}
		r := &http.Response{StatusCode: 200, Header: http.Header{}}
		for name, value := range want.Headers {
			r.Header.Set(name, value)
		}
		got, err := o.Response(t.Context(), r, []byte(want.Body))
		if err != nil {
			return want.Operation, err.Error() + "\n" + want.Body
		}
		return want.Operation, gocmp.Diff(want.Parsed, words(got))
	})
}

// words returns a result with every scalar as text, like the output of parse.py.
func words(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, item := range v {
			if item != nil {
				out[name] = words(item)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, words(item))
		}
		return out
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case time.Time:
		return strconv.FormatInt(v.Unix(), 10)
	case nil, string:
		return v
	}
	return fmt.Sprint(v)
}

// each runs a script over the sample, or over all services, and calls f with each line and its service. f returns the
// operation and the difference of the line from our result.
func each(t *testing.T, script string, most int, f func(*shape.Service, []byte) (string, string)) {
	python := require.Python(t, "botocore")
	bundle, err := model.Open()
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]model.Entry{}
	for _, e := range bundle.Entries() {
		entries[e.Name] = e
	}
	args := []string{script}
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
	count, failed, last := 0, 0, ""
	var s *shape.Service
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var of struct{ Service string }
		if err := json.Unmarshal(line, &of); err != nil {
			t.Fatal(err)
		}
		if of.Service != last {
			e, ok := entries[of.Service]
			if !ok {
				t.Skipf("the installed botocore has the service %s, which the bundle has not: it is another version", of.Service)
			}
			m, err := bundle.Service(e)
			if err != nil {
				t.Fatal(err)
			}
			if s, err = shape.New(m); err != nil {
				t.Fatal(err)
			}
			last = of.Service
		}
		count++
		operation, diff := f(s, line)
		name := of.Service + " " + operation
		known := differ[script+" "+name]
		if known != "" && diff == "" {
			t.Errorf("%s is listed as different (%s), and is not", name, known)
		}
		if diff != "" && known == "" {
			if failed++; failed <= 40 {
				t.Errorf("%s (-botocore +ours):\n%s", name, diff)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if count < 1000 || *all && count < most {
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
				values[i] = strings.ToLower(v) // Python's spelling, which is never sent
			}
		}
		slices.Sort(q[k])
	}
	return q
}

// headers drops headers about the transport of the body, and normalizes numbers.
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

// meaning normalizes a body by its format.
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

// tree returns an XML document as nested lists.
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
