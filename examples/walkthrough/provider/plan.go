package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxEndpoints = 20   // so that all probes together take at most a minute
	maxURL       = 2048 // bytes
	maxPerHour   = 60
	maxTester    = 256 // bytes
)

// properties are the properties in the template. CloudFormation sends numbers as strings.
type properties struct {
	SeleniumTester string   `json:"seleniumTester"`
	Endpoints      []string `json:"endpoints"`
	// FrequencyOfTestsPerHour has a whole number, 1 to maxPerHour, for each endpoint.
	FrequencyOfTestsPerHour []string `json:"frequencyOfTestsPerHour"`
}

// schedule is how often to test an endpoint.
type schedule struct {
	Endpoint string // an http or https URL
	PerHour  int    // 1 to maxPerHour
}

// plan returns a schedule for each endpoint. Its error lists every problem. It quotes no value, because that may be
// secret.
func (p properties) plan() ([]schedule, error) {
	var problems []string
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }

	if n := len(p.SeleniumTester); n == 0 || n > maxTester {
		problem("seleniumTester: give the name of the test, 1 to %d bytes", maxTester)
	}
	if n := len(p.Endpoints); n == 0 || n > maxEndpoints {
		problem("endpoints: give 1 to %d URLs, not %d", maxEndpoints, n)
	}
	if e, f := len(p.Endpoints), len(p.FrequencyOfTestsPerHour); e != f {
		problem("frequencyOfTestsPerHour: there are %d for %d endpoints, give one for each", f, e)
	}
	if problems != nil {
		return nil, errors.New(strings.Join(problems, "; "))
	}

	plan := make([]schedule, len(p.Endpoints))
	for i, endpoint := range p.Endpoints {
		if remedy := checkEndpoint(endpoint); remedy != "" {
			problem("endpoints, item %d: %s", i+1, remedy)
		}
		perHour, err := strconv.Atoi(p.FrequencyOfTestsPerHour[i])
		if err != nil || perHour < 1 || perHour > maxPerHour {
			problem("frequencyOfTestsPerHour, item %d: give a whole number from 1 to %d", i+1, maxPerHour)
		}
		plan[i] = schedule{endpoint, perHour}
	}
	if problems != nil {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	return plan, nil
}

// checkEndpoint returns how to fix an endpoint that cannot be tested, or "".
func checkEndpoint(endpoint string) string {
	if len(endpoint) > maxURL {
		return fmt.Sprintf("shorten the URL to %d bytes", maxURL)
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "give a full URL such as http://127.0.0.1:8081/"
	case u.User != nil:
		return "leave user name and password out of the URL, the results page would show them"
	}
	return ""
}

// every returns the time from one test to the next.
func (s schedule) every() time.Duration { return time.Hour / time.Duration(s.PerHour) }

// Interval returns that time as text, e.g. "20 min" or "8 min 34 s".
func (s schedule) Interval() string {
	minutes, seconds := s.every()/time.Minute, s.every()%time.Minute/time.Second
	if seconds == 0 {
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d min %d s", minutes, seconds)
}

// next returns when the first n tests after start are due.
func (s schedule) next(start time.Time, n int) []time.Time {
	due := make([]time.Time, n)
	for i := range due {
		// Counted from the start, so that the fractions of a second in 60/7 minutes do not add up.
		due[i] = start.Add(time.Hour * time.Duration(i+1) / time.Duration(s.PerHour))
	}
	return due
}
