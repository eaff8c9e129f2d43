package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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

// wheel returns a wheel that installs the program as a script, and its file name. ok is false for a platform without
// a tag.
func (r *release) wheel(t target, program string, text []byte, documents []entry) (name string, wheel []byte, ok bool, err error) {
	tags, ok := wheelTags[t]
	if !ok {
		return "", nil, false, nil
	}
	version := pythonVersion(r.version)
	base := r.name + "-" + version
	info := base + ".dist-info/"
	var readme, licenses string
	files := []entry{{base + ".data/scripts/" + program, text, true}}
	for _, d := range documents {
		switch d.name {
		case "README.md":
			readme = string(d.text)
		case "LICENSE", "NOTICE", licensesName:
			files = append(files, entry{info + "licenses/" + d.name, d.text, false})
			licenses += "License-File: " + d.name + "\n"
		}
	}
	about := fmt.Sprintf("Summary: %s\nLicense-Expression: Apache-2.0\n%sRequires-Python: >=3.8\n", summary, licenses)
	wheel, err = r.wheelOf(r.name, base, about, readme, tags, files)
	return wheelName(base, tags), wheel, true, err
}

// plugin returns the wheel of the pytest plugin, which runs the program but does not contain it. ok is false if the
// source has no plugin.
func (r *release) plugin(documents []entry) (name string, wheel []byte, ok bool, err error) {
	const module = "pytest_pintle"
	dir := filepath.Join(r.source, "integrations", "pytest")
	code, err := os.ReadFile(filepath.Join(dir, module+".py"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, false, nil
	}
	readme, errReadme := os.ReadFile(filepath.Join(dir, "README.md"))
	if err := errors.Join(err, errReadme); err != nil {
		return "", nil, false, err
	}
	version := pythonVersion(r.version)
	base := module + "-" + version
	info := base + ".dist-info/"
	files := []entry{{module + ".py", code, false}, {info + "entry_points.txt", []byte("[pytest11]\npintle = " + module + "\n"), false}}
	for _, d := range documents {
		if d.name == "LICENSE" {
			files = append(files, entry{info + "licenses/LICENSE", d.text, false})
		}
	}
	about := "Summary: Tests of custom resources in pytest\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.9\n" +
		"Requires-Dist: pytest>=7\nRequires-Dist: " + r.name + "==" + version + "\nClassifier: Framework :: Pytest\n"
	wheel, err = r.wheelOf("pytest-pintle", base, about, string(readme), []string{"any"}, files)
	return wheelName(base, []string{"any"}), wheel, true, err
}

// providerLibrary returns the wheel of the library for providers in Python, and its file name. It has no dependencies, not even the
// program: it runs on AWS Lambda. ok is false if the source has no such library.
func (r *release) providerLibrary(documents []entry) (name string, wheel []byte, ok bool, err error) {
	const module = "pintle_provider"
	dir := filepath.Join(r.source, "integrations", "python")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil, false, nil
	}
	var files []entry
	for _, file := range []string{"__init__.py", "py.typed"} {
		text, err := os.ReadFile(filepath.Join(dir, module, file))
		if err != nil {
			return "", nil, false, err
		}
		files = append(files, entry{module + "/" + file, text, false})
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return "", nil, false, err
	}
	base := module + "-" + pythonVersion(r.version)
	for _, d := range documents {
		if d.name == "LICENSE" {
			files = append(files, entry{base + ".dist-info/licenses/LICENSE", d.text, false})
		}
	}
	about := "Summary: Custom resources of CloudFormation in Python, with typed properties\nLicense-Expression: Apache-2.0\n" +
		"License-File: LICENSE\nRequires-Python: >=3.9\nClassifier: Typing :: Typed\n"
	wheel, err = r.wheelOf("pintle-provider", base, about, string(readme), []string{"any"}, files)
	return wheelName(base, []string{"any"}), wheel, true, err
}

func wheelName(base string, tags []string) string {
	return fmt.Sprintf("%s-py3-none-%s.whl", base, strings.Join(tags, "."))
}

// wheelOf packs a wheel with its files and metadata. base is the name and version as in the file name. Source:
// packaging.python.org, binary distribution format.
func (r *release) wheelOf(name, base, about, readme string, tags []string, files []entry) ([]byte, error) {
	info := base + ".dist-info/"
	metadata := fmt.Sprintf("Metadata-Version: 2.4\nName: %s\nVersion: %s\n%sProject-URL: Source, %s\nDescription-Content-Type: text/markdown\n\n%s",
		name, pythonVersion(r.version), about, repository, readme)
	var kind strings.Builder
	fmt.Fprintf(&kind, "Wheel-Version: 1.0\nGenerator: %s release\nRoot-Is-Purelib: %t\n", r.name, tags[0] == "any")
	for _, tag := range tags {
		fmt.Fprintf(&kind, "Tag: py3-none-%s\n", tag)
	}
	files = append(files, entry{info + "METADATA", []byte(metadata), false}, entry{info + "WHEEL", []byte(kind.String()), false})
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.text)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.text))
	}
	record.WriteString(path.Join(info, "RECORD") + ",,\n")
	files = append(files, entry{info + "RECORD", []byte(record.String()), false})
	var out bytes.Buffer
	err := r.zip(&out, files)
	return out.Bytes(), err
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
