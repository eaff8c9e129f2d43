//go:build unix

package main

import (
	"archive/zip"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// built is a build and its duration.
type built struct {
	function, program string // paths
	zip               int64  // bytes of the zipped function
	cold              []time.Duration
	again             time.Duration // with a filled cache
}

// build builds the function as its example does, and the program with all commands.
func build(ctx context.Context, root, tmp string, colds int) (*built, error) {
	b := &built{function: filepath.Join(tmp, "bootstrap"), program: filepath.Join(tmp, "pintle")}
	one := func(cache, out, pkg string, flags ...string) (time.Duration, error) {
		cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-trimpath", "-o", out}, flags...), pkg)...)
		cmd.Dir, cmd.Stderr = root, os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if cache != "" {
			cmd.Env = append(cmd.Env, "GOCACHE="+cache)
		}
		began := time.Now()
		err := cmd.Run()
		return time.Since(began), err
	}
	function := func(cache string) (time.Duration, error) {
		return one(cache, b.function, "./examples/awscustomresource", "-buildvcs=false", "-ldflags=-s -w")
	}
	for i := range colds {
		fmt.Fprintf(os.Stderr, "callcost: build %d of %d with an empty cache\n", i+1, colds)
		cache := filepath.Join(tmp, fmt.Sprint("cache-", i))
		took, err := function(cache)
		if err != nil {
			return nil, err
		}
		b.cold = append(b.cold, took)
		if err := os.RemoveAll(cache); err != nil {
			return nil, err
		}
	}
	if _, err := function(""); err != nil {
		return nil, err
	}
	if err := os.Remove(b.function); err != nil {
		return nil, err
	}
	var err error
	if b.again, err = function(""); err != nil {
		return nil, err
	}
	if _, err := one("", b.program, "./cmd/pintle"); err != nil {
		return nil, err
	}
	b.zip, err = packed(b.function)
	return b, err
}

// packed returns the size of a zip file with one file.
func packed(path string) (int64, error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	var n counter
	w := zip.NewWriter(&n)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, 6) })
	out, err := w.Create("bootstrap")
	if err != nil {
		return 0, err
	}
	if _, err := io.Copy(out, in); err != nil {
		return 0, err
	}
	err = w.Close()
	return int64(n), err
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// size returns the total size of the files in a directory for which keep returns true. A nil keep includes all files.
func size(dir string, keep func(path string) bool) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || keep != nil && !keep(path) {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return err
	})
	return total, err
}

func printSizes(ctx context.Context, b *built, cdk string) error {
	node, err := output(ctx, "node", "-p", "process.execPath")
	if err != nil {
		return err
	}
	version, err := output(ctx, node, "--version")
	if err != nil {
		return err
	}
	clients, err := filepath.Glob(filepath.Join(cdk, "node_modules/@aws-sdk/client-*"))
	if err != nil {
		return err
	}
	fmt.Print("| Size | MB |\n|---|---|\n")
	for _, row := range []struct {
		name, path string
		keep       func(string) bool
	}{
		{"the function, 424 services", b.function, nil},
		{"`pintle`, the same in it", b.program, nil},
		{"the CDK's handler", filepath.Join(cdk, "handler"), nil},
		{fmt.Sprintf("the packages that it loads for %d services", len(clients)), filepath.Join(cdk, "node_modules"), nil},
		{"of them for SSM", filepath.Join(cdk, "node_modules"), func(path string) bool {
			return !strings.Contains(path, "/@aws-sdk/client-") || strings.Contains(path, "/@aws-sdk/client-ssm/")
		}},
		{"Node " + version, node, nil},
	} {
		n, err := size(row.path, row.keep)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %.1f |\n", row.name, float64(n)/1e6)
		if row.path == b.function {
			fmt.Printf("| the same as a zip file | %.1f |\n", float64(b.zip)/1e6)
		}
	}
	fmt.Print("\n| Building the function | s |\n|---|---|\n")
	if len(b.cold) > 0 {
		fmt.Printf("| with an empty cache | %.0f |\n", median(b.cold).Seconds())
	}
	fmt.Printf("| once more | %.1f |\n", b.again.Seconds())
	return nil
}
