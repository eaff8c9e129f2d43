// Command release builds a release without a network or a service: archives, pip wheels and npm packages for each
// platform, bills of materials, and checksums. An archive has the program, its completions and its manual pages. The
// wheels and packages have the same program. The result depends only on the commit and the version of Go, so anyone
// who builds the same commit gets the same bytes and can compare them.
//
//	go run ./internal/dev/release -version v0.1.0 -out dist
//
// goreleaser (.goreleaser.yaml) makes the published releases, with the same programs in them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"
)

// platforms are the default platforms of a release.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	r := release{name: "pintle", source: ".", command: "./cmd/pintle"}
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	flags.StringVar(&r.version, "version", "", "the `version`, such as v0.1.0 (default: the output of git describe)")
	flags.StringVar(&r.out, "out", "dist", "the `directory` to write to, created if it does not exist")
	targets := flags.String("targets", platforms, "the platforms, `os/arch` with commas between")
	twice := flags.Bool("twice", false, "build the first target once more, from a copy of the source elsewhere, and compare")
	licenses := flags.Bool("licenses", false, "print the licenses of everything that is linked into the program, and build nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	for text := range strings.SplitSeq(*targets, ",") {
		t, err := parseTarget(text)
		if err != nil {
			return err
		}
		r.targets = append(r.targets, t)
	}
	if *licenses {
		text, err := r.licenses(ctx)
		if err == nil {
			_, err = os.Stdout.Write(text)
		}
		return err
	}
	if r.version != "" && !described.MatchString(r.version) {
		return fmt.Errorf("-version %s: want a version such as v0.1.0 or v0.1.0-rc.1", r.version)
	}
	if err := r.fromGit(ctx); err != nil {
		return err
	}
	files, err := r.build(ctx)
	if err != nil {
		return err
	}
	for _, file := range files {
		fmt.Printf("%x  %s  %.1f MB\n", file.sum, file.name, float64(file.size)/1e6)
	}
	if *twice {
		return r.compare(ctx)
	}
	return nil
}

// fromGit sets the fields that come from the commit.
func (r *release) fromGit(ctx context.Context) error {
	describe := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = r.source
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", args[0], err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	var err error
	if r.version == "" {
		if r.version, err = describe("describe", "--tags", "--always", "--dirty"); err != nil {
			return err
		}
	}
	if r.commit, err = describe("rev-parse", "HEAD"); err != nil {
		return err
	}
	changes, err := describe("status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" { // the commit alone does not reproduce the build
		r.commit += "-dirty"
	}
	date, err := describe("show", "--no-patch", "--format=%cI", "HEAD")
	if err != nil {
		return err
	}
	if r.date, err = time.Parse(time.RFC3339, date); err != nil {
		return fmt.Errorf("date of the commit: %w", err)
	}
	r.date = r.date.UTC()
	return nil
}
