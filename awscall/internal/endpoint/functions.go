package endpoint

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// call evaluates a function. A result of nil means that the function returned no value.
func (s *scope) call(fn string, argv []any, depth int) (any, error) {
	if depth > maxNesting {
		return nil, errors.New("endpoint rules: nested too deep")
	}
	args := make([]any, len(argv))
	for i, arg := range argv {
		v, err := s.value(arg, depth)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	count, known := arity[fn]
	if !known {
		return nil, fmt.Errorf("endpoint rules: the function %s is not known", fn)
	}
	if len(args) != count {
		return nil, fmt.Errorf("endpoint rules: %s has %d arguments, not %d", fn, len(args), count)
	}
	text := func(i int) string {
		v, _ := args[i].(string)
		return v
	}
	_, isText := args[0].(string)
	switch fn {
	case "isSet":
		return args[0] != nil, nil
	case "not":
		return args[0] == nil || args[0] == false, nil
	case "booleanEquals":
		a, ok := args[0].(bool)
		b, ok2 := args[1].(bool)
		return ok && ok2 && a == b, nil
	case "stringEquals":
		_, ok := args[1].(string)
		return isText && ok && text(0) == text(1), nil
	case "getAttr":
		return attribute(args[0], text(1)), nil
	}
	if !isText {
		return nil, nil // the other functions take text
	}
	switch fn {
	case "aws.partition":
		return s.partitions.of(text(0)), nil
	case "aws.parseArn":
		return parseARN(text(0)), nil
	case "aws.isVirtualHostableS3Bucket":
		return virtualHostable(text(0), args[1] == true), nil
	case "isValidHostLabel":
		return hostLabel(text(0), args[1] == true), nil
	case "uriEncode":
		return uriEncode(text(0)), nil
	case "parseURL":
		return parseURL(text(0)), nil
	}
	return substring(text(0), args[1], args[2], args[3] == true), nil
}

// arity is the number of arguments of each function. substring is the one that call does not name.
var arity = map[string]int{"isSet": 1, "not": 1, "booleanEquals": 2, "stringEquals": 2, "getAttr": 2, "aws.partition": 1, "aws.parseArn": 1,
	"aws.isVirtualHostableS3Bucket": 2, "isValidHostLabel": 2, "uriEncode": 1, "parseURL": 1, "substring": 4}

// attribute follows a path such as "resourceId[1]" or "url.path". It returns nil if the path does not exist.
func attribute(v any, path string) any {
	for part := range strings.SplitSeq(path, ".") {
		name, rest, indexed := strings.Cut(part, "[")
		if name != "" {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		if indexed {
			i, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
			switch list := v.(type) {
			case []any:
				v = nil
				if err == nil && i >= 0 && i < len(list) {
					v = list[i]
				}
			case []string:
				v = nil
				if err == nil && i >= 0 && i < len(list) {
					v = list[i]
				}
			default:
				v = nil
			}
		}
		if v == nil {
			return nil
		}
	}
	return v
}

func parseARN(text string) any {
	parts := strings.SplitN(text, ":", 6)
	if len(parts) < 6 || parts[0] != "arn" || parts[1] == "" || parts[2] == "" || parts[5] == "" {
		return nil
	}
	var resource []any
	for part := range strings.SplitSeq(strings.ReplaceAll(parts[5], ":", "/"), "/") {
		resource = append(resource, part)
	}
	return map[string]any{"partition": parts[1], "service": parts[2], "region": parts[3], "accountId": parts[4], "resourceId": resource}
}

var label = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)

func hostLabel(text string, dots bool) bool {
	if !dots {
		return label.MatchString(text)
	}
	for part := range strings.SplitSeq(text, ".") {
		if !label.MatchString(part) {
			return false
		}
	}
	return true
}

var address = regexp.MustCompile(`^\d+\.\d+\.\d+\.\d+$`)

func virtualHostable(bucket string, dots bool) bool {
	return len(bucket) >= 3 && len(bucket) <= 63 && strings.ToLower(bucket) == bucket && !address.MatchString(bucket) && hostLabel(bucket, dots)
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

func uriEncode(text string) string {
	var out strings.Builder
	for i := range len(text) {
		if strings.IndexByte(unreserved, text[i]) >= 0 {
			out.WriteByte(text[i])
		} else {
			fmt.Fprintf(&out, "%%%02X", text[i])
		}
	}
	return out.String()
}

func parseURL(text string) any {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.ForceQuery || u.Host == "" {
		return nil
	}
	path := u.EscapedPath()
	normalized := path
	if !strings.HasPrefix(normalized, "/") {
		normalized = "/" + normalized
	}
	if !strings.HasSuffix(normalized, "/") {
		normalized += "/"
	}
	_, err = netip.ParseAddr(u.Hostname())
	return map[string]any{"scheme": u.Scheme, "authority": u.Host, "path": path, "normalizedPath": normalized, "isIp": err == nil}
}

// substring returns a part of ASCII text, counted from the end if reverse. It returns nil if the part does not exist.
func substring(text string, from, to any, reverse bool) any {
	f, ok := from.(float64)
	t, ok2 := to.(float64)
	start, stop := int(f), int(t)
	if !ok || !ok2 || start < 0 || start >= stop || stop > len(text) {
		return nil
	}
	for i := range len(text) {
		if text[i] >= 0x80 {
			return nil
		}
	}
	if reverse {
		return text[len(text)-stop : len(text)-start]
	}
	return text[start:stop]
}
