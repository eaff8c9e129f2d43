package objects

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// Attributes are client-defined attributes of an object, which are returned with it.
type Attributes struct {
	ContentType        string `json:"contentType,omitempty"`
	ContentEncoding    string `json:"contentEncoding,omitempty"`
	ContentLanguage    string `json:"contentLanguage,omitempty"`
	ContentDisposition string `json:"contentDisposition,omitempty"`
	CacheControl       string `json:"cacheControl,omitempty"`
	Expires            string `json:"expires,omitempty"`
	Redirect           string `json:"redirect,omitempty"` // of a website
	// Metadata is the client's own metadata, by name without x-amz-meta-, in lower case. It has at most [MaxMetadata]
	// bytes.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Tags has at most [MaxTags] entries.
	Tags map[string]string `json:"tags,omitempty"`
	// Encryption is the requested algorithm, which is only recorded. Empty means AES256.
	Encryption string `json:"encryption,omitempty"`
	// Appendable means that OSS clients may append to the object.
	Appendable bool `json:"appendable,omitempty"`
}

// Info describes an object, or a part of an upload.
type Info struct {
	Key string `json:"key"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// ETag is the quoted entity tag: the MD5 of the data. For an object uploaded in parts it is the MD5 of the parts'
	// MD5s, with the number of parts.
	ETag     string    `json:"etag"`
	Modified time.Time `json:"modified"` // to the second
	Checksum Checksum  `json:"checksum,omitzero"`
	// Upload is the ID of the multipart upload that created the object, or empty.
	Upload string `json:"upload,omitempty"`
	// Parts is the number of its parts.
	Parts int `json:"parts,omitempty"`
	Attributes
}

// Sums are the computed sums of data.
type Sums struct {
	Size int64
	MD5  []byte
	// Checksum is the base64 checksum of the algorithm, or empty.
	Checksum string
}

// Condition is a condition for a write or delete. The zero Condition always holds.
type Condition struct {
	// IfMatch is the required entity tag of the object, or `*` for any object.
	IfMatch string
	// IfNone requires that the object does not exist.
	IfNone bool
}

// check returns [ErrPrecondition] unless the condition holds, and [ErrNoObject] if the required object is missing.
func (c Condition) check(s *Store, file string) error {
	if c == (Condition{}) {
		return nil
	}
	f, info, err := s.readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if c.IfMatch != "" {
			return ErrNoObject
		}
		return nil
	}
	if err != nil {
		return err
	}
	_ = f.Close() // opened for reading only
	if c.IfNone || c.IfMatch != "" && c.IfMatch != "*" && !SameTag(c.IfMatch, info.ETag) {
		return ErrPrecondition
	}
	return nil
}

// SameTag reports whether two entity tags are equal, with or without quotation marks.
func SameTag(a, b string) bool { return bare(a) == bare(b) }

func bare(tag string) string {
	if len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' {
		return tag[1 : len(tag)-1]
	}
	return tag
}

// Options are options for writing an object. The zero value is valid.
type Options struct {
	Attributes
	// Algorithm is the algorithm of the checksum to compute and store.
	Algorithm Algorithm
	// Verify is called with the sums after all data was received. If it returns an error, the object is not created
	// and the error is returned.
	Verify    func(Sums) error
	Condition Condition
}

// Put writes an object. When it returns, the object is durable, or nothing has changed. It returns [ErrNoBucket],
// [ErrKey], [ErrTooLarge], [ErrMetadata], [ErrPrecondition], [ErrNoObject] for a condition on a missing object, or
// the error of body or of Verify.
func (s *Store) Put(ctx context.Context, bucket, key string, body io.Reader, o Options) (Info, error) {
	return s.put(ctx, PutObject, bucket, key, body, o)
}

func (s *Store) put(ctx context.Context, kind ChangeKind, bucket, key string, body io.Reader, o Options) (Info, error) {
	file, err := s.check(ctx, bucket, key, &o.Attributes)
	if err != nil {
		return Info{}, err
	}
	in, info, err := s.take(ctx, bucket, key, body, o.Algorithm, o.Verify)
	if err != nil {
		return Info{}, err
	}
	defer in.drop()
	info.Attributes = o.Attributes
	if err := s.commit(ctx, in, bucket, file, info, o.Condition); err != nil {
		return info, err
	}
	s.changed(ctx, bucket, kind, info)
	return info, nil
}

// take receives the data of an object or a part, and calls verify with its sums. The caller drops the result.
func (s *Store) take(ctx context.Context, bucket, key string, body io.Reader, a Algorithm, verify func(Sums) error) (*incoming, Info, error) {
	in, err := s.receive(a)
	if err != nil {
		return nil, Info{}, cleanError("write", bucket, err)
	}
	if err := in.fill(ctx, body); err != nil {
		in.drop()
		return nil, Info{}, cleanError("write", bucket, err)
	}
	sums := in.sums()
	if verify != nil {
		if err := verify(sums); err != nil {
			in.drop()
			return nil, Info{}, err
		}
	}
	info := Info{Key: key, Size: sums.Size, ETag: quoted(sums.MD5), Modified: s.now()}
	if sums.Checksum != "" {
		info.Checksum = Checksum{Algorithm: a, Value: sums.Checksum}
	}
	return in, info, nil
}

// check validates the bucket, the key and the attributes of an object, and returns its file.
func (s *Store) check(ctx context.Context, bucket, key string, a *Attributes) (file string, err error) {
	if _, err := s.ensure(ctx, bucket); err != nil {
		return "", err
	}
	if err := CheckKey(key); err != nil {
		return "", err
	}
	size := 0
	for name, value := range a.Metadata {
		size += len(name) + len(value)
	}
	if size > MaxMetadata {
		return "", ErrMetadata
	}
	return objectFile(bucket, key), nil
}

// commit turns received data into an object.
func (s *Store) commit(ctx context.Context, in *incoming, bucket, file string, info Info, c Condition) error {
	if err := in.finish(info); err != nil {
		return cleanError("write", bucket, err)
	}
	// The bucket may have been removed and created again meanwhile. It can't be while this lock is held.
	lock := s.bucketLock(bucket)
	lock.RLock()
	defer lock.RUnlock()
	if _, err := s.config.Buckets.Get(ctx, everywhere, bucket); err != nil {
		return noBucket(err)
	}
	mine := s.keyLock(file)
	mine.Lock()
	defer mine.Unlock()
	if err := c.check(s, file); err != nil {
		return cleanError("read", bucket, err)
	}
	return cleanError("write", bucket, in.place(file))
}

// Object is an open object.
type Object struct {
	// ReadCloser reads its data. It must be closed.
	io.ReadCloser
	// Bucket is the bucket of the object.
	Bucket string
	Info
	file *os.File
}

// Range returns a reader of up to length bytes from first on. It is valid until the object is closed.
func (o Object) Range(first, length int64) io.Reader {
	return io.NewSectionReader(o.file, first, min(length, o.Size-first))
}

// reading reads the data of a file, and closes it.
type reading struct {
	*io.SectionReader
	io.Closer
}

// Open opens an object. Its reader keeps reading the same content if the object is replaced or removed meanwhile. The
// version must be empty or null; any other is [ErrNoVersion]. Open returns [ErrNoBucket] or [ErrNoObject].
func (s *Store) Open(ctx context.Context, bucket, key, version string) (Object, error) {
	if _, err := s.Bucket(ctx, bucket); err != nil {
		return Object{}, err
	}
	if version != "" && version != NullVersion {
		return Object{}, ErrNoVersion
	}
	if CheckKey(key) != nil {
		return Object{}, ErrNoObject
	}
	file, info, err := s.readFile(objectFile(bucket, key))
	if errors.Is(err, fs.ErrNotExist) {
		return Object{}, ErrNoObject
	}
	if err != nil {
		return Object{}, cleanError("read", bucket, err)
	}
	return Object{ReadCloser: reading{io.NewSectionReader(file, 0, info.Size), file}, Bucket: bucket, Info: info, file: file}, nil
}

// OpenFor is [Store.Open] on behalf of an account. It returns [ErrDenied] for buckets of other accounts.
func (s *Store) OpenFor(ctx context.Context, account, bucket, key, version string) (Object, error) {
	item, err := s.Bucket(ctx, bucket)
	if err != nil {
		return Object{}, err
	}
	if item.Of.Owner.Account != account {
		return Object{}, ErrDenied
	}
	return s.Open(ctx, bucket, key, version)
}

// NullVersion is the version of objects in buckets without versioning.
const NullVersion = "null"

// Stat returns the info of an object. Its errors are those of [Store.Open].
func (s *Store) Stat(ctx context.Context, bucket, key, version string) (Info, error) {
	o, err := s.Open(ctx, bucket, key, version)
	if err != nil {
		return Info{}, err
	}
	return o.Info, o.Close()
}

// Delete removes an object, if it exists and the condition holds. The removal is durable when Delete returns. It
// returns [ErrNoBucket] or the errors of a [Condition].
func (s *Store) Delete(ctx context.Context, bucket, key string, c Condition) error {
	if _, err := s.Bucket(ctx, bucket); err != nil {
		return err
	}
	if CheckKey(key) != nil {
		return nil //nolint:nilerr // there is no such object
	}
	removed, err := s.remove(bucket, objectFile(bucket, key), c)
	if removed {
		s.changed(ctx, bucket, Deleted, Info{Key: key})
	}
	return err
}

// remove removes the file of an object, if it exists, and reports whether it durably removed one.
func (s *Store) remove(bucket, file string, c Condition) (removed bool, err error) {
	mine := s.keyLock(file)
	mine.Lock()
	defer mine.Unlock()
	if err := c.check(s, file); err != nil {
		return false, cleanError("read", bucket, err)
	}
	err = s.root.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = s.syncDir(dirOf(file))
	}
	return err == nil, cleanError("remove", bucket, err)
}

// DeleteAll removes the objects that exist. If it returns no error, the removal is durable.
func (s *Store) DeleteAll(ctx context.Context, bucket string, keys []string) error {
	if _, err := s.Bucket(ctx, bucket); err != nil {
		return err
	}
	dirs := map[string]bool{}
	var gone []Info
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		if CheckKey(key) != nil {
			continue // it cannot exist
		}
		file := objectFile(bucket, key)
		mine := s.keyLock(file)
		mine.Lock()
		err := s.root.Remove(file)
		mine.Unlock()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return cleanError("remove", bucket, err)
		}
		dirs[dirOf(file)] = true
		gone = append(gone, Info{Key: key})
	}
	for dir := range dirs {
		if err := s.syncDir(dir); err != nil {
			return cleanError("remove", bucket, err)
		}
	}
	s.changed(ctx, bucket, Deleted, gone...)
	return nil
}

// Copy writes an object with the data of another. Its attributes are those in o, or with keep those of the source.
// The checksum algorithm is o.Algorithm or, if that is empty, that of the source.
func (s *Store) Copy(ctx context.Context, from Object, bucket, key string, keep bool, o Options) (Info, error) {
	if keep {
		o.Attributes = from.Attributes
	}
	if o.Algorithm == "" {
		o.Algorithm = from.Checksum.Algorithm
	}
	return s.put(ctx, Copied, bucket, key, from, o)
}

// SetTags changes only the tags of an object. It rewrites the whole object. It returns the errors of [Store.Open],
// and [ErrPrecondition] if the object was replaced meanwhile.
func (s *Store) SetTags(ctx context.Context, bucket, key string, tags map[string]string) error {
	from, err := s.Open(ctx, bucket, key, "")
	if err != nil {
		return err
	}
	defer from.Close()
	in, err := s.receive("")
	if err != nil {
		return cleanError("write", bucket, err)
	}
	defer in.drop()
	if err := in.fill(ctx, from); err != nil {
		return cleanError("write", bucket, err)
	}
	info := from.Info
	info.Tags = tags
	if err := s.commit(ctx, in, bucket, objectFile(bucket, key), info, Condition{IfMatch: from.ETag}); err != nil {
		return err
	}
	kind := Tagged
	if len(tags) == 0 {
		kind = Untagged
	}
	s.changed(ctx, bucket, kind, info)
	return nil
}
