package native

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ParseROSSignal parses the body of a signal to the URL of a ROS handle. The body is empty, or an object with an
// optional status, id, reason and data. The status is SUCCESS, FAILURE or WARNING. Case does not matter in keys and
// statuses. By default, the status is SUCCESS, the ID is the number of signals so far plus 1, and reason and data are
// empty. earlier are the signals so far. The error helps the sender to fix the signal.
//
// Source: ROS, ALIYUN::ROS::WaitConditionHandle, for the ID and the reason; SignalResource for the states. Published
// templates write Status, status, Success and SUCCESS.
func ParseROSSignal(body []byte, earlier []store.Signal) (store.Signal, error) {
	s := store.Signal{ID: nextSignalID(earlier)}
	if len(body) > MaxSignal {
		return store.Signal{}, wrong("the signal is longer than 16384 bytes")
	}
	if len(strings.TrimSpace(string(body))) == 0 {
		return s, nil
	}
	v, err := value.Parse(body)
	if err != nil || v.Kind() != value.Map {
		return store.Signal{}, wrong(`the signal must be a JSON object such as {"status": "SUCCESS", "id": "…", "reason": "…", "data": "…"}`)
	}
	for _, m := range v.Members() {
		text := wire.CleanText(strings.TrimSpace(m.Value.Text()))
		name, long := strings.ToLower(m.Key), MaxSignalID
		switch name {
		case "status":
			switch strings.ToUpper(text) {
			case "SUCCESS":
			case "FAILURE":
				s.Failed = true
			case "WARNING":
				s.Warning = true
			default:
				return store.Signal{}, wrong("the signal's status must be SUCCESS, FAILURE or WARNING")
			}
			continue
		case "data":
			s.Data, s.JSON, long = wire.CleanText(m.Value.Text()), m.Value.Kind() != value.String, MaxSignalData
			if s.JSON {
				s.Data = string(m.Value.JSON())
			}
			text = s.Data
		case "reason":
			s.Reason, long = text, MaxSignalData
		case "id":
			if text != "" {
				s.ID = text
			}
		default:
			continue
		}
		if name != "data" && !m.Value.IsScalar() && !m.Value.IsNull() {
			return store.Signal{}, wrong("the signal's " + name + " must be a string")
		}
		if utf8.RuneCountInString(text) > long {
			return store.Signal{}, wrong("the signal's " + name + " is longer than it may be: " +
				"id has at most 256 characters, reason and data have 4096")
		}
	}
	return s, nil
}

// nextSignalID returns the ID for a signal without one: the number of signals so far plus 1, or the next free number.
func nextSignalID(earlier []store.Signal) string {
	taken := make(map[string]bool, len(earlier))
	for _, s := range earlier {
		taken[s.ID] = true
	}
	number := len(earlier) + 1
	for taken[strconv.Itoa(number)] {
		number++
	}
	return strconv.Itoa(number)
}
