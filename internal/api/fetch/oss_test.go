package fetch_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/fetch"
)

// TestOSS checks that templates are read from the local OSS only.
func TestOSS(t *testing.T) {
	texts := map[string]string{
		"oss://shop/t.yaml": "Resources: {}", "oss://shop/t.yaml?RegionId=cn-beijing": "beijing", "oss://shop/long": strings.Repeat("x", fetch.MaxBytes+1),
	}
	f := fetch.New(fetch.Config{Objects: func(_ context.Context, address string) (io.ReadCloser, bool, error) {
		text, ok := texts[address]
		switch {
		case ok:
			return io.NopCloser(strings.NewReader(text)), true, nil
		case strings.HasPrefix(address, "oss://shop/"):
			return nil, true, fs.ErrNotExist
		}
		return nil, false, nil
	}})
	for address, want := range map[string]string{
		"oss://shop/t.yaml": "Resources: {}", "oss://shop/t.yaml?RegionId=cn-beijing": "beijing",
		"oss://shop/none": "TemplateURL: there is no object oss://shop/none",
		"oss://else/none": "TemplateURL: there is no OSS bucket else of the caller on this server, and no other OSS is read",
		"oss://shop/long": fmt.Sprintf("Template may not exceed %d bytes in size.", fetch.MaxBytes),
		"oss://u:p@shop/": "TemplateURL must be a supported URL.",
	} {
		got, err := f.Template(t.Context(), address)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %.120s, want %s", address, got, want)
		}
	}
	if _, err := fetch.New(fetch.Config{}).Template(t.Context(), "oss://shop/t.yaml"); err == nil {
		t.Error("a server without OSS reads it")
	}
}
