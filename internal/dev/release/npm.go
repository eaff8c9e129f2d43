package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

//go:embed launcher.js
var launcher []byte

// npmNames are Node's names for platforms: process.platform and process.arch.
var npmNames = map[target][2]string{
	{"linux", "amd64"}:   {"linux", "x64"},
	{"linux", "arm64"}:   {"linux", "arm64"},
	{"darwin", "amd64"}:  {"darwin", "x64"},
	{"darwin", "arm64"}:  {"darwin", "arm64"},
	{"windows", "amd64"}: {"win32", "x64"},
	{"windows", "arm64"}: {"win32", "arm64"},
}

// npmPackage is the package.json of a package.
type npmPackage struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Repository   string            `json:"repository"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	Main         string            `json:"main,omitempty"`
	Types        string            `json:"types,omitempty"`
	Exports      any               `json:"exports,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged,omitempty"`
}

// npmExport is a file that a package exports, with its types. Compilers read the conditions in order.
type npmExport struct {
	Types   string `json:"types"`
	Default string `json:"default"`
}

// npmScope returns the scope of the packages with programs. Users install the main package, of which the package for
// the platform is an optional dependency.
func (r *release) npmScope() string { return "@" + r.name + "-dev/" }

// npm returns the package with the program for a platform, and its file name. ok is false if Node does not support
// the platform.
func (r *release) npm(t target, program string, text []byte, documents []entry) (name string, archive []byte, ok bool, err error) {
	names, ok := npmNames[t]
	if !ok {
		return "", nil, false, nil
	}
	about := r.npmPackage(r.npmScope() + names[0] + "-" + names[1])
	about.OS, about.CPU, about.PreferUnplug = names[:1], names[1:], true
	files := append([]entry{{"bin/" + program, text, true}}, named(documents, "LICENSE", "NOTICE", licensesName)...)
	archive, err = r.npmArchive(about, files)
	return npmFile(about), archive, true, err
}

// npmMain returns the package that users install, and its file name. It starts the program of the platform's package.
func (r *release) npmMain(documents []entry) (name string, archive []byte, err error) {
	about := r.npmPackage(r.name)
	about.Bin = map[string]string{r.name: "bin/" + r.name + ".js"}
	about.Engines = map[string]string{"node": ">=18"}
	about.Optional = map[string]string{}
	for _, names := range npmNames {
		about.Optional[r.npmScope()+names[0]+"-"+names[1]] = about.Version
	}
	script := bytes.ReplaceAll(bytes.ReplaceAll(launcher, []byte("SCOPE/"), []byte(r.npmScope())), []byte("PROGRAM"), []byte(r.name))
	files := append([]entry{{"bin/" + r.name + ".js", script, true}}, named(documents, "LICENSE", "NOTICE", "README.md")...)
	testing, err := r.integration("node/testing", "testing.js", "testing.d.ts")
	if err != nil {
		return "", nil, err
	}
	if len(testing) > 0 { // the module that starts a server for a test, with its types
		about.Exports = map[string]any{
			"./testing": npmExport{"./testing.d.ts", "./testing.js"}, "./package.json": "./package.json",
		}
	}
	for _, file := range testing {
		file.text = bytes.ReplaceAll(file.text, []byte("@pintle-dev/"), []byte(r.npmScope()))
		files = append(files, file)
	}
	archive, err = r.npmArchive(about, files)
	return npmFile(about), archive, err
}

// npmProvider returns the package with the library for providers, and its file name. It has no dependencies, not even the program: it
// runs on AWS Lambda. ok is false if the source has no such library.
func (r *release) npmProvider(documents []entry) (name string, archive []byte, ok bool, err error) {
	files, err := r.integration("node/provider", "package.json", "index.js", "index.d.ts", "README.md")
	if err != nil || len(files) == 0 {
		return "", nil, false, err
	}
	about := r.npmPackage(r.npmScope() + "provider")
	released := about
	if err := json.Unmarshal(files[0].text, &about); err != nil {
		return "", nil, false, fmt.Errorf("package.json: %w", err)
	}
	about.Name, about.Version = released.Name, released.Version
	archive, err = r.npmArchive(about, append(files[1:], named(documents, "LICENSE")...))
	return npmFile(about), archive, true, err
}

func (r *release) npmPackage(name string) npmPackage {
	return npmPackage{
		Name: name, Version: npmVersion(r.version), Description: summary, License: "Apache-2.0", Repository: "git+" + repository + ".git",
	}
}

// npmArchive packs a package as npm pack does: a tar with all files in the directory package.
func (r *release) npmArchive(about npmPackage, files []entry) ([]byte, error) {
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return nil, err
	}
	packed := []entry{{"package/package.json", append(text, '\n'), false}}
	for _, f := range files {
		packed = append(packed, entry{path.Join("package", f.name), f.text, f.program})
	}
	var out bytes.Buffer
	err = r.tar(&out, packed)
	return out.Bytes(), err
}

// npmFile returns the archive name that npm pack gives a package.
func npmFile(about npmPackage) string {
	return strings.ReplaceAll(strings.TrimPrefix(about.Name, "@"), "/", "-") + "-" + about.Version + ".tgz"
}

// npmVersion converts a version for npm. The output of git describe for a commit after a tag becomes a pre-release,
// which sorts before the tag. A commit without a tag becomes 0.0.0-gabc.
func npmVersion(version string) string {
	if described.MatchString(version) {
		return strings.TrimPrefix(version, "v")
	}
	return "0.0.0-g" + version
}
