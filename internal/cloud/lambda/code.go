package lambda

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"golang.org/x/sync/singleflight"
)

// Limits of code. Source: Lambda quotas. Lambda documents no limit for the number of files.
const (
	maxUnpacked = 250 << 20
	maxFiles    = 100_000
	maxInline   = 4 << 20
)

const unreadable = "Could not unzip uploaded file. Please check your file, then try to upload again."

// placeForm matches accounts and regions, which are used as directory names.
var placeForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// parcel is a stored zip file.
type parcel struct {
	sum  string // SHA-256, hexadecimal
	size int64
}

// codeStore stores zip files below [Config.CodeDir] and unpacks them below [Config.CacheDir]. It removes unused files.
type codeStore struct {
	config Config
	unpack singleflight.Group

	mu   sync.Mutex
	used map[string]time.Time // when unpacked code was last used, by the hash of its zip file
}

// keep stores code in the directory of a scope. When it returns, the zip file is durable and was validated.
func (cs *codeStore) keep(ctx context.Context, place registry.Scope, code registry.Code, runtime, contract string) (parcel, error) {
	if !placeForm.MatchString(place.Account) || !placeForm.MatchString(place.Region) {
		return parcel{}, invalid("There are no functions in account %.64q, region %.64q.", place.Account, place.Region)
	}
	given := 0
	for _, is := range []bool{code.Bucket != "" || code.Key != "", code.Inline != nil, len(code.Zip) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return parcel{}, invalid("Please provide a source for function code.")
	case given > 1:
		return parcel{}, invalid("Please do not provide other FunctionCode parameters when providing one source of code.")
	case code.Inline != nil:
		text, err := packInline(*code.Inline, runtime)
		if err != nil {
			return parcel{}, err
		}
		return cs.write(place, bytes.NewReader(text))
	case len(code.Zip) > 0:
		return cs.write(place, bytes.NewReader(code.Zip))
	}
	if cs.config.Objects == nil {
		return parcel{}, invalid("Error occurred while GetObject. S3 Error Code: NoSuchBucket. S3 Error Message: The specified bucket does not exist")
	}
	body, size, err := cs.config.Objects.Open(ctx, place.Account, code.Bucket, code.Key, code.ObjectVersion)
	switch {
	case contract == registry.ContractFC && errors.Is(err, fs.ErrPermission):
		return parcel{}, invalid("the code cannot be read from OSS: AccessDenied: the bucket %.100s is another account's", code.Bucket)
	case contract == registry.ContractFC && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, registry.ErrNotFound)):
		return parcel{}, invalid("the code cannot be read from OSS: NoSuchKey: there is no object %.200s in a bucket %.100s", code.Key, code.Bucket)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, registry.ErrNotFound):
		return parcel{}, invalid("Error occurred while GetObject. S3 Error Code: NoSuchKey. "+
			"S3 Error Message: The specified key does not exist. (bucket %.100s, key %.200s)", code.Bucket, code.Key)
	case errors.Is(err, fs.ErrPermission):
		return parcel{}, &Error{
			Code: "AccessDeniedException", Status: http.StatusForbidden,
			Message: fmt.Sprintf("Your access has been denied by S3, please make sure your request credentials have permission to GetObject "+
				"for %.100s/%.200s. S3 Error Code: AccessDenied. S3 Error Message: Access Denied", code.Bucket, code.Key),
		}
	case err != nil:
		return parcel{}, fmt.Errorf("read code from bucket %s, key %s: %w", code.Bucket, code.Key, err)
	}
	defer body.Close()
	if size > maxUnpacked {
		return parcel{}, tooLarge()
	}
	return cs.write(place, body)
}

func tooLarge() error {
	return invalid("Unzipped size must be smaller than %d bytes", maxUnpacked)
}

// codeFile returns the path of a zip file. Each scope has its own directory, so that unused files can be found.
func (cs *codeStore) codeFile(place registry.Scope, sum string) string {
	return filepath.Join(cs.config.CodeDir, place.Account, place.Region, sum+".zip")
}

