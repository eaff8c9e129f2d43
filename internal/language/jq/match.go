package jq

import (
	"errors"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/base/regexcost"
)

// expression is a regular expression of a script.
type expression struct {
	*regexp.Regexp
	heft int
	// reach is how far past the end of a match the search may have read.
	reach  int
	global bool
}

// expressionOf reads the arguments of test, match and split. It returns false for invalid ones, whose error jq reports.
func expressionOf(text, flags any) (expression, bool) {
	written, ok := text.(string)
	options, given := flags.(string)
	if !ok || !given && flags != nil || strings.Trim(options, "gim") != "" {
		return expression{}, false
	}
	if strings.Contains(options, "i") {
		written = "(?i)" + written
	}
	if strings.Contains(options, "m") {
		written = "(?s)" + written
	}
	parsed, err := syntax.Parse(written, syntax.Perl)
	if err != nil {
		return expression{}, false
	}
	p := expression{heft: regexcost.Weight(parsed), reach: reach(parsed), global: strings.Contains(options, "g")}
	if p.heft <= regexcost.Heaviest {
		p.Regexp, err = regexp.Compile(written)
	}
	return p, err == nil
}

// matchedByUs runs functions with regular expressions, or only counts their work if jq's implementation is good enough:
// done is then false.
func (w *work) matchedByUs(n native, input any, arguments []any) (result any, done bool) {
	split := n.name == "split" && n.arity == 2
	if n.name != "test" && n.name != "_matches" && !split {
		return nil, false
	}
	var flags any
	if len(arguments) > 1 {
		flags = arguments[1]
	}
	text, isText := input.(string)
	p, ok := expressionOf(arguments[0], flags)
	if !isText || !ok {
		return nil, false
	}
	if p.heft > regexcost.Heaviest {
		return errors.New("a regular expression repeats too much"), true
	}
	if w.pieces -= regexcost.Scan(p.heft, len(text)); w.exhausted() || !split && (n.name == "test" || !p.global) {
		return nil, false
	}
	// After every match the search may read the same bytes again.
	again := regexcost.Scan(p.heft, min(p.reach, len(text)))
	found := p.FindAllStringSubmatchIndex(text, w.pieces/again+1)
	if w.pieces -= again * len(found); w.exhausted() || split {
		return nil, false
	}
	return p.matches(text, found), true
}

// matches returns the result of jq's match.
func (p expression) matches(text string, found [][]int) []any {
	matches, names := make([]any, len(found)), p.SubexpNames()
	at, offset := 0, 0 // in bytes, and in characters
	for i, place := range found {
		offset += utf8.RuneCountInString(text[at:place[0]])
		at = place[0]
		captures := make([]any, 0, len(names)-1)
		for j := 1; j < len(names); j++ {
			var name any
			if names[j] != "" {
				name = names[j]
			}
			from, to := place[2*j], place[2*j+1]
			if from < 0 {
				captures = append(captures, map[string]any{"name": name, "offset": -1, "length": 0, "string": nil})
				continue
			}
			captures = append(captures, map[string]any{
				"name": name, "offset": offset + utf8.RuneCountInString(text[at:from]), "length": utf8.RuneCountInString(text[from:to]), "string": text[from:to],
			})
		}
		whole := text[place[0]:place[1]]
		matches[i] = map[string]any{"offset": offset, "length": utf8.RuneCountInString(whole), "string": whole, "captures": captures}
	}
	return matches
}

// reach returns how far past the end of a match a search may read before it is sure of the match. That is the length of
// the longest match of a bounded pattern. If the only unbounded part is one repeated character at the end, the match
// includes all that the search reads there.
func reach(re *syntax.Regexp) int {
	if sum, ok := longestOf(re); ok {
		return sum
	}
	re = uncaptured(re)
	sum := 1
	if re.Op == syntax.OpConcat {
		last := len(re.Sub) - 1
		for _, sub := range re.Sub[:last] {
			size, ok := longestOf(sub)
			if !ok {
				return math.MaxInt
			}
			sum += size
		}
		re = uncaptured(re.Sub[last])
	}
	if (re.Op == syntax.OpStar || re.Op == syntax.OpPlus) && re.Flags&syntax.NonGreedy == 0 {
		if one := re.Sub[0]; isClass(one) || one.Op == syntax.OpLiteral && len(one.Rune) == 1 {
			return sum
		}
	}
	return math.MaxInt
}

// uncaptured returns the content of a group.
func uncaptured(re *syntax.Regexp) *syntax.Regexp {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	return re
}

// isClass reports whether a pattern matches one of several characters.
func isClass(re *syntax.Regexp) bool {
	return re.Op == syntax.OpCharClass || re.Op == syntax.OpAnyChar || re.Op == syntax.OpAnyCharNotNL
}

// longestOf returns the maximum length of a match in bytes, or false if the length is unbounded.
func longestOf(re *syntax.Regexp) (int, bool) {
	sum := 0
	for _, sub := range re.Sub {
		size, ok := longestOf(sub)
		if !ok {
			return 0, false
		}
		sum += size // an overestimate for alternatives
	}
	switch {
	case re.Op == syntax.OpLiteral:
		return utf8.UTFMax * len(re.Rune), true
	case isClass(re):
		return utf8.UTFMax, true
	case re.Op == syntax.OpStar, re.Op == syntax.OpPlus:
		return 0, false
	case re.Op == syntax.OpRepeat:
		return sum * max(re.Max, 0), re.Max >= 0
	}
	return sum, true
}

// maxNumber is the most digits of a number that a script reads from a text. Numbers that exceed the limit on bits,
// which is checked separately, already have fewer digits.
const maxNumber = 2048

// readable reports whether no number in a text exceeds maxNumber: converting long numbers is slow.
func readable(text string) bool {
	digits, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted, digits = !quoted, 0
		case quoted:
		case c >= '0' && c <= '9':
			if digits++; digits > maxNumber {
				return false
			}
		default:
			digits = 0
		}
	}
	return true
}
