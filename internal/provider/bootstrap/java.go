package bootstrap

import (
	"archive/zip"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

const (
	// javaClass is the class of AWS's runtime interface client that a Java process runs.
	javaClass = "com.amazonaws.services.lambda.runtime.api.client.AWSLambda"
	// javaNative is the property with the path of the client's native library. Without it, the client unpacks the
	// library into a fixed file in /tmp, and processes that start at the same time overwrite it.
	javaNative = "com.amazonaws.services.lambda.runtime.api.client.runtimeapi.NativeClient.JNI"

	clientGroup    = "com.amazonaws"
	clientArtifact = "aws-lambda-java-runtime-interface-client"
	clientVersion  = "2.10.1" // the version that an error names
)

// Limits of the files that are read, in bytes.
const (
	maxPOM    = 1 << 20
	maxNative = 16 << 20
)

// ErrNoJavaClient means that AWS's runtime interface client for Java was not found.
var ErrNoJavaClient = errors.New("no runtime interface client")

// JavaRuntime reports whether a Lambda runtime identifier is for Java, such as java21 or java8.al2.
func JavaRuntime(runtime string) bool {
	version, ok := strings.CutPrefix(runtime, "java")
	return ok && version != "" && version[0] >= '0' && version[0] <= '9'
}

// Java runs a handler in Java. It needs a Java virtual machine and AWS's runtime interface client, which is not part of
// Pintle.
type Java struct {
	// Code is the class path of the handler: directories and jars, absolute.
	Code []string
	// Repository is Maven's local repository, where the client is found if Code does not have it. It may be empty.
	Repository string
	// Path is the path of java. CacheDir is the directory where the client's native library is unpacked.
	Path, CacheDir string
}

// JavaPath returns the path of java: the one on PATH, else the one in home, which is a JAVA_HOME and may be empty. The
// error is [ErrNoInterpreter].
func JavaPath(home string) (string, error) {
	name, err := exec.LookPath("java")
	if err != nil && home != "" {
		name, err = exec.LookPath(filepath.Join(home, "bin", "java"))
	}
	if err == nil {
		name, err = filepath.Abs(name)
	}
	if err != nil {
		return "", fmt.Errorf("%w: a Java handler needs java, which is not on PATH: install a Java runtime", ErrNoInterpreter)
	}
	return name, nil
}

// Args returns the command that runs a handler, named PACKAGE.CLASS or PACKAGE.CLASS::METHOD. The first element is the
// program. As on Lambda, the class path begins with the client. The error is [ErrNoJavaClient] if neither the code nor
// the repository has the client.
func (j Java) Args(handler string) ([]string, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("Java handlers run on Linux only: AWS's runtime interface client for Java has no native library for " +
			"other systems")
	}
	client, err := j.client()
	if err != nil {
		return nil, err
	}
	all := slices.Concat(client, j.Code)
	args := []string{j.Path, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"} // as on Lambda: they shorten the start
	library, err := j.native(all)
	if err != nil {
		return nil, err
	}
	if library != "" {
		args = append(args, "-D"+javaNative+"="+library)
	}
	return append(args, "-cp", strings.Join(all, string(filepath.ListSeparator)), javaClass, handler), nil
}

// client returns the jars of the client, or none if the code includes it.
func (j Java) client() ([]string, error) {
	class := strings.ReplaceAll(javaClass, ".", "/") + ".class"
	for _, entry := range j.Code {
		if found, err := HasEntry(entry, class); err != nil || found {
			return nil, err
		}
	}
	if j.Repository != "" {
		for _, version := range versions(filepath.Join(j.Repository, filepath.FromSlash(clientFolder()))) {
			if jars, ok := j.jars(version); ok {
				return jars, nil
			}
		}
	}
	where := "in the handler's code"
	if j.Repository != "" {
		where = "neither " + where + " nor in " + j.Repository
	} else {
		where = "not " + where
	}
	return nil, fmt.Errorf(`%w: a Java handler needs AWS's runtime interface client for Java, which is %s: run "mvn dependency:get `+
		`-Dartifact=%s:%s:%s", or add that dependency to the handler`, ErrNoJavaClient, where, clientGroup, clientArtifact, clientVersion)
}

func clientFolder() string { return strings.ReplaceAll(clientGroup, ".", "/") + "/" + clientArtifact }

// versions returns the releases in a directory of the repository, the newest first.
func versions(folder string) []string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // no such directory
	}
	var list []string
	for _, entry := range entries {
		if numbers(entry.Name()) != nil {
			list = append(list, entry.Name())
		}
	}
	slices.SortFunc(list, func(a, b string) int { return slices.Compare(numbers(b), numbers(a)) })
	return list
}

