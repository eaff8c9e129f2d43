package native

import (
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// Bounds of a ResourceSignal. Source: CloudFormation, CreationPolicy attribute.
const (
	defaultSignals     = 1
	defaultSignalPause = 5 * time.Minute
	maxSignalPause     = 12 * time.Hour
)

// creationPolicy is the signals that a resource waits for before it counts as created.
type creationPolicy struct {
	count   int
	timeout time.Duration
}

// parseCreationPolicy reads {"ResourceSignal": {"Count": …, "Timeout": …}}.
func parseCreationPolicy(v value.Value) (creationPolicy, error) {
	p := creationPolicy{count: defaultSignals, timeout: defaultSignalPause}
	if v.Kind() != value.Map {
		return p, wrong("CreationPolicy must be an object")
	}
	signal, ok := v.Get("ResourceSignal")
	if !ok || signal.Kind() != value.Map {
		return p, wrong("CreationPolicy must have a ResourceSignal, an object")
	}
	for _, m := range v.Members() {
		if m.Key != "ResourceSignal" {
			return p, wrong("CreationPolicy: Encountered unsupported property " + m.Key)
		}
	}
	for _, m := range signal.Members() {
		var err error
		switch m.Key {
		case "Count":
			count := Property{Name: "Count", Kind: Integer, Max: MaxSignals}
			if err = count.check(wire.CloudFormation, m.Value); err == nil {
				p.count, err = strconv.Atoi(m.Value.Text())
			}
		case "Timeout":
			p.timeout, err = parseISODuration(m.Value)
		default:
			err = unsupported(m.Key)
		}
		if err != nil {
			return p, wrong("CreationPolicy: " + err.Error())
		}
	}
	return p, nil
}

// parseISODuration reads a duration such as PT1H30M10S, at most [maxSignalPause].
func parseISODuration(v value.Value) (time.Duration, error) {
	malformed := wrong("Value of property Timeout must be a time in ISO 8601 format, as PT#H#M#S, of at most PT12H")
	text, ok := strings.CutPrefix(v.Text(), "PT")
	if v.Kind() != value.String || !ok || text == "" {
		return 0, malformed
	}
	var total time.Duration
	for _, unit := range []struct {
		letter string
		length time.Duration
	}{{"H", time.Hour}, {"M", time.Minute}, {"S", time.Second}} {
		number, rest, found := strings.Cut(text, unit.letter)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return 0, malformed
		}
		total += time.Duration(n) * unit.length
		text = rest
	}
	if text != "" || total > maxSignalPause {
		return 0, malformed
	}
	return total, nil
}
