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

// AuthorityFile is the variable with the path of a file that contains only the endpoint's authority. It is for
// clients that take such a file as an option, and for the programs of package bootstrap.
const AuthorityFile = "PINTLE_CA_FILE"

// maxBundle limits how many bytes of a certificate file are read. Debian's bundle has 220 KB.
const maxBundle = 16 << 20

// bundles are the paths where systems keep their trusted certificates in PEM.
func bundles() []string {
	return []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
	}
}

// source identifies the state of a file from which certificates were read. The zero source means no file.
type source struct {
	use  string // the format of the combined file: pem or p12
	path string
	size int64
	time time.Time
}

// Trust adds variables to the environment of a child process so that it trusts the endpoint, in addition to the
// certificates that env or else the system makes it trust. Call it with the complete environment, just before the
// process starts.
//
// Set program for a program in any language, and leave it unset for a Python or Node.js handler that runs under
// package bootstrap. For programs, Trust also sets up Java, and the endpoint tries to listen on port 443.
//
//	NODE_EXTRA_CA_CERTS, DENO_CERT  Node.js, Bun and Deno
//	SSL_CERT_FILE                   OpenSSL, and with it Python, Ruby and curl; .NET and Go on Linux
//	REQUESTS_CA_BUNDLE              Python's requests. Unset if neither env nor the system has a bundle
//	CURL_CA_BUNDLE                  only if env has it, because it comes before SSL_CERT_FILE
//	JAVA_TOOL_OPTIONS               Java, for programs
//	PINTLE_CA_FILE                  the endpoint's authority alone
//
// Trust does not change a variable whose value is a directory, because OpenSSL's tools would have to create links in
// it.
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
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT"} { // the runtime adds these to its own certificates
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
	// Requests has its own certificates, so it must not be limited to the endpoint's.
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

// combined returns a file with the certificates of path and the endpoint's authority. If path is not a readable file,
// the file contains only the authority. It is written on first use, and again when path has changed. The caller holds
// mu.
func (d *Endpoint) combined(path string) (string, error) {
	return d.derived("pem", path, func(text []byte) ([]byte, error) {
		if text = bytes.TrimRight(text, "\n"); len(text) > 0 {
			text = append(text, '\n')
		}
		return append(text, d.ca...), nil
	})
}

// derived returns a file that make creates from the contents of path; see combined.
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

// isFile reports whether path is a regular file.
func isFile(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// firstFile returns the first path that is a regular file, or "".
func firstFile(paths []string) string {
	for _, path := range paths {
		if isFile(path) {
			return path
		}
	}
	return ""
}
