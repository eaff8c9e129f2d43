package pintle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/wire"
)

// encode returns the body of a response with the attributes in data, at most [wire.MaxResponse] bytes long, and the
// response that it holds. What does not fit is given up in this order: the end of the reason, then the attributes, and
// with them the success.
func encode(w wire.Response, data map[string]any, noEcho bool) (wire.Response, []byte, error) {
	if w.Status == wire.Success && len(data) > 0 {
		raw, err := marshal(data)
		if err != nil {
			w = fail(w, "the attributes cannot be encoded: "+err.Error())
		} else {
			w.Data, w.NoEcho = raw, noEcho
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
		w = fail(w, tooLong(len(body), len(w.Data), data))
	}
	return cutReason(w)
}

// marshal does without the HTML escapes of json.Marshal, which count against the limit.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// tooLong is the reason of an answer whose attributes do not fit.
func tooLong(size, dataSize int, data map[string]any) string {
	largest, most := "", 0
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if raw, err := marshal(data[name]); err == nil && len(raw) > most {
			largest, most = name, len(raw)
		}
	}
	return fmt.Sprintf("the response is %d bytes long, %d are allowed: Data takes %d of them, most of it the attribute %.100q "+
		"with %d; return the name of a place where the value is kept instead", size, wire.MaxResponse, dataSize, largest, most)
}

func fits(w wire.Response) bool {
	body, err := w.Encode()
	return err == nil && len(body) <= wire.MaxResponse
}

// cutReason shortens the reason, if it must be, until the response fits, and says so at its end.
func cutReason(w wire.Response) (wire.Response, []byte, error) {
	if body, err := w.Encode(); err != nil || len(body) <= wire.MaxResponse {
		return w, body, err
	}
	reason := w.Reason
	cut := func(keep int) wire.Response {
		for keep > 0 && keep < len(reason) && !utf8.RuneStart(reason[keep]) {
			keep--
		}
		w.Reason = fmt.Sprintf("%s… [%d bytes more in the provider's log]", reason[:keep], len(reason)-keep)
		return w
	}
	tooMany := sort.Search(len(reason), func(keep int) bool { return !fits(cut(keep)) })
	w = cut(max(tooMany-1, 0))
	body, err := w.Encode()
	return w, body, err
}
