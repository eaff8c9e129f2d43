package native

import (
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Bounds of signals.
const (
	// MaxSignal is the size of the largest signal document in bytes. Source: ours.
	MaxSignal = 16 << 10
	// MaxSignalID is the length of the longest UniqueId in characters. Source: ours.
	MaxSignalID = 256
	// MaxSignalData is the length of the longest Data in characters. Source: CloudFormation, wait conditions.
	MaxSignalData = 4096
	// MaxSignals is how many signals one resource keeps, and so how many can be waited for. Source: ours.
	MaxSignals = 1000
	// MaxSignalBytes is how long everything in the signals of one resource may be together. Source: ours.
	MaxSignalBytes = 256 << 10
)

// ParseSignal reads the document that is sent to the URL of a WaitConditionHandle: an object with a Status, SUCCESS or
// FAILURE, a UniqueId, and maybe a Reason and Data. Characters that no event can show are dropped. The error tells the
// sender what to fix.
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
		return store.Signal{}, wrong("the signal needs a UniqueId, which tells it from the others that are sent to this URL")
	}
	s.Failed = status == "FAILURE"
	return s, nil
}

// Room reports whether a resource that has these signals takes another one.
func Room(signals []store.Signal, one store.Signal) bool {
	size := weight(one)
	for _, s := range signals {
		size += weight(s)
	}
	return len(signals) < MaxSignals && size <= MaxSignalBytes
}

func weight(s store.Signal) int { return len(s.ID) + len(s.Reason) + len(s.Data) }
