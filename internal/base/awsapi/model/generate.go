package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Generate creates a bundle from a directory of botocore's data. source identifies the data, such as "botocore
// 1.43.11".
func Generate(dir, source string) (Index, map[string][]byte, error) {
	index := Index{Source: source}
	files := map[string][]byte{}
	from, err := OpenOverlay(dir)
	if err != nil {
		return index, nil, err
	}
	partitions, err := os.ReadFile(filepath.Join(dir, "partitions.json"))
	if err != nil {
		return index, nil, err
	}
	if files["partitions.json"], err = trimPartitions(partitions); err != nil {
		return index, nil, fmt.Errorf("partitions.json: %w", err)
	}
	for _, e := range from.Entries() {
		s, err := from.Service(e)
		if err != nil {
			return index, nil, err
		}
		patch(e.Name, s)
		text, err := json.Marshal(Trim(s))
		if err != nil {
			return index, nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		files["services/"+e.Name+".json"] = text
		rules, err := from.Rules(e)
		if err != nil {
			return index, nil, err
		}
		if rules != nil {
			if rules, err = trimRules(rules); err != nil {
				return index, nil, fmt.Errorf("endpoint rules of %s: %w", e.Name, err)
			}
			sum := sha256.Sum256(rules)
			e.Rules = fmt.Sprintf("rules/%x.json", sum[:6])
			if other, ok := files[e.Rules]; ok && !bytes.Equal(other, rules) {
				return index, nil, fmt.Errorf("endpoint rules of %s: two sets have the name %s", e.Name, e.Rules)
			}
			files[e.Rules] = rules
		}
		index.Services = append(index.Services, e)
	}
	if len(index.Services) == 0 {
		return index, nil, fmt.Errorf("%s holds no service", dir)
	}
	return index, files, nil
}

// patch fixes differences between botocore's model and the model that other SDKs are generated from.
func patch(name string, s *Service) {
	if name != "route53" && name != "cloudfront" {
		return
	}
	for _, shape := range s.Shapes {
		for i, m := range shape.Members {
			if m.Name == "MaxItems" && s.Shapes[m.Shape].Type == "string" {
				shape.Members[i].Shape = "MaxItemsAsNumber" // only botocore has a string here
			}
		}
	}
	s.Shapes["MaxItemsAsNumber"] = &Shape{Type: "integer"}
}

// trimRules removes the documentation from a rule set and sorts its names.
func trimRules(text []byte) ([]byte, error) {
	var set any
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	return json.Marshal(withoutDocumentation(set))
}

func withoutDocumentation(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			if name == "documentation" {
				delete(v, name)
				continue
			}
			v[name] = withoutDocumentation(item)
		}
	case []any:
		for i := range v {
			v[i] = withoutDocumentation(v[i])
		}
	}
	return v
}

func trimPartitions(text []byte) ([]byte, error) {
	var p struct {
		Partitions []struct {
			ID      string              `json:"id"`
			Regex   string              `json:"regionRegex"`
			Regions map[string]struct{} `json:"regions"`
			Outputs map[string]any      `json:"outputs"`
		} `json:"partitions"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// Sum returns the checksum of the contents of a bundle, independent of compression. It is the SHA-256 of the name and
// the bytes of each file, sorted by name.
func Sum(index Index, files map[string][]byte) string {
	h := sha256.New()
	for _, e := range index.Services {
		fmt.Fprintf(h, "%s %s %s %s\n", e.Name, e.ServiceID, e.Version, e.Rules)
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		fmt.Fprintf(h, "%s %d\n", name, len(files[name]))
		h.Write(files[name]) // writing to a hash does not fail
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
