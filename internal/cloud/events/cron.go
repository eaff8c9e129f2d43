package events

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// cron is an EventBridge cron expression: six fields, in UTC. Source: EventBridge User Guide, cron expressions.
type cron struct {
	minutes, hours, months, years set
	// days and weekdays: exactly one of them is not nil.
	days     *monthDays
	weekdays *weekdays
}

// set holds the values of a field: values[v-min] is true if v is in the set.
type set struct {
	min    int
	values []bool
}

func (s set) has(v int) bool { return v >= s.min && v-s.min < len(s.values) && s.values[v-s.min] }

// monthDays are days of the month.
type monthDays struct {
	days set
	last bool  // L
	near []int // W: the weekday nearest to the day
}

// weekdays are days of the week, 1 (Sunday) to 7 (Saturday).
type weekdays struct {
	days set
	last []int    // 6L: the last Friday of the month
	nth  [][2]int // 3#2: the second Tuesday of the month; 0 means each
}

var (
	monthNames = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	dayNames   = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
)

const (
	firstYear = 1970
	lastYear  = 2199
)

func parseCron(text string) (*cron, error) {
	fields := strings.Fields(text)
	if len(fields) != 6 {
		return nil, errSchedule
	}
	c := &cron{}
	var err error
	for _, f := range []struct {
		to       *set
		text     string
		min, max int
		names    []string
	}{
		{&c.minutes, fields[0], 0, 59, nil}, {&c.hours, fields[1], 0, 23, nil},
		{&c.months, fields[3], 1, 12, monthNames}, {&c.years, fields[5], firstYear, lastYear, nil},
	} {
		if *f.to, err = parseSet(f.text, f.min, f.max, f.names, nil); err != nil {
			return nil, err
		}
	}
	// Exactly one of the day of the month and the day of the week must be "?".
	switch {
	case fields[4] == "?" && fields[2] != "?":
		c.days = &monthDays{}
		c.days.days, err = parseSet(fields[2], 1, 31, nil, c.days.special)
	case fields[2] == "?" && fields[4] != "?":
		c.weekdays = &weekdays{}
		c.weekdays.days, err = parseSet(fields[4], 1, 7, dayNames, c.weekdays.special)
	default:
		err = errSchedule
	}
	return c, err
}

// parseSet parses the comma-separated values, ranges and steps of a field. special parses items that are specific to
// the field.
func parseSet(text string, first, last int, names []string, special func(item string) bool) (set, error) {
	s := set{min: first, values: make([]bool, last-first+1)}
	for item := range strings.SplitSeq(text, ",") {
		if special != nil && special(item) {
			continue
		}
		span, stepText, stepped := strings.Cut(item, "/")
		from, to, step := first, last, 1
		if span != "*" {
			a, b, ranged := strings.Cut(span, "-")
			var ok bool
			if from, ok = number(a, names, first); !ok {
				return s, errSchedule
			}
			switch {
			case ranged:
				if to, ok = number(b, names, first); !ok {
					return s, errSchedule
				}
			case !stepped:
				to = from
			}
		}
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 {
				return s, errSchedule
			}
			step = n
		}
		if from < first || to > last || from > to {
			return s, errSchedule
		}
		for v := from; v <= to; v += step {
			s.values[v-first] = true
		}
	}
	return s, nil
}

// number parses a number, or a name that counts from first.
func number(text string, names []string, first int) (int, bool) {
	if i := slices.Index(names, strings.ToUpper(text)); i >= 0 {
		return first + i, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && text != "" && text[0] >= '0' && text[0] <= '9'
}

func (d *monthDays) special(item string) bool {
	if item == "L" {
		d.last = true
		return true
	}
	text, ok := strings.CutSuffix(item, "W")
	n, isNumber := number(text, nil, 1)
	if !ok || !isNumber || n < 1 || n > 31 {
		return false
	}
	d.near = append(d.near, n)
	return true
}

func (d *weekdays) special(item string) bool {
	if item == "L" { // the last day of each week
		d.nth = append(d.nth, [2]int{7, 0})
		return true
	}
	if text, ok := strings.CutSuffix(item, "L"); ok {
		n, isNumber := number(text, dayNames, 1)
		if isNumber && n >= 1 && n <= 7 {
			d.last = append(d.last, n)
			return true
		}
		return false
	}
	if day, which, ok := strings.Cut(item, "#"); ok {
		n, isNumber := number(day, dayNames, 1)
		k, isCount := number(which, nil, 1)
		if isNumber && isCount && n >= 1 && n <= 7 && k >= 1 && k <= 5 {
			d.nth = append(d.nth, [2]int{n, k})
			return true
		}
	}
	return false
}

// matches reports whether the expression includes a day. length is the number of days in its month.
func (c *cron) matches(day time.Time, length int) bool {
	of, weekday := day.Day(), int(day.Weekday())+1
	if d := c.days; d != nil {
		return d.days.has(of) || d.last && of == length || slices.ContainsFunc(d.near, func(n int) bool { return nearest(day, n, length) == of })
	}
	d := c.weekdays
	return d.days.has(weekday) || slices.Contains(d.last, weekday) && of+7 > length ||
		slices.ContainsFunc(d.nth, func(n [2]int) bool { return n[0] == weekday && (n[1] == 0 || (of-1)/7+1 == n[1]) })
}

// nearest returns the weekday nearest to day n in the same month, or 0 if the month has no such day.
func nearest(in time.Time, n, length int) int {
	if n > length {
		return 0
	}
	switch time.Date(in.Year(), in.Month(), n, 0, 0, 0, 0, time.UTC).Weekday() {
	case time.Saturday:
		if n == 1 {
			return 3
		}
		return n - 1
	case time.Sunday:
		if n == length {
			return n - 2
		}
		return n + 1
	case time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday:
	}
	return n
}

// next returns the first matching minute after now, or the zero time if no minute matches.
func (c *cron) next(now time.Time) time.Time {
	from := now.UTC().Truncate(time.Minute).Add(time.Minute)
	for year := max(from.Year(), firstYear); year <= lastYear; year++ {
		if !c.years.has(year) {
			continue
		}
		for month := time.January; month <= time.December; month++ {
			start := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
			end := start.AddDate(0, 1, 0)
			if !c.months.has(int(month)) || !end.After(from) {
				continue
			}
			length := end.AddDate(0, 0, -1).Day()
			for day := start; day.Before(end); day = day.AddDate(0, 0, 1) {
				if !day.AddDate(0, 0, 1).After(from) || !c.matches(day, length) {
					continue
				}
				if found := c.within(day, from); !found.IsZero() {
					return found
				}
			}
		}
	}
	return time.Time{}
}

// within returns the first matching minute of a day that is not before from.
func (c *cron) within(day, from time.Time) time.Time {
	for hour := range 24 {
		for minute := range 60 {
			at := day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
			if c.hours.has(hour) && c.minutes.has(minute) && !at.Before(from) {
				return at
			}
		}
	}
	return time.Time{}
}