// numbers returns the numbers of a version such as 2.10.1, or nil if the version has another form.
func numbers(version string) []int {
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil
		}
		list = append(list, n)
	}
	return list
}

// project is the content of an artifact's .pom file.
type project struct {
	Dependencies []artifact `xml:"dependencies>dependency"`
}

type artifact struct {
	Group    string `xml:"groupId"`
	Name     string `xml:"artifactId"`
	Version  string `xml:"version"`
	Scope    string `xml:"scope"`
	Optional string `xml:"optional"`
}

// file returns the path of the artifact's file with an extension, below a repository.
func (a artifact) file(repository, extension string) string {
	name := strings.ReplaceAll(a.Group, ".", "/") + "/" + a.Name + "/" + a.Version + "/" + a.Name + "-" + a.Version + "." + extension
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return ""
	}
	return filepath.Join(repository, filepath.FromSlash(name))
}

// jars returns the jars of a version of the client and of its dependencies. It returns false if one is missing.
// Transitive dependencies contain only annotations, and Java runs without them.
func (j Java) jars(version string) ([]string, bool) {
	client := artifact{Group: clientGroup, Name: clientArtifact, Version: version}
	text, err := readBounded(client.file(j.Repository, "pom"), maxPOM)
	if err != nil {
		return nil, false
	}
	var described project
	if xml.Unmarshal(text, &described) != nil {
		return nil, false
	}
	var list []string
	for _, a := range append([]artifact{client}, described.Dependencies...) {
		if scope := cmp.Or(a.Scope, "compile"); scope != "compile" && scope != "runtime" || a.Optional == "true" {
			continue
		}
		jar := a.file(j.Repository, "jar")
		if info, err := os.Stat(jar); err != nil || !info.Mode().IsRegular() {
			return nil, false
		}
		list = append(list, jar)
	}
	return list, true
}

// native returns the client's unpacked library for this machine, or "" if the class path has none.
func (j Java) native(classPath []string) (string, error) {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch_64"}[runtime.GOARCH]
	system := "linux"
	if musl, _ := filepath.Glob("/lib/ld-musl-*"); len(musl) > 0 { // Glob fails only on a bad pattern
		system = "linux_musl"
	}
	name := "libaws-lambda-jni." + system + "-" + machine + ".so"
	for _, entry := range classPath {
		text, err := readEntry(entry, "jni/"+name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("unpack the native library of AWS's runtime interface client: %w", err)
		}
		files := map[string][]byte{name: text}
		folder, err := keep(j.CacheDir, "java", files)
		if err != nil {
			return "", fmt.Errorf("unpack the native library of AWS's runtime interface client: %w", err)
		}
		return filepath.Join(folder, name), nil
	}
	return "", nil
}

// HasEntry reports whether a directory or jar of a class path contains a file. It returns false if the directory or jar
// does not exist.
func HasEntry(entry, name string) (bool, error) {
	found := false
	err := open(entry, name, func(io.Reader) error {
		found = true
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, zip.ErrFormat) { // java ignores such an entry
		return false, nil
	}
	return found, err
}

// readEntry returns the contents of a file in a directory or jar of a class path.
func readEntry(entry, name string) (text []byte, err error) {
	err = open(entry, name, func(r io.Reader) (err error) {
		text, err = bounded(r, maxNative)
		return err
	})
	if errors.Is(err, zip.ErrFormat) {
		err = fs.ErrNotExist
	}
	return text, err
}

// open calls read with the contents of a file in a directory or jar. The error wraps fs.ErrNotExist if the file does
// not exist.
func open(entry, name string, read func(io.Reader) error) error {
	info, err := os.Stat(entry)
	if err != nil {
		return err
	}
	tree := os.DirFS(entry)
	if !info.IsDir() {
		archive, err := zip.OpenReader(entry)
		if err != nil {
			return err
		}
		defer archive.Close()
		tree = archive
	}
	file, err := tree.Open(path.Clean(name))
	if err != nil {
		return err
	}
	defer file.Close()
	return read(file)
}

func readBounded(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return bounded(file, limit)
}

func bounded(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("the file has more than %d bytes", limit)
	}
	return text, err
}
