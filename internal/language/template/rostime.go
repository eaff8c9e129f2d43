package template

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // makes time zone names mean the same on every machine

	"github.com/pintle-dev/pintle/internal/language/value"
)

// WantsTime reports whether the template calls Fn::FormatTime, which needs [Outside.Now] in the scope.
func (t *Template) WantsTime() bool { return t.time }

// maxTimeFormat is the maximum length of a time format. Source: ours.
const maxTimeFormat = 1024

func rosTimeNamed(name string) (function, bool) {
	if name != "Fn::FormatTime" {
		return function{}, false
	}
	g := signature{name: name, usage: "a format, or [format, time zone]", wants: []want{wantText, wantText}, least: 1}
	f, ok := g.function(rosAnywhere, formatTime)
	check, evaluate := f.check, f.evaluate
	listed := func(argument Node) Node {
		if argument.kind != value.List {
			argument = Node{kind: value.List, items: []Node{argument}, line: argument.line, column: argument.column}
		}
		return argument
	}
	f.check = func(s *shapes, argument Node, where path) { check(s, listed(argument), where) }
	f.evaluate = func(e *evaluation, argument Node) (value.Value, error) { return evaluate(e, listed(argument)) }
	return f, ok
}

// formatTime formats the time at which the operation began, in UTC unless the call sets a time zone.
func formatTime(e *evaluation, a arguments) (value.Value, error) {
	now, err := time.Parse(time.RFC3339Nano, e.scope.Outside.Now)
	if err != nil {
		return value.Value{}, e.fail(a.at, "Fn::FormatTime: the time is not known here.")
	}
	if len(a.text(0)) > maxTimeFormat {
		return value.Value{}, a.fail(e, "the format is longer than %d bytes", maxTimeFormat)
	}
	zone := time.UTC
	if name := a.text(1); name != "" {
		// Other names that a machine may know, such as localtime, have a different meaning on other machines.
		if zone, err = time.LoadLocation(name); err != nil || name == "Local" || name[0] < 'A' || name[0] > 'Z' {
			return value.Value{}, a.fail(e, "argument 2 is not a time zone, such as Asia/Shanghai")
		}
	}
	return value.Str(strftime(a.text(0), now.In(zone))), nil
}

// strftime formats a time as C does in its own locale. An unknown field stays as it is.
func strftime(format string, t time.Time) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(format, "%")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if after == "" {
			b.WriteByte('%')
			return b.String()
		}
		b.WriteString(timeField(after[0], t))
		format = after[1:]
	}
}

// timeField returns one field of a time.
func timeField(field byte, t time.Time) string {
	week := func(first time.Weekday) string { // of the year: week 1 begins on the first such weekday
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()-first+7)%7)/7)
	}
	switch field {
	case 'y':
		return t.Format("06")
	case 'Y':
		return t.Format("2006")
	case 'm':
		return t.Format("01")
	case 'd':
		return t.Format("02")
	case 'H':
		return t.Format("15")
	case 'I':
		return t.Format("03")
	case 'M':
		return t.Format("04")
	case 'S':
		return t.Format("05")
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000)
	case 'a':
		return t.Format("Mon")
	case 'A':
		return t.Format("Monday")
	case 'b':
		return t.Format("Jan")
	case 'B':
		return t.Format("January")
	case 'c':
		return t.Format("Mon Jan _2 15:04:05 2006")
	case 'j':
		return t.Format("002")
	case 'p':
		return t.Format("PM")
	case 'U':
		return week(time.Sunday)
	case 'W':
		return week(time.Monday)
	case 'w':
		return fmt.Sprint(int(t.Weekday()))
	case 'x':
		return t.Format("01/02/06")
	case 'X':
		return t.Format("15:04:05")
	case 'z':
		return t.Format("-0700")
	case 'Z':
		return t.Format("MST")
	case '%':
		return "%"
	}
	return string([]byte{'%', field})
}
