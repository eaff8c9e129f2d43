package bootstrap_test

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// repository is a local Maven repository for tests.
type repository struct {
	t   *testing.T
	dir string
}

func (r repository) put(path, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// client adds a version of the client to the repository, without its dependencies.
func (r repository) client(version, dependencies string) {
	folder := "com/amazonaws/aws-lambda-java-runtime-interface-client/" + version + "/aws-lambda-java-runtime-interface-client-" + version
	r.put(folder+".jar", "no archive")
	r.put(folder+".pom", "<project xmlns='http://maven.apache.org/POM/4.0.0'><dependencies>"+dependencies+"</dependencies></project>")
}

func dependency(group, name, version, more string) string {
	return "<dependency><groupId>" + group + "</groupId><artifactId>" + name + "</artifactId><version>" + version + "</version>" + more + "</dependency>"
}

// TestJavaClientOfRepository checks that the newest client with all its dependencies is used.
func TestJavaClientOfRepository(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the client runs on Linux")
	}
	r := repository{t, t.TempDir()}
	run := bootstrap.Java{Path: "/bin/java", Code: []string{"/code"}, Repository: r.dir, CacheDir: t.TempDir()}
	if _, err := run.Args("a.B"); !errors.Is(err, bootstrap.ErrNoJavaClient) {
		t.Errorf("an empty repository: %v", err)
	}
	core := dependency("com.amazonaws", "aws-lambda-java-core", "1.2.0", "")
	r.client("2.9.0", core+dependency("org.junit", "junit", "5", "<scope>test</scope>")+dependency("x", "y", "1", "<optional>true</optional>"))
	r.client("2.10.1", dependency("com.amazonaws", "aws-lambda-java-core", "1.4.0", ""))
	r.client("2.10.2-SNAPSHOT", "")
	r.client("2.11.0", dependency("..", "..", "${version}", ""))
	r.put("com/amazonaws/aws-lambda-java-core/1.2.0/aws-lambda-java-core-1.2.0.jar", "")
	args, err := run.Args("a.B")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.Index(args, "-cp")
	got := strings.ReplaceAll(strings.Join(args[i+1:], " "), r.dir+"/com/amazonaws/", "")
	want := "aws-lambda-java-runtime-interface-client/2.9.0/aws-lambda-java-runtime-interface-client-2.9.0.jar:" +
		"aws-lambda-java-core/1.2.0/aws-lambda-java-core-1.2.0.jar:/code com.amazonaws.services.lambda.runtime.api.client.AWSLambda a.B"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestJavaClientOfCode checks that a client in the handler's code takes precedence over the repository's, and that its
// native library is unpacked once.
func TestJavaClientOfCode(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the client runs on Linux")
	}
	dir := t.TempDir()
	jar := filepath.Join(dir, "all.jar")
	file, err := os.Create(jar)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	names := []string{"com/amazonaws/services/lambda/runtime/api/client/AWSLambda.class"}
	for _, system := range []string{"linux", "linux_musl"} {
		for _, machine := range []string{"x86_64", "aarch_64"} {
			names = append(names, "jni/libaws-lambda-jni."+system+"-"+machine+".so")
		}
	}
	for _, name := range names {
		w, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	run := bootstrap.Java{Path: "/bin/java", Code: []string{jar}, Repository: "/none", CacheDir: filepath.Join(dir, "cache")}
	var first string
	for range 2 {
		args, err := run.Args("a.B::c")
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.Index(args, "-cp"); args[i+1] != jar {
			t.Errorf("the class path is %s, want %s", args[i+1], jar)
		}
		i := slices.IndexFunc(args, func(arg string) bool { return strings.Contains(arg, "NativeClient.JNI=") })
		if i < 0 {
			t.Fatalf("no library in %q", args)
		}
		_, library, _ := strings.Cut(args[i], "=")
		text, err := os.ReadFile(library)
		if err != nil || !slices.Contains(names, string(text)) || first != "" && library != first {
			t.Errorf("%s holds %q: %v", library, text, err)
		}
		first = library
	}
}
