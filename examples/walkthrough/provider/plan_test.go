package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlan(t *testing.T) {
	got, err := properties{
		SeleniumTester:          "SeleniumTest()",
		Endpoints:               []string{"http://mysite.com", "https://[::1]:8443/shop?q=1"},
		FrequencyOfTestsPerHour: []string{"3", "60"},
	}.plan()
	if err != nil {
		t.Fatal(err)
	}
	want := []schedule{{"http://mysite.com", 3}, {"https://[::1]:8443/shop?q=1", 60}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlanRefuses(t *testing.T) {
	const (
		site      = "http://127.0.0.1/"
		fullURL   = "give a full URL such as http://127.0.0.1:8081/"
		frequency = "give a whole number from 1 to 60"
	)
	tests := map[string]struct {
		props properties
		want  string
	}{
		"nothing": {
			properties{},
			"seleniumTester: give the name of the test, 1 to 256 bytes; endpoints: give 1 to 20 URLs, not 0",
		},
		"too many": {
			properties{"t", make([]string, 21), make([]string, 21)},
			"endpoints: give 1 to 20 URLs, not 21",
		},
		"lengths differ": {
			properties{"t", []string{site, site, site}, []string{"3", "2"}},
			"frequencyOfTestsPerHour: there are 2 for 3 endpoints, give one for each",
		},
		"no URLs": {
			properties{"t", []string{"mysite.com", "ftp://mysite.com", "http://", "http://a b/", ""}, []string{"1", "1", "1", "1", "1"}},
			"endpoints, item 1: " + fullURL + "; endpoints, item 2: " + fullURL + "; endpoints, item 3: " + fullURL +
				"; endpoints, item 4: " + fullURL + "; endpoints, item 5: " + fullURL,
		},
		"password": {
			properties{"t", []string{"http://me:hunter2@127.0.0.1/"}, []string{"1"}},
			"endpoints, item 1: leave user name and password out of the URL, the results page would show them",
		},
		"long URL": {
			properties{"t", []string{site + strings.Repeat("a", 2048)}, []string{"1"}},
			"endpoints, item 1: shorten the URL to 2048 bytes",
		},
		"frequencies": {
			properties{"t", []string{site, site, site, site, site}, []string{"0", "61", "-1", "2.5", "often"}},
			"frequencyOfTestsPerHour, item 1: " + frequency + "; frequencyOfTestsPerHour, item 2: " + frequency +
				"; frequencyOfTestsPerHour, item 3: " + frequency + "; frequencyOfTestsPerHour, item 4: " + frequency +
				"; frequencyOfTestsPerHour, item 5: " + frequency,
		},
		"both lists": {
			properties{"t", []string{site, "shop"}, []string{"x", "1"}},
			"frequencyOfTestsPerHour, item 1: " + frequency + "; endpoints, item 2: " + fullURL,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan, err := test.props.plan()
			if err == nil {
				t.Fatalf("planned %v", plan)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSchedule(t *testing.T) {
	start := time.Date(2026, 1, 2, 23, 50, 0, 0, time.UTC)
	tests := []struct {
		perHour  int
		interval string
		next     []string
	}{
		{1, "60 min", []string{"00:50:00", "01:50:00", "02:50:00"}},
		{3, "20 min", []string{"00:10:00", "00:30:00", "00:50:00"}},
		{7, "8 min 34 s", []string{"23:58:34", "00:07:08", "00:15:42"}},
		{60, "1 min", []string{"23:51:00", "23:52:00", "23:53:00"}},
	}
	for _, test := range tests {
		s := schedule{"http://mysite.com", test.perHour}
		if got := s.Interval(); got != test.interval {
			t.Errorf("%d an hour: interval %q, want %q", test.perHour, got, test.interval)
		}
		var next []string
		for _, due := range s.next(start, 3) {
			next = append(next, due.Format(time.TimeOnly))
		}
		if diff := cmp.Diff(test.next, next); diff != "" {
			t.Errorf("%d an hour: %s", test.perHour, diff)
		}
	}
	if due := (schedule{"http://mysite.com", 7}).next(start, 7); !due[6].Equal(start.Add(time.Hour)) {
		t.Errorf("the 7th of 7 tests an hour is due at %s, not an hour after %s", due[6], start)
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(`{"seleniumTester":"t","endpoints":["http://mysite.com"],"frequencyOfTestsPerHour":["3"]}`)
	f.Add(`{"seleniumTester":"t","endpoints":["http://[::1%25lo]:80/","x"],"frequencyOfTestsPerHour":["+3","99999999999999999999"]}`)
	f.Add(`{"endpoints":[null]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var props properties
		if json.Unmarshal([]byte(text), &props) != nil {
			return
		}
		plan, err := props.plan()
		if err != nil {
			if plan != nil {
				t.Errorf("a plan beside the error %v", err)
			}
			return
		}
		if len(plan) != len(props.Endpoints) {
			t.Fatalf("%d schedules for %d endpoints", len(plan), len(props.Endpoints))
		}
		for _, s := range plan {
			if every := s.every(); every < time.Minute || every > time.Hour {
				t.Errorf("%+v runs every %s", s, every)
			}
		}
	})
}
