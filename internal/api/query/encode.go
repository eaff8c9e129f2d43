package query

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"
)

// timestamp is the layout of all times in responses.
const timestamp = "2006-01-02T15:04:05.000Z"

// encodeReply returns the document of a result. A nil shape means that the operation has no result element.
func encodeReply(action, namespace, id string, s *shape, result reflect.Value) []byte {
	var w writer
	w.open(action+"Response", namespace)
	if s != nil {
		w.value(action+"Result", s, "", result)
	}
	w.open("ResponseMetadata", "")
	w.text("RequestId", id)
	w.close("ResponseMetadata")
	w.close(action + "Response")
	return w.Bytes()
}

// encodeError returns the document of an error.
func encodeError(namespace, id string, e *Error) []byte {
	kind := "Receiver"
	if e.Sender {
		kind = "Sender"
	}
	var w writer
	w.open("ErrorResponse", namespace)
	w.open("Error", "")
	w.text("Type", kind)
	w.text("Code", e.Code)
	w.text("Message", e.Message)
	w.close("Error")
	w.text("RequestId", id)
	w.close("ErrorResponse")
	return w.Bytes()
}

// writer writes XML without white space between elements.
type writer struct{ bytes.Buffer }

func (w *writer) open(name, namespace string) {
	w.WriteString("<" + name)
	if namespace != "" {
		w.WriteString(` xmlns="`)
		w.escape(namespace)
		w.WriteString(`"`)
	}
	w.WriteString(">")
}

func (w *writer) close(name string) { w.WriteString("</" + name + ">") }

// closeOr closes an element, or makes it self-closing if it is empty.
func (w *writer) closeOr(name string, since int) {
	if w.Len() > since {
		w.close(name)
		return
	}
	w.Truncate(since - 1)
	w.WriteString("/>")
}

func (w *writer) text(name, text string) {
	w.open(name, "")
	since := w.Len()
	w.escape(text)
	w.closeOr(name, since)
}

// value writes one element. called is the name of a list's items. Pointers in v are not nil.
func (w *writer) value(name string, s *shape, called string, v reflect.Value) {
	v = reflect.Indirect(v)
	switch s.kind {
	case textKind:
		w.text(name, v.String())
	case boolKind:
		w.text(name, strconv.FormatBool(v.Bool()))
	case intKind:
		w.text(name, strconv.FormatInt(v.Int(), 10))
	case timeKind:
		w.text(name, v.Interface().(time.Time).UTC().Format(timestamp))
	case listKind:
		w.open(name, "")
		since := w.Len()
		for i := range v.Len() {
			if item := v.Index(i); item.Kind() != reflect.Pointer || !item.IsNil() {
				w.value(called, s.item, "", item)
			}
		}
		w.closeOr(name, since)
	case structKind:
		w.open(name, "")
		since := w.Len()
		for i := range s.fields {
			f := &s.fields[i]
			if member := v.FieldByIndex(f.index); present(f, member) {
				w.value(f.name, f.shape, f.item, member)
			}
		}
		w.closeOr(name, since)
	default:
		panic(fmt.Sprintf("query: kind %d", s.kind))
	}
}

// present reports whether a field gets an element.
func present(f *field, v reflect.Value) bool {
	switch {
	case v.Kind() == reflect.Pointer:
		// A non-nil pointer was set on purpose, even if it points to an empty value.
		return !v.IsNil()
	case f.shape.kind == timeKind:
		return !v.Interface().(time.Time).IsZero()
	case !f.omitEmpty:
		return true
	case f.shape.kind == listKind:
		return v.Len() > 0
	}
	return !v.IsZero()
}

// escape writes text so that a parser reads the same text. XML 1.0 does not allow control characters, which are
// dropped, and bytes that are not UTF-8, which become U+FFFD.
func (w *writer) escape(text string) {
	start := 0
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		var instead string
		switch {
		case c == '&':
			instead = "&amp;"
		case c == '<':
			instead = "&lt;"
		case c == '>':
			instead = "&gt;"
		case c == '"':
			instead = "&quot;"
		case c == '\r':
			// A bare carriage return would be read as a line feed.
			instead = "&#xD;"
		case c == utf8.RuneError && size == 1:
			instead = "\uFFFD"
		case c == '\t' || c == '\n' || c >= ' ' && c != 0xFFFE && c != 0xFFFF:
			i += size
			continue
		}
		w.WriteString(text[start:i])
		w.WriteString(instead)
		i += size
		start = i
	}
	w.WriteString(text[start:])
}
