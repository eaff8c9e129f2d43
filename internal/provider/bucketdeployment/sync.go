package bucketdeployment

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
)

// file is a file to deploy.
type file struct {
	open    func() (io.ReadCloser, error)
	markers map[string]string
	size    uint64 // before markers are replaced
}

// deploy makes the destination match the sources. It is idempotent: an interrupted run can be repeated.
func (d deployment) deploy(ctx context.Context) error {
	attributes, err := d.attributes()
	if err != nil {
		return err
	}
	files := map[string]file{} // by path below the prefix
	entries, contents := 0, uint64(0)
	for _, s := range d.sources {
		temp, size, err := d.download(ctx, s)
		if err != nil {
			return err
		}
		defer discard(temp)
		name := "s3://" + s.bucket + "/" + s.key
		if !d.extract {
			files[baseName(s.key)] = file{size: uint64(size), open: func() (io.ReadCloser, error) {
				return io.NopCloser(io.NewSectionReader(temp, 0, size)), nil
			}}
			continue
		}
		archive, err := zip.NewReader(temp, size)
		if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // insecure paths are made safe below
			return fmt.Errorf("%s: the source is not a zip file: %w; set extract to false to deploy it as it is", name, err)
		}
		if entries += len(archive.File); entries > MaxFiles {
			return fmt.Errorf("%s: the sources have more than %d files", name, MaxFiles)
		}
		for _, f := range archive.File {
			if strings.HasSuffix(f.Name, "/") {
				continue
			}
			if contents += f.UncompressedSize64; f.UncompressedSize64 > MaxContents || contents > MaxContents {
				return fmt.Errorf("%s: the files of the sources have more than %d GiB", name, MaxContents>>30)
			}
			if at := entryName(f); at != "" {
				files[at] = file{open: f.Open, markers: s.markers, size: f.UncompressedSize64}
			}
		}
	}
	chosen := newFilter(d.exclude, d.include, d.bucket, d.prefix)
	maps.DeleteFunc(files, func(name string, _ file) bool { return !chosen.has(workDir + "/" + name) })
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := d.upload(inner, name, files[name], attributes); err != nil {
				return fmt.Errorf("upload of s3://%s/%s: %w", d.bucket, folder(d.prefix)+name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if !d.prune {
		return nil
	}
	return d.each(ctx, d.bucket, d.prefix, func(key string, size int64) bool {
		if size == 0 && strings.HasSuffix(key, "/") {
			return false // a directory entry that someone created by hand
		}
		_, ok := files[strings.TrimPrefix(key, folder(d.prefix))]
		return !ok && chosen.has(d.bucket+"/"+key)
	})
}

// empty deletes every object below a prefix.
func (d deployment) empty(ctx context.Context, bucket, prefix string) error {
	return d.each(ctx, bucket, prefix, func(string, int64) bool { return true })
}

// each deletes the objects below a prefix for which choose returns true.
func (d deployment) each(ctx context.Context, bucket, prefix string, choose func(key string, size int64) bool) error {
	params := map[string]any{"Bucket": bucket, "Prefix": folder(prefix)}
	for {
		page, err := d.AWS.Call(ctx, "s3", "ListObjectsV2", params)
		if err != nil {
			return fmt.Errorf("list of s3://%s/%s: %w", bucket, folder(prefix), err)
		}
		var doomed []any
		contents, _ := page["Contents"].([]any)
		for _, item := range contents {
			object, _ := item.(map[string]any)
			size, _ := object["Size"].(int64)
			if key := text(object["Key"]); choose(key, size) {
				doomed = append(doomed, map[string]any{"Key": key})
			}
		}
		if len(doomed) > 0 {
			out, err := d.AWS.Call(ctx, "s3", "DeleteObjects", map[string]any{
				"Bucket": bucket, "Delete": map[string]any{"Objects": doomed, "Quiet": true},
			})
			if err != nil {
				return fmt.Errorf("deletion from s3://%s: %w", bucket, err)
			}
			if failed, _ := out["Errors"].([]any); len(failed) > 0 {
				first, _ := failed[0].(map[string]any)
				return fmt.Errorf("deletion of s3://%s/%s: %s: %s", bucket, text(first["Key"]), text(first["Code"]), text(first["Message"]))
			}
		}
		next := text(page["NextContinuationToken"])
		if next == "" {
			return nil
		}
		params["ContinuationToken"] = next
	}
}

// download copies a source to a temporary file. The file is deleted immediately where the system allows that, and with
// [discard] elsewhere.
func (d deployment) download(ctx context.Context, s source) (_ *os.File, _ int64, err error) {
	name := "s3://" + s.bucket + "/" + s.key
	head, err := d.AWS.Call(ctx, "s3", "HeadObject", map[string]any{"Bucket": s.bucket, "Key": s.key})
	if err != nil {
		return nil, 0, fmt.Errorf("download of %s: %w", name, err)
	}
	size, _ := head["ContentLength"].(int64)
	if size > MaxArchive {
		return nil, 0, fmt.Errorf("%s has %d bytes, more than %d GiB", name, size, MaxArchive>>30)
	}
	temp, err := os.CreateTemp(d.TempDir, "bucket-deployment-*")
	if err != nil {
		return nil, 0, err
	}
	_ = os.Remove(temp.Name())
	for at := int64(0); at < size; {
		out, err := d.AWS.Call(ctx, "s3", "GetObject", map[string]any{
			"Bucket": s.bucket, "Key": s.key, "IfMatch": text(head["ETag"]), "Range": fmt.Sprintf("bytes=%d-%d", at, min(at+rangeSize, size)-1),
		})
		body := text(out["Body"])
		if err == nil && body == "" {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			_, err = temp.WriteString(body)
		}
		if err != nil {
			discard(temp)
			return nil, 0, fmt.Errorf("download of %s: %w", name, err)
		}
		at += int64(len(body))
	}
	return temp, size, nil
}

func discard(temp *os.File) {
	_ = temp.Close()
	_ = os.Remove(temp.Name()) // already deleted, except on Windows
}

func baseName(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// entryName returns the path to which Python's zipfile extracts an entry. The path is always below the target
// directory.
func entryName(f *zip.File) string {
	name, _, _ := strings.Cut(f.Name, "\x00")
	if f.Flags&0x800 == 0 {
		name = fromCP437(name)
	}
	parts := slices.DeleteFunc(strings.Split(name, "/"), func(p string) bool { return p == "" || p == "." || p == ".." })
	return path.Join(parts...)
}

// cp437 holds the characters from 0x80 in code page 437, the encoding of names in zip files without the UTF-8 flag.
var cp437 = []rune("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0")

func fromCP437(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			b.WriteRune(cp437[c-utf8.RuneSelf])
		}
	}
	return b.String()
}

