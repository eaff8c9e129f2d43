package template

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/base/regexcost"
)

// allowedPattern is the AllowedPattern of a parameter: a Java regular expression that must match a whole value. It is
// matched in linear time, so it does not support all of Java's syntax. Syntax that differs only in spelling is
// translated. Lookaheads at the beginning, as in patterns for passwords, become separate patterns. Source:
// java.util.regex.Pattern, Java SE 8; RE2 syntax.
type allowedPattern struct {
	whole *regexp.Regexp
	ahead []lookahead
}

// lookahead is a lookahead at the beginning of a text.
type lookahead struct {
	pattern *regexp.Regexp
	absent  bool
	// choices replace the pattern: all lookaheads of one choice must match.
	choices [][]lookahead
}

func (a lookahead) met(text string) bool {
	if a.choices == nil {
		return a.pattern.MatchString(text) != a.absent
	}
	return slices.ContainsFunc(a.choices, func(all []lookahead) bool { return allMet(all, text) })
}

func allMet(all []lookahead, text string) bool {
	return !slices.ContainsFunc(all, func(a lookahead) bool { return !a.met(text) })
}

func (p *allowedPattern) match(text string) bool {
	return allMet(p.ahead, text) && p.whole.MatchString(text)
}

// uncheckedError is the error of a pattern that other engines support and this one does not.
type uncheckedError string

func (e uncheckedError) Error() string { return string(e) }

func unchecked(format string, args ...any) error { return uncheckedError(fmt.Sprintf(format, args...)) }

// parsePattern parses a pattern. The error says why it is invalid; it is an [uncheckedError] if other engines may
// support it.
func parsePattern(text string) (*allowedPattern, error) {
	p := &allowedPattern{}
	start, rest := "", text
	if after, ok := strings.CutPrefix(rest, "^"); ok {
		start, rest = "^", after
	}
	var err error
	if p.ahead, rest, err = demands(rest, 0); err != nil {
		return nil, err
	}
	translated, err := translatePattern(start + rest)
	if err != nil {
		return nil, err
	}
	if p.whole, err = compile(`\A(?:` + translated + `)\z`); err != nil {
		return nil, err
	}
	return p, nil
}

// deepestChoice is the maximum nesting depth of choices of lookaheads. Source: ours.
const deepestChoice = 4

// demands returns the lookaheads at the beginning of a pattern, and the rest of it. A group counts if it contains only
// lookaheads.
func demands(text string, depth int) (list []lookahead, rest string, err error) {
	if alternates(text) {
		return nil, text, nil // they might belong to the first alternative alone
	}
	for strings.HasPrefix(text, "(") {
		inner, after, ok := cutGroup(text)
		if !ok || after != "" && strings.Contains("?*+{", after[:1]) {
			break
		}
		if strings.HasPrefix(text, "(?=") || strings.HasPrefix(text, "(?!") {
			translated, err := translatePattern(inner[3:])
			if err != nil {
				return nil, "", err
			}
			pattern, err := compile(`\A(?:` + translated + `)`)
			if err != nil {
				return nil, "", err
			}
			list, text = append(list, lookahead{pattern: pattern, absent: strings.HasPrefix(inner, "(?!")}), after
			continue
		}
		choices, err := choicesOf(strings.TrimPrefix(inner[1:], "?:"), depth)
		if err != nil {
			return nil, "", err
		}
		if choices == nil {
			break
		}
		list, text = append(list, lookahead{choices: choices}), after
	}
	return list, text, nil
}

// choicesOf returns the lookaheads of each alternative in a group; nil if the group contains anything else.
func choicesOf(group string, depth int) (choices [][]lookahead, err error) {
	if depth == deepestChoice || !strings.HasPrefix(group, "(") {
		return nil, nil
	}
	for _, alternative := range alternativesOf(group) {
		list, rest, err := demands(alternative, depth+1)
		if err != nil || rest != "" || list == nil {
			return nil, err
		}
		choices = append(choices, list)
	}
	return choices, nil
}

func compile(text string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		text = strings.NewReplacer("`\\A(?:", "`", ")\\z`", "`").Replace(text)
		if known, ok := errors.AsType[*syntax.Error](err); ok {
			notHere := []syntax.ErrorCode{
				syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth,
			}
			if slices.Contains(notHere, known.Code) {
				return nil, unchecked("%s", text)
			}
		}
		return nil, errors.New(text)
	}
	if regexcost.Weight(parsed) > regexcost.Heaviest {
		return nil, unchecked("it repeats so much that it cannot be checked")
	}
	return regexp.Compile(text)
}

// structure yields the bytes of a pattern outside classes and escapes, with their positions.
func structure(text string) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		for i, in := 0, false; i < len(text); i++ {
			switch c := text[i]; {
			case c == '\\':
				i++
			case in:
				in = c != ']'
			case c == '[':
				in = true
				if strings.HasPrefix(text[i+1:], "^]") {
					i += 2
				} else if strings.HasPrefix(text[i+1:], "]") {
					i++
				}
			case !yield(i, c):
				return
			}
		}
	}
}

