package aws_test

import (
	"archive/zip"
	"strings"
	"testing"
)

// archive returns a zip file with one file.
func archive(t *testing.T, name, text string) string {
	t.Helper()
	var b strings.Builder
	z := zip.NewWriter(&b)
	f, err := z.Create(name)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
