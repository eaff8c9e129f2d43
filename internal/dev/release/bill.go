package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
)

// document is a bill of materials in CycloneDX 1.6 format.
type document struct {
	Schema       string      `json:"$schema"`
	Format       string      `json:"bomFormat"`
	SpecVersion  string      `json:"specVersion"`
	SerialNumber string      `json:"serialNumber"`
	Version      int         `json:"version"`
	Metadata     metadata    `json:"metadata"`
	Components   []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Ref     string `json:"bom-ref"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// bill returns the bill of materials of a program: the modules in its Go build information, including the standard
// library. The hashes are those of go.sum in hexadecimal.
func (r *release) bill(program string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	d := document{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{
			Timestamp: r.date.Format(time.RFC3339),
			Component: r.component("application", info.Main.Path, r.version, ""),
		},
		Components: []component{r.component("library", "std", strings.TrimPrefix(info.GoVersion, "go"), "")},
	}
	for _, module := range info.Deps {
		used := cmp.Or(module.Replace, module)
		d.Components = append(d.Components, r.component("library", used.Path, used.Version, sumOf(used)))
	}
	// Derive the serial number from the contents, so that it is deterministic.
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	platform := sha256.Sum256(append(text, info.String()...))
	d.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, platform[:]).String()
	text, err = json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}

func (r *release) component(kind, path, version, sum string) component {
	purl := "pkg:golang/" + path
	if version != "" {
		purl += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	c := component{Type: kind, Name: path, Version: version, PURL: purl, Ref: purl}
	if sum != "" {
		c.Hashes = []hash{{"SHA-256", sum}}
	}
	return c
}

// sumOf returns the hash of a module in hexadecimal, or "". Go records it as "h1:" and base64.
func sumOf(module *debug.Module) string {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:"))
	if err != nil {
		return ""
	}
	return hex.EncodeToString(sum)
}