// cutGroup returns the group at the beginning of a text, without its last parenthesis, and the text after it.
func cutGroup(text string) (inner, after string, ok bool) {
	depth := 0
	for i, c := range structure(text) {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text[:i], text[i+1:], true
			}
		}
	}
	return "", "", false
}

// alternates reports whether a pattern has alternatives outside groups.
func alternates(text string) bool { return len(alternativesOf(text)) > 1 }

// alternativesOf returns the alternatives of a pattern outside groups; one if it has none.
func alternativesOf(text string) []string {
	var list []string
	depth, start := 0, 0
	for i, c := range structure(text) {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth <= 0:
			list, start = append(list, text[start:i]), i+1
		}
	}
	return append(list, text[start:])
}

// translator translates a Java pattern to RE2 syntax.
type translator struct {
	in  string
	at  int
	out strings.Builder
	// groups are the positions in out of the open groups; last is that of the last atom, or -1.
	groups []int
	last   int
}

func translatePattern(text string) (string, error) {
	if strings.Contains(text, "(?x") || strings.Contains(text, "(?d") || strings.Contains(text, "(?u") || strings.Contains(text, "(?U") {
		return "", unchecked("the flags x, d, u and U cannot be checked")
	}
	t := &translator{in: text, last: -1}
	for t.at < len(t.in) {
		if err := t.step(); err != nil {
			return "", err
		}
	}
	return t.out.String(), nil
}

// step translates one piece.
func (t *translator) step() error {
	rest := t.in[t.at:]
	switch c := rest[0]; c {
	case '\\':
		t.last = t.out.Len()
		return t.escape(false)
	case '[':
		t.last = t.out.Len()
		return t.class()
	case '(':
		for _, none := range []struct{ begin, what string }{
			{"(?=", "look-ahead, other than at the beginning of the pattern,"}, {"(?!", "look-ahead, other than at the beginning of the pattern,"},
			{"(?<=", "look-behind"}, {"(?<!", "look-behind"}, {"(?>", "an atomic group"},
		} {
			if strings.HasPrefix(rest, none.begin) {
				return unchecked("%s (%s…) cannot be checked", none.what, none.begin)
			}
		}
		t.groups = append(t.groups, t.out.Len())
		t.take(1)
		t.last = -1
		return nil
	case ')':
		t.last = -1
		if n := len(t.groups); n > 0 {
			t.last, t.groups = t.groups[n-1], t.groups[:n-1]
		}
		t.take(1)
		return nil
	case '*', '+', '?':
		return t.quantifier(rest[:1], 1)
	case '{':
		return t.braces()
	case '|':
		t.take(1)
		t.last = -1
		return nil
	default:
		t.last = t.out.Len()
		_, size := utf8.DecodeRuneInString(rest)
		t.take(size)
		return nil
	}
}

// take copies n bytes.
func (t *translator) take(n int) {
	n = min(n, len(t.in)-t.at)
	t.out.WriteString(t.in[t.at : t.at+n])
	t.at += n
}

// put writes a translation of n bytes.
func (t *translator) put(text string, n int) {
	t.out.WriteString(text)
	t.at += n
}

// posix maps Java's names of ASCII classes to ours.
var posix = map[string]string{
	"Lower": "lower", "Upper": "upper", "ASCII": "ascii", "Alpha": "alpha", "Digit": "digit", "Alnum": "alnum", "Punct": "punct",
	"Graph": "graph", "Print": "print", "Blank": "blank", "Cntrl": "cntrl", "XDigit": "xdigit", "Space": "space",
}

// escape translates a sequence that begins with a backslash.
func (t *translator) escape(inClass bool) error {
	rest := t.in[t.at:]
	if len(rest) < 2 {
		return fmt.Errorf("it ends with a backslash")
	}
	wrap := func(text string) string {
		if inClass {
			return text
		}
		return "[" + text + "]"
	}
	switch c := rest[1]; {
	case c >= '1' && c <= '9', c == 'k':
		return unchecked("a back reference (%s) cannot be checked", rest[:2])
	case strings.IndexByte("GZXRN", c) >= 0:
		return unchecked("%s cannot be checked", rest[:2])
	case c == 's':
		t.put(wrap(`\t\n\v\f\r `), 2)
	case c == 'S' && inClass:
		t.put(`\x00-\x08\x0e-\x1f\x21-\x{10FFFF}`, 2)
	case c == 'S':
		t.put(`[^\t\n\v\f\r ]`, 2)
	case c == 'h':
		t.put(wrap(`\t \x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}`), 2)
	case c == 'v':
		t.put(wrap(`\n\v\f\r\x{85}\x{2028}\x{2029}`), 2)
	case c == 'e':
		t.put(`\x1b`, 2)
	case c == 'u' && len(rest) >= 6 && isHex(rest[2:6]):
		t.put(`\x{`+rest[2:6]+`}`, 6)
	case c == 'p' || c == 'P':
		return t.property(inClass)
	case c == 'Q':
		end := strings.Index(rest, `\E`)
		if end < 0 {
			end = len(rest)
		}
		t.put(regexp.QuoteMeta(rest[2:end]), min(end+2, len(rest)))
	default:
		_, size := utf8.DecodeRuneInString(rest[1:])
		t.take(1 + size)
	}
	return nil
}

