// Command gen makes the bundle of models from a directory of botocore's data:
//
//	go run ./awscall/internal/gen -botocore DIR -out internal/base/awsapi/model/bundle
//
// DIR is the directory "data" of an installed botocore, or its parent directory "botocore". The latter also provides the
// licence and the version.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
)

func main() {
	botocore := flag.String("botocore", "", "folder of botocore, or of its data")
	out := flag.String("out", "internal/base/awsapi/model/bundle", "folder to write to")
	flag.Parse()
	if err := run(*botocore, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(botocore, out string) error {
	if botocore == "" {
		return errors.New("name the folder of botocore with -botocore; python3 -c 'import botocore; print(botocore.__path__[0])' prints its path")
	}
	if filepath.Base(botocore) == "data" {
		botocore = filepath.Dir(botocore)
	}
	source, err := version(botocore)
	if err != nil {
		return err
	}
	index, files, err := model.Generate(filepath.Join(botocore, "data"), source)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := model.Write(&packed, index, files); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	operations := 0
	for _, e := range index.Services {
		s, err := model.Parse(files["services/"+e.Name+".json"])
		if err != nil {
			return fmt.Errorf("%s, trimmed: %w", e.Name, err)
		}
		operations += len(s.Operations)
	}
	note := fmt.Sprintf("source %s\nservices %d\noperations %d\ncontents sha256 %s\nmodels.zip sha256 %x\n",
		source, len(index.Services), operations, model.Sum(index, files), sha256.Sum256(packed.Bytes()))
	for name, text := range map[string][]byte{"models.zip": packed.Bytes(), "SOURCE": []byte(note)} {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil { //nolint:gosec // files of the repository
			return err
		}
	}
	fmt.Printf("%s%d bytes\n", note, packed.Len())
	return licence(botocore, out)
}

// version reads the version from botocore's __init__.py.
func version(botocore string) (string, error) {
	text, err := os.ReadFile(filepath.Join(botocore, "__init__.py"))
	if err != nil {
		return "", err
	}
	match := regexp.MustCompile(`(?m)^__version__ = '([^']+)'`).FindSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("%s/__init__.py names no version", botocore)
	}
	return "botocore " + string(match[1]), nil
}

// licence copies the licence and the notice, which must accompany data derived from botocore.
func licence(botocore, out string) error {
	for _, name := range []string{"LICENSE.txt", "NOTICE"} {
		found, err := filepath.Glob(filepath.Join(filepath.Dir(botocore), "botocore-*.dist-info", name))
		if err != nil {
			return err
		}
		nested, err := filepath.Glob(filepath.Join(filepath.Dir(botocore), "botocore-*.dist-info", "licenses", name))
		if err != nil {
			return err
		}
		found = append(append(found, nested...), filepath.Join(filepath.Dir(botocore), name)) // the last one is for a checkout
		text, err := os.ReadFile(found[0])
		if err != nil {
			return fmt.Errorf("botocore's %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil { //nolint:gosec // files of the repository
			return err
		}
	}
	return nil
}
