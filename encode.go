package pintle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
	"github.com/pintle-dev/pintle/wire"
)

// encode returns the body of a response with the attributes in data, at most [wire.MaxResponse] bytes long, and the
// response in that body. If the response is too long, encode first shortens the reason. If that is not enough, it
// drops the attributes and reports a failure.
func encode(w wire.Response, data map[string]any, noEcho bool) (wire.Response, []byte, error) {
	w.NoEcho = noEcho && w.Status == wire.Success
	if w.Status == wire.Success && len(data) > 0 {
		raw, secrets, err := clearJSON(data)
		if err != nil {
			w = fail(w, "the attributes cannot be encoded: "+err.Error())
		} else {
			w.Data, w.NoEcho = raw, noEcho || len(secrets) > 0
		}
	}
	body, err := w.Encode()
	if err != nil || len(body) <= wire.MaxResponse {
		return w, body, err
	}
	if w.Status == wire.Success {
		bare := w
		bare.Reason = ""
		if fits(bare) {
			return cutReason(w)
		}
		w = fail(w, tooLong(len(body), w, data))
	}
	return cutReason(w)
}

// clearJSON is encoding/json with every [Secret] in clear text. Its result may be sent but never shown. It also
// returns the texts of the secrets.
func clearJSON(v any) (raw json.RawMessage, secrets []string, err error) {
	return clearjson.Marshal[Secret](v)
}

// tooLong returns the reason of an answer whose attributes do not fit. It names the three largest.
func tooLong(size int, w wire.Response, data map[string]any) string {
	if w.State != nil && len(w.State.Properties) > len(w.Data) {
		return fmt.Sprintf("the response is %d bytes long, %d are allowed: the properties from Read take %d of them",
			size, wire.MaxResponse, len(w.State.Properties))
	}
	type attribute struct {
		name string
		size int
	}
	var all []attribute
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if raw, _, err := clearJSON(data[name]); err == nil {
			all = append(all, attribute{name, len(raw)})
		}
	}
	slices.SortStableFunc(all, func(a, b attribute) int { return b.size - a.size })
	var largest []string
	for _, a := range all[:min(len(all), 3)] {
		largest = append(largest, fmt.Sprintf("%.100q with %d", a.name, a.size))
	}
	return fmt.Sprintf("the response is %d bytes long, %d are allowed: Data takes %d of them, the largest attributes are %s; "+
		"return the name of a place where the value is kept instead", size, wire.MaxResponse, len(w.Data), strings.Join(largest, ", "))
}

func fits(w wire.Response) bool {
	body, err := w.Encode()
	return err == nil && len(body) <= wire.MaxResponse
}

// cutReason shortens the reason until the response fits. It cuts the middle, since errors begin with the operation
// and end with the cause.
func cutReason(w wire.Response) (wire.Response, []byte, error) {
	if body, err := w.Encode(); err != nil || len(body) <= wire.MaxResponse {
		return w, body, err
	}
	reason := w.Reason
	cut := func(keep int) wire.Response {
		head, tail := keep-keep/3, len(reason)-keep/3
		for head > 0 && head < len(reason) && !utf8.RuneStart(reason[head]) {
			head--
		}
		for tail < len(reason) && !utf8.RuneStart(reason[tail]) {
			tail++
		}
		w.Reason = fmt.Sprintf("%s… [%d bytes are left out here, the log of the provider has them] …%s", reason[:head], tail-head, reason[tail:])
		return w
	}
	tooMany := sort.Search(len(reason), func(keep int) bool { return !fits(cut(keep)) })
	w = cut(max(tooMany-1, 0))
	body, err := w.Encode()
	return w, body, err
}
