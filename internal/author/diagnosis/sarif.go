package diagnosis

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// The parts of a SARIF log that are written. Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool       `json:"tool"`
		ColumnKind string          `json:"columnKind"`
		Artifacts  []sarifArtifact `json:"artifacts"`
		Results    []sarifResult   `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string     `json:"id"`
		ShortDescription sarifText  `json:"shortDescription"`
		Help             *sarifText `json:"help,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifArtifact struct {
		Location sarifPlace `json:"location"`
	}
	sarifPlace struct {
		URI   string `json:"uri"`
		Index *int   `json:"index,omitempty"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     Level           `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifPlace   `json:"artifactLocation"`
		Region   *sarifRegion `json:"region,omitempty"`
	}
	sarifRegion struct {
		StartLine   int        `json:"startLine"`
		StartColumn int        `json:"startColumn,omitempty"`
		EndColumn   int        `json:"endColumn,omitempty"`
		Snippet     *sarifText `json:"snippet,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// Home is the URL of a page about the program.
const Home = "https://github.com/pintle-dev/pintle"

// SARIF returns the findings as a log in version 2.1.0 of the format. version is the version of the program. Names of files are
// written as relative URIs, or as file URIs if they are absolute.
func SARIF(version string, files []File) ([]byte, error) {
	rules := Rules()
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "pintle", Version: version, InformationURI: Home}},
		ColumnKind: "unicodeCodePoints", Artifacts: []sarifArtifact{}, Results: []sarifResult{},
	}
	for _, rule := range rules {
		listed := sarifRule{ID: rule.ID, ShortDescription: sarifText{rule.Title}}
		if rule.Remedy != "" {
			listed.Help = &sarifText{rule.Remedy}
		}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, listed)
	}
	for i, file := range files {
		uri := uriOf(file.Name)
		run.Artifacts = append(run.Artifacts, sarifArtifact{sarifPlace{URI: uri}})
		for _, p := range file.Problems {
			text := p.Message
			if p.Detail != "" {
				text += " (" + p.Detail + ")"
			}
			where := sarifLocation{Physical: sarifPhysical{Artifact: sarifPlace{URI: uri, Index: &i}, Region: file.region(p)}}
			if p.Path != "" {
				where.Logical = []sarifLogical{{p.Path}}
			}
			run.Results = append(run.Results, sarifResult{
				RuleID:    p.Rule.ID,
				RuleIndex: slices.IndexFunc(rules, func(r Rule) bool { return r.ID == p.Rule.ID }),
				Level:     p.Level, Message: sarifText{text}, Locations: []sarifLocation{where},
			})
		}
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
	return []byte(text.String()), err
}

// region is the place of a problem in its file, nil if it has none.
func (f *File) region(p Problem) *sarifRegion {
	if p.Line < 1 {
		return nil
	}
	region := &sarifRegion{StartLine: p.Line, StartColumn: p.Column}
	if shown, ok := f.Source.Excerpt(p.Line, p.Column); ok {
		region.Snippet = &sarifText{shown.Text}
		if p.Column > 0 && shown.Column == p.Column { // else it lies behind a mask
			region.EndColumn = shown.Column + shown.Length
		}
	}
	return region
}

func uriOf(name string) string {
	u := url.URL{Path: filepath.ToSlash(name)}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
	}
	return u.String()
}