func isHex(text string) bool {
	_, err := strconv.ParseUint(text, 16, 64)
	return err == nil
}

// property translates \p{Name}.
func (t *translator) property(inClass bool) error {
	rest := t.in[t.at:]
	end := strings.IndexByte(rest, '}')
	if len(rest) < 4 || rest[2] != '{' || end < 0 {
		t.take(2)
		return nil
	}
	name, not := rest[3:end], ""
	if rest[1] == 'P' {
		not = "^"
	}
	if ours, ok := posix[name]; ok {
		text := "[:" + not + ours + ":]"
		if !inClass {
			text = "[" + text + "]"
		}
		t.put(text, end+1)
		return nil
	}
	switch name {
	case "IsAlphabetic", "javaLetter":
		name = "L"
	case "IsDigit":
		name = "Nd"
	default:
		name = strings.TrimPrefix(name, "Is")
	}
	t.put(rest[:2]+"{"+name+"}", end+1)
	return nil
}

// class translates a character class.
func (t *translator) class() error {
	t.take(1)
	if strings.HasPrefix(t.in[t.at:], "^") {
		t.take(1)
	}
	for first := true; t.at < len(t.in); first = false {
		rest := t.in[t.at:]
		switch {
		case rest[0] == ']' && !first:
			t.take(1)
			return nil
		case rest[0] == ']':
			t.put(`\]`, 1)
		case rest[0] == '\\':
			if err := t.escape(true); err != nil {
				return err
			}
		case rest[0] == '[':
			return unchecked("a class of characters within another one cannot be checked; write \\[ for the character")
		case strings.HasPrefix(rest, "&&"):
			return unchecked("an intersection of classes (&&) cannot be checked; write \\& for the character")
		default:
			_, size := utf8.DecodeRuneInString(rest)
			t.take(size)
		}
	}
	return fmt.Errorf("a class of characters has no end")
}

// quantifier writes the quantifier of the last atom.
func (t *translator) quantifier(text string, n int) error {
	if strings.HasPrefix(t.in[t.at+n:], "+") {
		return unchecked("a possessive quantifier (%s+) cannot be checked", text)
	}
	if strings.HasPrefix(t.in[t.at+n:], "?") {
		text, n = text+"?", n+1
	}
	t.put(text, n)
	return nil
}

var bounds = regexp.MustCompile(`^\{([0-9]{1,9})(,([0-9]{0,9}))?\}`)

const (
	// most is RE2's maximum number of repetitions.
	most = 1000
	// longest is the maximum length of a value in bytes, and so in characters: a higher bound means no bound.
	longest = 4096
)

// braces translates {n,m}. It writes the atom several times if RE2 does not support the number of repetitions.
func (t *translator) braces() error {
	m := bounds.FindStringSubmatch(t.in[t.at:])
	if m == nil || t.last < 0 {
		t.last = t.out.Len()
		t.put(`\{`, 1)
		return nil
	}
	least, _ := strconv.Atoi(m[1]) // digits, and few
	limit, open := least, m[2] != "" && m[3] == ""
	if m[3] != "" {
		limit, _ = strconv.Atoi(m[3])
	}
	if limit < least && !open {
		return fmt.Errorf("%s ends before it begins", m[0])
	}
	if limit > longest {
		limit, open = longest, true
	}
	if least > longest { // no valid value is so long
		least = longest + 1
	}
	if least <= most && limit <= most {
		return t.quantifier(m[0], len(m[0]))
	}
	rest := t.in[t.at+len(m[0]):]
	switch {
	case strings.HasPrefix(rest, "+"):
		return unchecked("a possessive quantifier (%s+) cannot be checked", m[0])
	case strings.HasPrefix(rest, "?"): // it makes no difference to the match of a whole text
		t.at++
	}
	whole := t.out.String()
	atom := whole[t.last:]
	t.out.Reset()
	t.out.WriteString(whole[:t.last] + "(?:")
	for n := least; n > 0; n -= most {
		fmt.Fprintf(&t.out, "%s{%d}", atom, min(n, most))
	}
	if open {
		t.out.WriteString(atom + "*")
	} else {
		for n := limit - least; n > 0; n -= most {
			fmt.Fprintf(&t.out, "%s{0,%d}", atom, min(n, most))
		}
	}
	t.put(")", len(m[0]))
	return nil
}
