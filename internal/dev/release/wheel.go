package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
)

// wheelTags are the platform tags of Python wheels. The programs are static, so one for Linux runs with every C
// library. Go needs macOS 12. Source: packaging.python.org, platform compatibility tags;
// go.dev/wiki/MinimumRequirements.
var wheelTags = map[target][]string{
	{"linux", "amd64"}:   {"manylinux_2_17_x86_64", "musllinux_1_1_x86_64"},
	{"linux", "arm64"}:   {"manylinux_2_17_aarch64", "musllinux_1_1_aarch64"},
	{"darwin", "amd64"}:  {"macosx_12_0_x86_64"},
	{"darwin", "arm64"}:  {"macosx_12_0_arm64"},
	{"windows", "amd64"}: {"win_amd64"},
	{"windows", "arm64"}: {"win_arm64"},
}

// wheelMetadata describes a wheel.
type wheelMetadata struct {
	name    string // such as pytest-pintle
	summary string
	fields  string   // more lines of METADATA
	readme  []byte   // Markdown
	tags    []string // platforms
}

// wheel returns a wheel that installs the program as a script, and its file name. ok is false for a platform without
// a tag.
func (r *release) wheel(t target, program string, text []byte, documents []entry) (name string, wheel []byte, ok bool, err error) {
	tags, ok := wheelTags[t]
	if !ok {
		return "", nil, false, nil
	}
	about := wheelMetadata{name: r.name, summary: summary, fields: "Requires-Python: >=3.8\n", tags: tags}
	for _, readme := range named(documents, "README.md") {
		about.readme = readme.text
	}
	files := []entry{{r.wheelBase(r.name) + ".data/scripts/" + program, text, true}}
	name, wheel, err = r.wheelOf(about, files, named(documents, "LICENSE", "NOTICE", licensesName))
	return name, wheel, true, err
}

// plugin returns the wheel of the pytest plugin, which runs the program but does not contain it. ok is false if the
// source has no plugin.
func (r *release) plugin(documents []entry) (name string, wheel []byte, ok bool, err error) {
	files, err := r.integration("pytest", "pytest_pintle.py", "README.md")
	if err != nil || len(files) == 0 {
		return "", nil, false, err
	}
	code, readme := files[0], files[1]
	about := wheelMetadata{
		name: "pytest-pintle", summary: "Tests of custom resources in pytest", readme: readme.text, tags: []string{"any"},
		fields: "Requires-Python: >=3.9\nRequires-Dist: pytest>=7\nRequires-Dist: " + r.name + "==" + pythonVersion(r.version) +
			"\nClassifier: Framework :: Pytest\n",
	}
	points := entry{r.wheelBase(about.name) + ".dist-info/entry_points.txt", []byte("[pytest11]\npintle = pytest_pintle\n"), false}
	name, wheel, err = r.wheelOf(about, []entry{code, points}, named(documents, "LICENSE"))
	return name, wheel, true, err
}

// providerLibrary returns the wheel of the library for providers in Python, and its file name. It has no dependencies, not even the
// program: it runs on AWS Lambda. ok is false if the source has no such library.
func (r *release) providerLibrary(documents []entry) (name string, wheel []byte, ok bool, err error) {
	files, err := r.integration("python", "pintle_provider/__init__.py", "pintle_provider/py.typed", "README.md")
	if err != nil || len(files) == 0 {
		return "", nil, false, err
	}
	code, readme := files[:2], files[2]
	about := wheelMetadata{
		name: "pintle-provider", summary: "Custom resources of CloudFormation in Python, with typed properties", readme: readme.text,
		tags: []string{"any"}, fields: "Requires-Python: >=3.9\nClassifier: Typing :: Typed\n",
	}
	name, wheel, err = r.wheelOf(about, code, named(documents, "LICENSE"))
	return name, wheel, true, err
}

// wheelBase returns the name and version of a wheel as in its file name.
func (r *release) wheelBase(name string) string {
	return strings.ReplaceAll(name, "-", "_") + "-" + pythonVersion(r.version)
}

// wheelOf packs a wheel with its files, licenses and metadata, and returns its file name. Source: packaging.python.org,
// binary distribution format.
func (r *release) wheelOf(about wheelMetadata, files, licenses []entry) (name string, wheel []byte, err error) {
	base := r.wheelBase(about.name)
	info := base + ".dist-info/"
	var metadata strings.Builder
	fmt.Fprintf(&metadata, "Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nLicense-Expression: Apache-2.0\n",
		about.name, pythonVersion(r.version), about.summary)
	for _, license := range licenses {
		files = append(files, entry{info + "licenses/" + license.name, license.text, false})
		fmt.Fprintf(&metadata, "License-File: %s\n", license.name)
	}
	fmt.Fprintf(&metadata, "%sProject-URL: Source, %s\nDescription-Content-Type: text/markdown\n\n%s", about.fields, repository, about.readme)
	var kind strings.Builder
	fmt.Fprintf(&kind, "Wheel-Version: 1.0\nGenerator: %s release\nRoot-Is-Purelib: %t\n", r.name, about.tags[0] == "any")
	for _, tag := range about.tags {
		fmt.Fprintf(&kind, "Tag: py3-none-%s\n", tag)
	}
	files = append(files, entry{info + "METADATA", []byte(metadata.String()), false}, entry{info + "WHEEL", []byte(kind.String()), false})
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.text)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.text))
	}
	record.WriteString(info + "RECORD,,\n")
	files = append(files, entry{info + "RECORD", []byte(record.String()), false})
	var out bytes.Buffer
	err = r.zip(&out, files)
	return fmt.Sprintf("%s-py3-none-%s.whl", base, strings.Join(about.tags, ".")), out.Bytes(), err
}

// described matches the output of git describe: a tag, possibly of a pre-release, and for a later commit the distance
// and the commit.
var described = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?(?:-(\d+)-g([0-9a-f]+))?(-dirty)?$`)

// pythonVersion converts a version by PEP 440: v1.2.0-rc.1 is 1.2.0rc1, the third commit after v1.2.0 is
// 1.2.0.post3+gabc, and a commit without a tag is 0.0.0+gabc.
func pythonVersion(version string) string {
	parts := described.FindStringSubmatch(version)
	if parts == nil {
		return "0.0.0+g" + regexp.MustCompile(`[^0-9A-Za-z]+`).ReplaceAllString(version, ".")
	}
	text, local := parts[1], ""
	if parts[2] != "" {
		text += map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[parts[2]] + parts[3]
	}
	if parts[4] != "" {
		text += ".post" + parts[4]
		local = "g" + parts[5]
	}
	if parts[6] != "" {
		local = strings.TrimPrefix(local+".dirty", ".")
	}
	if local != "" {
		text += "+" + local
	}
	return text
}
