package events

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// errSchedule is EventBridge's error for every invalid schedule.
var errSchedule = errors.New("Parameter ScheduleExpression is not valid.") //nolint:staticcheck // the service's own text

// maxSchedule is the maximum length of a schedule in bytes. Source: EventBridge API Reference, PutRule.
const maxSchedule = 256

// Schedule is a parsed ScheduleExpression: rate(N UNIT), or cron(…) in UTC. The zero value never fires.
type Schedule struct {
	// Period is the period of a rate, and zero for a cron expression.
	Period time.Duration
	cron   *cron
}

// ParseSchedule parses a ScheduleExpression. The error has EventBridge's text.
func ParseSchedule(text string) (Schedule, error) {
	if len(text) > maxSchedule {
		return Schedule{}, errSchedule
	}
	if inner, ok := cut(text, "rate("); ok {
		return parseRate(inner)
	}
	if inner, ok := cut(text, "cron("); ok {
		c, err := parseCron(inner)
		return Schedule{cron: c}, err
	}
	return Schedule{}, errSchedule
}

func cut(text, start string) (string, bool) {
	inner, ok := strings.CutPrefix(text, start)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(inner, ")")
}

// parseRate parses "1 minute" or "5 minutes". The unit is singular only for 1.
func parseRate(text string) (Schedule, error) {
	number, unit, ok := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || strings.HasPrefix(number, "+") {
		return Schedule{}, errSchedule
	}
	if n != 1 {
		if unit, ok = strings.CutSuffix(unit, "s"); !ok {
			return Schedule{}, errSchedule
		}
	}
	length := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[unit]
	const longest = 100 * 365 * 24 * time.Hour
	if length == 0 || time.Duration(n) > longest/length {
		return Schedule{}, errSchedule
	}
	return Schedule{Period: time.Duration(n) * length}, nil
}

// Next returns the first due time after now. A rate counts from start. The zero time means never.
func (s Schedule) Next(start, now time.Time) time.Time {
	switch {
	case s.cron != nil:
		return s.cron.next(now)
	case s.Period == 0:
		return time.Time{}
	case now.Before(start):
		return start.Add(s.Period)
	}
	return start.Add((now.Sub(start)/s.Period + 1) * s.Period)
}