// write stores a zip file. Identical files are stored once, with a new modification time for the sweep.
func (cs *codeStore) write(place registry.Scope, body io.Reader) (p parcel, err error) {
	dir := filepath.Dir(cs.codeFile(place, "x"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return p, fmt.Errorf("keep code: %w", err)
	}
	file, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return p, fmt.Errorf("keep code: %w", err)
	}
	defer func() {
		file.Close()
		os.Remove(file.Name()) // already renamed on success
	}()
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(body, maxUnpacked+1))
	switch {
	case err != nil:
		return p, fmt.Errorf("keep code: %w", err)
	case size > maxUnpacked:
		return p, tooLarge()
	}
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return p, invalid(unreadable)
	}
	if err := examine(archive); err != nil {
		return p, err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return p, fmt.Errorf("keep code: %w", err)
	}
	p = parcel{sum: hex.EncodeToString(sum.Sum(nil)), size: size}
	if err := os.Rename(file.Name(), cs.codeFile(place, p.sum)); err != nil {
		return p, fmt.Errorf("keep code: %w", err)
	}
	return p, syncDir(dir)
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("keep code: %w", err)
	}
	_ = folder.Sync() // some file systems do not support this for directories
	return folder.Close()
}

var (
	moduleLine = regexp.MustCompile(`(?m)^\s*(export\s+(default\b|const\b|let\b|var\b|async\b|function\b|class\b|\{|\*)|import\s+([\w*{]|['"]))`)
	commonLine = regexp.MustCompile(`\b(module\.exports|exports\.\w+|exports\[)`)
)

// InlineName returns the name of the file with the inline code of a template: index.py, index.js, or index.mjs if the
// text is an ECMAScript module, which only newer versions of Node detect. The error is an [Error] for a runtime without
// inline code, or a text that is too long.
func InlineName(text, runtime string) (string, error) {
	language, ok := bootstrap.ForRuntime(runtime)
	switch {
	case !ok:
		return "", invalid("ZipFile can only be used when Runtime is set to either of nodejs*, python*.")
	case len(text) > maxInline:
		return "", invalid("Inline code must not be longer than %d bytes.", maxInline)
	case language == bootstrap.Python:
		return "index.py", nil
	case moduleLine.MatchString(text) && !commonLine.MatchString(text):
		return "index.mjs", nil
	}
	return "index.js", nil
}

// packInline creates a zip file from the inline code of a template. The output is deterministic.
func packInline(text, runtime string) ([]byte, error) {
	name, err := InlineName(text, runtime)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: name, Method: zip.Deflate}
	header.SetMode(0o644)
	w, err := archive.CreateHeader(header)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		return nil, fmt.Errorf("pack inline code: %w", err)
	}
	return b.Bytes(), nil
}

// examine checks the directory of a zip file, and rejects a file that cannot be unpacked.
func examine(archive *zip.Reader) error {
	if len(archive.File) == 0 {
		return invalid("Uploaded file must be a non-empty zip")
	}
	if len(archive.File) > maxFiles {
		return invalid("The zip file has more than %d files.", maxFiles)
	}
	var total uint64
	for _, entry := range archive.File {
		if entry.UncompressedSize64 > maxUnpacked {
			return tooLarge()
		}
		if total += entry.UncompressedSize64; total > maxUnpacked {
			return tooLarge()
		}
		if name := strings.TrimSuffix(entry.Name, "/"); !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\\x00") {
			return invalid("%s (the file %.100q is outside the package)", unreadable, entry.Name)
		}
		if !entry.Mode().IsRegular() && !entry.Mode().IsDir() && entry.Mode()&fs.ModeSymlink == 0 {
			return invalid("%s (%.100q is neither a file nor a folder)", unreadable, entry.Name)
		}
		if entry.Flags&1 != 0 {
			return invalid("%s (%.100q is encrypted)", unreadable, entry.Name)
		}
	}
	if err := checkLinks(archive); err != nil {
		return invalid("%s (%s)", unreadable, err)
	}
	return nil
}