// attributeNames are the parameters of PutObject by the option of `aws s3 sync` that sets them.
var attributeNames = map[string]string{
	"acl": "ACL", "cache-control": "CacheControl", "content-disposition": "ContentDisposition", "content-encoding": "ContentEncoding",
	"content-language": "ContentLanguage", "content-type": "ContentType", "expires": "Expires", "sse": "ServerSideEncryption",
	"sse-kms-key-id": "SSEKMSKeyId", "storage-class": "StorageClass", "website-redirect": "WebsiteRedirectLocation",
}

// attributes returns the parameters of every upload.
func (d deployment) attributes() (map[string]any, error) {
	params := map[string]any{}
	for option, value := range d.system {
		name, ok := attributeNames[option]
		if !ok && option != "sse-c-copy-source" { // this option affects only copies
			return nil, fmt.Errorf("invalid request: SystemMetadata has the unknown name %q", option)
		}
		if ok {
			params[name] = value
		}
	}
	if len(d.user) > 0 {
		metadata := map[string]any{}
		for name, value := range d.user {
			metadata[name] = value
		}
		params["Metadata"] = metadata
	}
	return params, nil
}

// upload writes one file, in parts if it is large.
func (d deployment) upload(ctx context.Context, name string, f file, attributes map[string]any) error {
	opened, err := f.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	from := replaced(opened, f.markers)
	params := maps.Clone(attributes)
	params["Bucket"], params["Key"] = d.bucket, folder(d.prefix)+name
	if guessed := contentType(name); guessed != "" && params["ContentType"] == nil {
		params["ContentType"] = guessed
	}
	var first bytes.Buffer
	if f.size < partSize {
		first.Grow(int(f.size) + bytes.MinRead)
	}
	if _, err := io.Copy(&first, io.LimitReader(from, partSize)); err != nil {
		return err
	}
	if first.Len() < partSize {
		params["Body"] = first.Bytes()
		_, err = d.AWS.Call(ctx, "s3", "PutObject", params)
		return err
	}
	return d.uploadParts(ctx, params, io.MultiReader(&first, from))
}

// uploadParts writes an object in parts, and aborts the upload if that fails.
func (d deployment) uploadParts(ctx context.Context, params map[string]any, from io.Reader) (err error) {
	created, err := d.AWS.Call(ctx, "s3", "CreateMultipartUpload", params)
	if err != nil {
		return err
	}
	upload := map[string]any{"Bucket": params["Bucket"], "Key": params["Key"], "UploadId": text(created["UploadId"])}
	defer func() {
		if err != nil {
			_, aborted := d.AWS.Call(context.WithoutCancel(ctx), "s3", "AbortMultipartUpload", upload)
			err = errors.Join(err, aborted)
		}
	}()
	var parts []any
	buffer := make([]byte, partSize)
	for {
		n, err := io.ReadFull(from, buffer)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if n == 0 {
			break
		}
		part := maps.Clone(upload)
		part["PartNumber"], part["Body"] = len(parts)+1, buffer[:n]
		out, err := d.AWS.Call(ctx, "s3", "UploadPart", part)
		if err != nil {
			return err
		}
		parts = append(parts, map[string]any{"PartNumber": len(parts) + 1, "ETag": text(out["ETag"])})
	}
	done := maps.Clone(upload)
	done["MultipartUpload"] = map[string]any{"Parts": parts}
	_, err = d.AWS.Call(ctx, "s3", "CompleteMultipartUpload", done)
	return err
}
