package bucketdeployment

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// workDir stands for the directory that the CDK's handler syncs from: patterns of filters apply to whole paths.
const workDir = "/tmp/tmpdeploy/contents"

// filter selects the files that `aws s3 sync` considers.
type filter struct{ rules []rule }

type rule struct {
	local, remote *regexp.Regexp
	include       bool
}

// newFilter makes the filter of a destination. The includes come after all excludes, and the last match counts.
func newFilter(exclude, include []string, bucket, prefix string) filter {
	var f filter
	add := func(patterns []string, include bool) {
		for _, pattern := range patterns {
			local, remote := workDir+"/"+pattern, strings.TrimSuffix(bucket+"/"+prefix, "/")+"/"+pattern
			if strings.HasPrefix(pattern, "/") { // like os.path.join
				local, remote = pattern, pattern
			}
			f.rules = append(f.rules, rule{local: glob(local), remote: glob(remote), include: include})
		}
	}
	add(exclude, false)
	add(include, true)
	return f
}

// has reports whether the filter selects a path: one below workDir, or BUCKET/KEY.
func (f filter) has(path string) bool {
	in := true
	for _, r := range f.rules {
		if r.local.MatchString(path) || r.remote.MatchString(path) {
			in = r.include
		}
	}
	return in
}

// glob translates a pattern of Python's fnmatch, whose * matches slashes too.
func glob(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); {
		c, size := utf8.DecodeRuneInString(pattern[i:])
		switch c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		case '[':
			if class, length := class(pattern[i:]); length > 0 {
				b.WriteString(class)
				size = length
			} else {
				b.WriteString(`\[`)
			}
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+size]))
		}
		i += size
	}
	b.WriteString(`\z`)
	r, err := regexp.Compile(b.String())
	if err != nil { // not UTF-8
		return regexp.MustCompile(`\A` + regexp.QuoteMeta(strings.ToValidUTF8(pattern, "?")) + `\z`)
	}
	return r
}

// never matches no character, and always matches every character.
const never, always = `[^\x00-\x{10FFFF}]`, `.`

// class translates a bracket expression and returns its length in bytes, or 0 if it isn't closed.
func class(pattern string) (string, int) {
	start := 1
	if strings.HasPrefix(pattern[start:], "!") {
		start++
	}
	first := start
	if strings.HasPrefix(pattern[first:], "]") {
		first++
	}
	end := strings.IndexByte(pattern[first:], ']')
	if end < 0 {
		return "", 0
	}
	end += first
	negative := start == 2
	set := []rune(pattern[start:end])
	var b strings.Builder
	quote := func(r rune) string {
		if strings.ContainsRune(`\]^-[&~|`, r) {
			return `\` + string(r)
		}
		return string(r)
	}
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= set[i+2] {
				b.WriteString(quote(set[i]) + "-" + quote(set[i+2]))
			}
			i += 2
			continue
		}
		b.WriteString(quote(set[i]))
	}
	switch {
	case b.Len() == 0 && negative:
		return always, end + 1
	case b.Len() == 0:
		return never, end + 1
	case negative:
		return "[^" + b.String() + "]", end + 1
	}
	return "[" + b.String() + "]", end + 1
}
