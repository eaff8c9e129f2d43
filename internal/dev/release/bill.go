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

// document is a bill of materials in the form of CycloneDX 1.6.
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

// bill is the bill of materials of a program: the modules that Go has noted in it, the standard library among them. The hashes are
// those of go.sum, in hex.
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
	// The same program has the same number.
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

// sumOf is the sum of a module as Go notes it, "h1:" and base64, in hex; empty if there is none.
func sumOf(module *debug.Module) string {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:"))
	if err != nil {
		return ""
	}
	return hex.EncodeToString(sum)
}
