package events

import (
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	parsed, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestCron compares next times with the examples of the EventBridge User Guide and a calendar.
func TestCron(t *testing.T) {
	for _, test := range []struct{ cron, after, want string }{
		{"15 10 * * ? *", "2026-11-24 10:14:59", "2026-11-24 10:15:00"},
		{"15 10 * * ? *", "2026-11-24 10:15:00", "2026-11-25 10:15:00"},
		{"0 18 ? * MON-FRI *", "2026-11-27 18:00:00", "2026-11-30 18:00:00"},
		{"0 8 1 * ? *", "2026-12-24 00:00:00", "2027-01-01 08:00:00"},
		{"0/10 * ? * MON-FRI *", "2026-11-24 23:55:30", "2026-11-25 00:00:00"},
		{"0/5 8-17 ? * MON-FRI *", "2026-11-24 17:55:00", "2026-11-25 08:00:00"},
		{"0 9 ? * 2#1 *", "2026-11-24 00:00:00", "2026-12-07 09:00:00"},
		{"0 0 L * ? *", "2027-02-01 00:00:00", "2027-02-28 00:00:00"},
		{"0 0 L 2 ? *", "2027-03-01 00:00:00", "2028-02-29 00:00:00"},
		{"0 0 3W * ? *", "2026-10-01 00:00:00", "2026-10-02 00:00:00"},  // 3 October 2026 is a Saturday
		{"0 0 1W * ? *", "2026-07-31 00:00:00", "2026-08-03 00:00:00"},  // 1 August 2026 is a Saturday
		{"0 0 31W * ? *", "2026-05-01 00:00:00", "2026-05-29 00:00:00"}, // 31 May 2026 is a Sunday
		{"0 12 ? * 6L *", "2026-11-01 00:00:00", "2026-11-27 12:00:00"},
		{"0 12 ? * L *", "2026-11-24 00:00:00", "2026-11-28 12:00:00"},
		{"0 12 ? NOV THU#4 2026", "2026-11-01 00:00:00", "2026-11-26 12:00:00"},
		{"0 12 ? NOV THU#4 2026", "2026-11-26 12:00:00", ""},
		{"0 0 30 2 ? *", "2026-01-01 00:00:00", ""},
		{"0 0 29 2 ? 2027-2031", "2026-01-01 00:00:00", "2028-02-29 00:00:00"},
		{"1,2 3 4 5 ? 2030", "2026-01-01 00:00:00", "2030-05-04 03:01:00"},
	} {
		s, err := ParseSchedule("cron(" + test.cron + ")")
		if err != nil {
			t.Errorf("%s: %v", test.cron, err)
			continue
		}
		if got := s.Next(time.Time{}, at(t, test.after)); !got.Equal(at(t, test.want)) {
			t.Errorf("%s after %s: got %s, want %s", test.cron, test.after, got, test.want)
		}
	}
}

func TestRate(t *testing.T) {
	start := at(t, "2026-01-01 00:00:10")
	for _, test := range []struct{ rate, after, want string }{
		{"1 minute", "2026-01-01 00:00:10", "2026-01-01 00:01:10"},
		{"2 minutes", "2026-01-01 00:04:09", "2026-01-01 00:04:10"},
		{"2 minutes", "2026-01-01 00:04:10", "2026-01-01 00:06:10"},
		{"1 day", "2026-01-03 12:00:00", "2026-01-04 00:00:10"},
		{"5 hours", "2025-12-31 00:00:00", "2026-01-01 05:00:10"},
	} {
		s, err := ParseSchedule("rate(" + test.rate + ")")
		if err != nil {
			t.Errorf("%s: %v", test.rate, err)
			continue
		}
		if got := s.Next(start, at(t, test.after)); !got.Equal(at(t, test.want)) {
			t.Errorf("%s after %s: got %s, want %s", test.rate, test.after, got, test.want)
		}
	}
}

func TestParseScheduleRefuses(t *testing.T) {
	for _, text := range []string{
		"", "rate", "rate()", "rate(5)", "rate(5 minute)", "rate(1 minutes)", "rate(0 minutes)", "rate(-1 minutes)", "rate(+5 minutes)",
		"rate(5  minutes)", "rate(5 seconds)", "rate(1.5 hours)", "rate(5 minutes) ", "rate(9999999999999999999 days)", "rate(99999999 days)",
		"Rate(5 minutes)", "cron(* * * * ? *", "cron(* * * * * *)", "cron(* * ? * ? *)", "cron(* * * * ?)", "cron(60 * * * ? *)", "cron(* 24 * * ? *)",
		"cron(* * 0 * ? *)", "cron(* * 32 * ? *)", "cron(* * * 13 ? *)", "cron(* * ? * 8 *)", "cron(* * ? * MON#6 *)", "cron(* * ? * 0L *)",
		"cron(* * 32W * ? *)", "cron(* * W * ? *)", "cron(5-1 * * * ? *)", "cron(*/0 * * * ? *)", "cron(1/ * * * ? *)", "cron(, * * * ? *)",
		"cron(* * * * ? 1969)", "cron(* * * * ? 2200)", "cron(? * * * ? *)", "cron(* * * FOO ? *)", "cron(-1 * * * ? *)", "at(2026-01-01T00:00:00)",
	} {
		if _, err := ParseSchedule(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	for _, text := range []string{"rate(5 minutes)", "cron(0/5 8-17 ? * MON-FRI *)", "cron(0 0 3W,L * ? 2026)", "cron(0 9 ? * 2#1,6L *)"} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 24, 10, 0, 30, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSchedule(text)
		if err != nil {
			return
		}
		if next := s.Next(now, now); !next.IsZero() && !next.After(now) {
			t.Errorf("%q is due at %s, which is over", text, next)
		}
	})
}
