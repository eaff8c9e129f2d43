package objects

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// Attributes are what a client says of an object, and is told again.
type Attributes struct {
	ContentType        string `json:"contentType,omitempty"`
	ContentEncoding    string `json:"contentEncoding,omitempty"`
	ContentLanguage    string `json:"contentLanguage,omitempty"`
	ContentDisposition string `json:"contentDisposition,omitempty"`
	CacheControl       string `json:"cacheControl,omitempty"`
	Expires            string `json:"expires,omitempty"`
	Redirect           string `json:"redirect,omitempty"` // of a website
	// Metadata are the client's own, by name without x-amz-meta-, in lower case. No more than [MaxMetadata] bytes.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Tags are at most [MaxTags].
	Tags map[string]string `json:"tags,omitempty"`
	// Encryption is the algorithm that was asked for, and is only recorded; empty means AES256.
	Encryption string `json:"encryption,omitempty"`
	// Appendable says that clients of OSS may append to it.
	Appendable bool `json:"appendable,omitempty"`
}

// Info is what is known of an object, or of a part of an upload.
type Info struct {
	Key string `json:"key"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// ETag is the entity tag, in quotation marks: the MD5 of the data or, of an object that was uploaded in parts, the MD5 of the
	// parts' MD5s with their number.
	ETag     string    `json:"etag"`
	Modified time.Time `json:"modified"` // to the second
	Checksum Checksum  `json:"checksum,omitzero"`
	// Upload is the id of the upload it has come from in parts, empty if it has not.
	Upload string `json:"upload,omitempty"`
	// Parts are how many those were.
	Parts int `json:"parts,omitempty"`
	Attributes
}

// Sums are what was computed of data.
type Sums struct {
	Size int64
	MD5  []byte
	// Checksum is that of the algorithm, in base64; empty without one.
	Checksum string
}

// Condition says when an object may be written or removed. The zero Condition is always fulfilled.
type Condition struct {
	// IfMatch is the entity tag that the object has, or `*` for any object.
	IfMatch string
	// IfNone means that there is no object.
	IfNone bool
}

// check returns [ErrPrecondition] unless the condition is fulfilled, and [ErrNoObject] if the object is missing that it asks for.
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
	_ = f.Close() // it was only read
	if c.IfNone || c.IfMatch != "" && c.IfMatch != "*" && !SameTag(c.IfMatch, info.ETag) {
		return ErrPrecondition
	}
	return nil
}

// SameTag reports whether two entity tags are the same, with or without quotation marks.
func SameTag(a, b string) bool { return bare(a) == bare(b) }

func bare(tag string) string {
	if len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' {
		return tag[1 : len(tag)-1]
	}
	return tag
}

// Options are how an object is put. The zero Options are good.
type Options struct {
	Attributes
	// Algorithm is that of the checksum which is computed and kept.
	Algorithm Algorithm
	// Verify is called with what was computed when all data are there and before the object is: its error is returned, and there is
	// no object.
	Verify    func(Sums) error
	Condition Condition
}

// Put writes an object. When it returns, the object is durable, or nothing has changed. It returns [ErrNoBucket], [ErrKey],
// [ErrTooLarge], [ErrMetadata], [ErrPrecondition], [ErrNoObject] for a condition on an object that is missing, or the error of
// body or of Verify.
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

// take receives data of an object, or of a part of one, and lets verify look at what was computed of them. The caller drops what has
// come.
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

// check looks at what an object is to be, and returns its file.
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

// commit makes an object of what was received.
func (s *Store) commit(ctx context.Context, in *incoming, bucket, file string, info Info, c Condition) error {
	if err := in.finish(info); err != nil {
		return cleanError("write", bucket, err)
	}
	// The bucket may have been removed, and made again, meanwhile; while this lock is held it can't be.
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

// Object is an object that is being read.
type Object struct {
	// ReadCloser reads its data. It must be closed.
	io.ReadCloser
	// Bucket is the one that it is in.
	Bucket string
	Info
	file *os.File
}

// Range returns a reader of the length bytes from first on, which ends with the object's Close.
func (o Object) Range(first, length int64) io.Reader {
	return io.NewSectionReader(o.file, first, min(length, o.Size-first))
}

// reading reads the data of a file, and closes it.
type reading struct {
	*io.SectionReader
	io.Closer
}

// Open opens an object. Its reader keeps reading the same content if the object is replaced or removed meanwhile. The
// version is empty or null; any other is [ErrNoVersion]. It returns [ErrNoBucket] or [ErrNoObject].
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

// OpenFor is [Store.Open] on behalf of an account, which has no access to the buckets of others: [ErrDenied].
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

// NullVersion is the version of objects in buckets that keep no others.
const NullVersion = "null"

// Stat returns what is known of an object. Its errors are those of [Store.Open].
func (s *Store) Stat(ctx context.Context, bucket, key, version string) (Info, error) {
	o, err := s.Open(ctx, bucket, key, version)
	if err != nil {
		return Info{}, err
	}
	return o.Info, o.Close()
}

// Delete removes an object, if there is one and the condition is fulfilled. When it returns, that is durable. It returns
// [ErrNoBucket] or what a [Condition] does.
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

// remove removes the file of an object, if there is one, and reports whether that is durable.
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

// DeleteAll removes objects, as far as there are such. When it returns without an error, that is durable.
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
			continue // there is none
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

// Copy writes an object that has the data of another, at least so far as it goes. Its attributes are those in o; with keep, those of
// the other. The checksum is that of o.Algorithm or, if that is empty, of the other's.
func (s *Store) Copy(ctx context.Context, from Object, bucket, key string, keep bool, o Options) (Info, error) {
	if keep {
		o.Attributes = from.Attributes
	}
	if o.Algorithm == "" {
		o.Algorithm = from.Checksum.Algorithm
	}
	return s.put(ctx, Copied, bucket, key, from, o)
}

// SetTags changes the tags of an object, and nothing else of it. It costs as much as a copy. It returns what [Store.Open] does, or
// [ErrPrecondition] if the object is replaced meanwhile.
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
