package fetch

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

const (
	sealedStart  = "data:application/gzip;name="
	sealedMiddle = ";base64,"
)

// Seal returns a URL that contains a template, for [Fetcher.Template]. Pintle's commands use it for templates that are files on
// their machine. Its form is data:application/gzip;name=NAME;base64,…, where name is for people, such as child.yaml. Equal arguments
// result in equal URLs, so that a nested stack changes only if its file does. CloudFormation does not accept such URLs.
func Seal(name, text string) string {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed) // without a time or a name, which would differ
	_, _ = io.WriteString(w, text)
	_ = w.Close() // to memory
	return sealedStart + url.QueryEscape(name) + sealedMiddle + base64.StdEncoding.EncodeToString(packed.Bytes())
}

var errSealed = errors.New("TemplateURL is a data URL that does not contain a complete template")

// Sealed reports whether a URL contains a template itself.
func Sealed(address string) bool { return strings.HasPrefix(address, sealedStart) }

// Open returns the template in a URL of [Seal]. The error is for a URL that is not complete, or whose template has more than
// [MaxBytes].
func Open(address string) (string, error) {
	_, content, ok := strings.Cut(strings.TrimPrefix(address, sealedStart), sealedMiddle)
	packed, err := base64.StdEncoding.DecodeString(content)
	if !ok || err != nil {
		return "", errSealed
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", errSealed
	}
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return "", errSealed
	case len(text) > MaxBytes:
		return "", errors.New(templateTooLong)
	}
	return string(text), nil
}

// templateTooLong is CloudFormation's message.
var templateTooLong = fmt.Sprintf("Template may not exceed %d bytes in size.", MaxBytes)
