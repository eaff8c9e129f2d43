package loopbacktls

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// AuthorityFile is the variable that names a file with the endpoint's authority alone, for clients that take one as an option and
// for Pintle's own programs that run handlers.
const AuthorityFile = "PINTLE_CA_FILE"

// maxBundle bounds a file of certificates that is read, in bytes. The bundle of Debian has 220 KB.
const maxBundle = 16 << 20

// bundles are where systems keep the certificates that they trust, in PEM.
func bundles() []string {
	return []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
	}
}

// source is a file that certificates were read from, as it was then. The zero source is none.
type source struct {
	use  string // what the combined file is for: pem or p12
	path string
	size int64
	time time.Time
}

// Trust adds variables to the environment of a child process so that it trusts the endpoint in addition to what env, or else the
// system, makes it trust. Call it with the complete environment, just before the process starts. program says that the process
// is a program of any language, as opposed to a Python or Node.js handler under package bootstrap: Java is then provided for as
// well, and the endpoint tries to listen on port 443.
//
//	NODE_EXTRA_CA_CERTS, DENO_CERT  Node.js, Bun and Deno
//	SSL_CERT_FILE                   OpenSSL, and with it Python, Ruby and curl; .NET and Go on Linux
//	REQUESTS_CA_BUNDLE              Python's requests. Unset if neither env nor the system has a bundle
//	CURL_CA_BUNDLE                  only if env has it, because it comes before SSL_CERT_FILE
//	JAVA_TOOL_OPTIONS               Java, for programs
//	PINTLE_CA_FILE                  the endpoint's authority alone
//
// A variable whose value is a directory is left alone: OpenSSL's tools would have to make links in it.
func (d *Endpoint) Trust(env map[string]string, program bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if program {
		d.claimHTTPS()
		if err := d.trustJava(env); err != nil {
			return err
		}
	}
	own, err := d.combined("")
	if err != nil {
		return err
	}
	set := map[string]string{AuthorityFile: own}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT"} { // which are added to what the runtime has
		if set[name], err = d.combined(env[name]); err != nil {
			return err
		}
	}
	system := firstFile(bundles())
	if set["SSL_CERT_FILE"], err = d.combined(cmp.Or(firstFile([]string{env["SSL_CERT_FILE"]}), system)); err != nil {
		return err
	}
	curl := env["CURL_CA_BUNDLE"]
	if isFile(curl) {
		if set["CURL_CA_BUNDLE"], err = d.combined(curl); err != nil {
			return err
		}
	}
	// Requests has certificates of its own, so that it must not be left with the endpoint's alone.
	if bundle := cmp.Or(env["REQUESTS_CA_BUNDLE"], curl, system); isFile(bundle) {
		if set["REQUESTS_CA_BUNDLE"], err = d.combined(bundle); err != nil {
			return err
		}
	}
	for name, file := range set {
		env[name] = file
	}
	return nil
}

// combined returns a file that has the certificates of path and the endpoint's authority, or the authority alone if path is not a
// file that can be read. It is written when it is first needed, and again when path has changed. The caller holds mu.
func (d *Endpoint) combined(path string) (string, error) {
	return d.derived("pem", path, func(text []byte) ([]byte, error) {
		if text = bytes.TrimRight(text, "\n"); len(text) > 0 {
			text = append(text, '\n')
		}
		return append(text, d.ca...), nil
	})
}

// derived returns a file that make makes from the contents of path; see combined.
func (d *Endpoint) derived(use, path string, make func([]byte) ([]byte, error)) (string, error) {
	var text []byte
	from := source{use: use}
	if isFile(path) {
		if info, err := os.Stat(path); err == nil && info.Size() <= maxBundle {
			from = source{use: use, path: path, size: info.Size(), time: info.ModTime()}
		}
	}
	if made := d.made[from]; made != "" {
		return made, nil
	}
	if from.path != "" {
		read, err := os.ReadFile(path)
		if err != nil { // OpenSSL could not read it either
			return d.derived(use, "", make)
		}
		text = read
	}
	text, err := make(text)
	if err != nil {
		return "", err
	}
	d.listed++
	file := filepath.Join(d.dir, "trust-"+strconv.Itoa(d.listed)+"."+use)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", fmt.Errorf("write the certificates that providers trust: %w", err)
	}
	d.made[from] = file
	return file, nil
}

// isFile reports whether path names a regular file.
func isFile(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// firstFile returns the first of the paths that names a regular file; empty if none does.
func firstFile(paths []string) string {
	for _, path := range paths {
		if isFile(path) {
			return path
		}
	}
	return ""
}
