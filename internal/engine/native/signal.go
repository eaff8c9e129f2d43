package native

import (
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Limits of signals.
const (
	// MaxSignal is the maximum size of a signal document in bytes. The limit is Pintle's own.
	MaxSignal = 16 << 10
	// MaxSignalID is the maximum length of a UniqueId in characters. The limit is Pintle's own.
	MaxSignalID = 256
	// MaxSignalData is the maximum length of Data in characters. Source: CloudFormation, wait conditions.
	MaxSignalData = 4096
	// MaxSignals is the maximum number of signals of a resource, and so of a Count. The limit is Pintle's own.
	MaxSignals = 1000
	// MaxSignalBytes is the maximum total size of a resource's signals in bytes. The limit is Pintle's own.
	MaxSignalBytes = 256 << 10
)

// ParseSignal reads the document that is sent to the URL of a WaitConditionHandle: an object with a Status, SUCCESS
// or FAILURE, a UniqueId, and optionally a Reason and Data. It drops characters that no event can contain. The error
// helps the sender to fix the signal.
func ParseSignal(body []byte) (store.Signal, error) {
	if len(body) > MaxSignal {
		return store.Signal{}, wrong("the signal is longer than 16384 bytes")
	}
	v, err := value.Parse(body)
	if err != nil || v.Kind() != value.Map {
		return store.Signal{}, wrong(`the signal must be a JSON object as {"Status": "SUCCESS", "UniqueId": "…", "Reason": "…", "Data": "…"}`)
	}
	var s store.Signal
	var status string
	for _, field := range []struct {
		name string
		text *string
		long int // characters
	}{
		{"Status", &status, MaxSignalID}, {"UniqueId", &s.ID, MaxSignalID}, {"Reason", &s.Reason, MaxSignalData},
		{"Data", &s.Data, MaxSignalData},
	} {
		given, _ := v.Get(field.name)
		switch {
		case given.IsScalar():
			*field.text = wire.CleanText(given.Text())
		case given.IsNull():
		default:
			return store.Signal{}, wrong("the signal's " + field.name + " must be a string")
		}
		if utf8.RuneCountInString(*field.text) > field.long {
			return store.Signal{}, wrong("the signal's " + field.name + " is longer than it may be: " +
				"UniqueId has at most 256 characters, Reason and Data have 4096")
		}
	}
	switch {
	case status != "SUCCESS" && status != "FAILURE":
		return store.Signal{}, wrong("the signal's Status must be SUCCESS or FAILURE")
	case s.ID == "":
		return store.Signal{}, wrong("the signal needs a UniqueId, which distinguishes it from other signals to this URL")
	}
	s.Failed = status == "FAILURE"
	return s, nil
}

// Room reports whether a resource with these signals accepts another one.
func Room(signals []store.Signal, one store.Signal) bool {
	size := weight(one)
	for _, s := range signals {
		size += weight(s)
	}
	return len(signals) < MaxSignals && size <= MaxSignalBytes
}

func weight(s store.Signal) int { return len(s.ID) + len(s.Reason) + len(s.Data) }
