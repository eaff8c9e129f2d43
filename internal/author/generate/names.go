package generate

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// words splits a name: DBInstanceIDs is DB, Instance, IDs. Characters other than letters and digits separate words.
func words(name string) []string {
	var out []string
	word := ""
	end := func() {
		if word != "" {
			out = append(out, word)
		}
		word = ""
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if i > 0 && unicode.IsUpper(r) {
			last := i+1 == len(runes)
			if !unicode.IsUpper(runes[i-1]) || !last && unicode.IsLower(runes[i+1]) && !plural(runes[i+1:]) {
				end()
			}
		}
		word += string(r)
	}
	end()
	return out
}

// plural reports whether the text after an upper-case letter is the plural s of an acronym, as in URLs.
func plural(rest []rune) bool {
	return rest[0] == 's' && (len(rest) == 1 || !unicode.IsLower(rest[1]))
}

// capital returns a word with an upper-case first letter.
func capital(word string) string {
	runes := []rune(word)
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}

// identifier joins words. A name of no words, or with a first letter that no identifier of the form begins with, is put after x.
func identifier(words []string, separator, x string, begins func(rune) bool) string {
	out := strings.Join(words, separator)
	if out == "" || !begins([]rune(out)[0]) {
		return strings.TrimSuffix(x+separator+out, separator)
	}
	return out
}

// pascal returns a name in PascalCase. Acronyms keep their letters: DBName.
func pascal(name string) string {
	all := words(name)
	for i, word := range all {
		all[i] = capital(word)
	}
	return identifier(all, "", "X", unicode.IsUpper)
}

// camel returns a name in camelCase: dbName.
func camel(name string) string {
	all := words(name)
	for i, word := range all {
		if all[i] = capital(word); i == 0 {
			all[i] = strings.ToLower(word)
		}
	}
	return identifier(all, "", "x", unicode.IsLetter)
}

// snake returns a name in snake_case: db_name.
func snake(name string) string {
	all := words(name)
	for i, word := range all {
		all[i] = strings.ToLower(word)
	}
	return identifier(all, "_", "x", unicode.IsLetter)
}

// unique has the names that are taken.
type unique map[string]bool

// take returns the name, with a number if it is taken.
func (u unique) take(name string) string {
	out := name
	for n := 2; u[out]; n++ {
		out = name + strconv.Itoa(n)
	}
	u[out] = true
	return out
}

// fields gives properties their identifiers, none of which is reserved.
func (f Format) fields(properties []Property, name func(string) string, reserved []string) []field {
	taken := unique{}
	for _, word := range reserved {
		taken[word] = true
	}
	var out []field
	for _, p := range properties {
		id := name(p.Key)
		if slices.Contains(f.keywords, id) {
			id += "_"
		}
		out = append(out, field{p, taken.take(id)})
	}
	return out
}
