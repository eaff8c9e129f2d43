package customresource_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// lines maps the places in a request or an answer to their values, so that two can be compared place by place.
type lines map[string]string

const (
	absent   = "(absent)" // a missing value
	anything = "(anything)"
	whole    = ""         // the place of a summary
	endpoint = "ENDPOINT" // in a case: the URL of the stand-in for AWS
)

func (l lines) get(name string) string {
	if v, ok := l[name]; ok {
		return v
	}
	return absent
}

// summary formats all lines as one, because in some cases the two sides act differently.
func (l lines) summary() string {
	text := strings.Trim(l.get("Status")+" "+l.get("PhysicalResourceId"), " ")
	if reason, ok := l["Reason"]; ok {
		text += " " + reason
	}
	var sent, data []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		switch request, what, _ := strings.Cut(name, ": "); {
		case what == "method":
			sent = append(sent, "; "+request)
		case strings.HasPrefix(what, "body"):
			sent = append(sent, ", "+strings.TrimLeft(strings.TrimPrefix(what, "body"), ". ")+" "+l[name])
		case strings.HasPrefix(name, "Data "):
			data = append(data, strings.TrimPrefix(name, "Data "))
		}
	}
	slices.SortStableFunc(sent, func(a, b string) int { return strings.Compare(b[:1], a[:1]) }) // sorts the request before its body
	text += strings.Join(sent, "")
	if len(data) > 0 {
		text += "; attributes " + strings.Join(data, " ")
	}
	return text
}

// carriage lists headers that do not describe a call but its transport, caller and time. Only the scope of Authorization
// is compared.
var carriage = []string{"Accept-Encoding", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "Authorization", "Connection", "Content-Length",
	"Transfer-Encoding", "User-Agent", "X-Amz-Content-Sha256", "X-Amz-Date", "X-Amz-User-Agent"}

var (
	token   = regexp.MustCompile(`\b([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[A-Z2-7]{26})\b`)
	session = regexp.MustCompile(`\b[0-9]{13}-`)
)

// plain replaces the parts of a text that differ for each call: idempotency tokens, and the time in the name of a
// session.
func plain(text string) string {
	return session.ReplaceAllString(token.ReplaceAllString(text, "TOKEN"), "TIME-")
}

// requestLines returns the lines of a request to the stand-in for AWS, whose URL differs in each run.
func requestLines(t *testing.T, r *http.Request, url string) lines {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("the body of a request: %v", err)
	}
	l := lines{"method": r.Method, "path": r.URL.EscapedPath()}
	for name, values := range r.URL.Query() {
		if name != "x-id" { // repeats the name of the action for the service's log
			l["query "+name] = plain(strings.Join(values, " and "))
		}
	}
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, "/aws4_request")
	if parts := strings.Split(scope, "/"); len(parts) == 4 { // key, date, region, service
		scope = parts[0] + " " + parts[2] + " " + parts[3]
	}
	l["scope"] = scope
	for name, values := range r.Header {
		if !slices.Contains(carriage, name) {
			l["header "+name] = plain(strings.Join(values, " and "))
			if sum := crc32.ChecksumIEEE(body); name == "X-Amz-Checksum-Crc32" && values[0] == base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum)) {
				l["header "+name] = "that of the body" // there are several ways to encode it
			}
		}
	}
	bodyLines(t, l, r.Header.Get("Content-Type"), bytes.ReplaceAll(body, []byte(url), []byte(endpoint)))
	return l
}

func bodyLines(t *testing.T, l lines, contentType string, body []byte) {
	switch text := bytes.TrimSpace(body); {
	case len(body) == 0:
	case strings.HasPrefix(contentType, "application/x-www-form-urlencoded"):
		form, err := url.ParseQuery(string(text))
		if err != nil {
			t.Errorf("a form: %v", err)
		}
		for name, values := range form {
			l["body "+name] = plain(strings.Join(values, " and "))
		}
	case bytes.HasPrefix(text, []byte("{")) && strings.Contains(contentType, "json"):
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Errorf("a body of JSON: %v", err)
		}
		jsonLines(l, "body", v)
	case bytes.HasPrefix(text, []byte("<")):
		if err := xmlLines(l, text); err != nil {
			t.Errorf("a body of XML: %v", err)
		}
	default:
		l["body"] = written(string(body))
	}
}

// written quotes a text only if it is not valid UTF-8.
func written(text string) string {
	if utf8.ValidString(text) {
		return plain(text)
	}
	return strconv.Quote(text)
}

// jsonLines adds a line for each scalar, and for each empty list and object.
func jsonLines(l lines, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			l[path] = "{}"
		}
		for name, item := range v {
			jsonLines(l, path+"."+name, item)
		}
	case []any:
		if len(v) == 0 {
			l[path] = "[]"
		}
		for i, item := range v {
			jsonLines(l, path+"."+strconv.Itoa(i), item)
		}
	case json.Number:
		l[path] = number(v)
	case string:
		l[path] = strconv.Quote(plain(v))
	default:
		l[path] = fmt.Sprint(v)
	}
}

// number normalizes numbers, because JSON has several spellings of one number.
func number(v json.Number) string {
	if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
		return v.String()
	}
	f, err := v.Float64()
	if err != nil {
		return v.String()
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// xmlLines adds a line for each element that has text or is empty, and for each attribute, including namespaces.
func xmlLines(l lines, text []byte) error {
	d := xml.NewDecoder(bytes.NewReader(text))
	type open struct {
		path  string
		text  string
		inner map[string]int
	}
	stack := []open{{path: "body", inner: map[string]int{}}}
	for {
		next, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		top := &stack[len(stack)-1]
		switch next := next.(type) {
		case xml.StartElement:
			path := fmt.Sprintf("%s.%s.%d", top.path, next.Name.Local, top.inner[next.Name.Local])
			top.inner[next.Name.Local]++
			for _, a := range next.Attr {
				l[path+" "+a.Name.Local] = a.Value
			}
			stack = append(stack, open{path: path, inner: map[string]int{}})
		case xml.CharData:
			top.text += string(next)
		case xml.EndElement:
			if len(top.inner) == 0 {
				l[top.path] = plain(top.text)
			}
			stack = stack[:len(stack)-1]
		}
	}
}

// answerLines returns the lines of an answer at the response URL.
func answerLines(t *testing.T, text []byte) lines {
	var answer map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		t.Errorf("an answer: %v", err)
	}
	l := lines{}
	for name, v := range answer {
		switch name {
		case "RequestId": // each side has its own
		case "Data":
			data, _ := v.(map[string]any)
			for key, item := range data { // it is flat, with dots in the names
				jsonLines(l, "Data "+key, item)
			}
		default:
			jsonLines(l, name, v)
		}
	}
	return l
}
