package objects

import (
	"cmp"
	"context"
	"crypto/md5" // S3 derives entity tags from it
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Upload is a multipart upload.
type Upload struct {
	ID    string    `json:"id"`
	Key   string    `json:"key"`
	Begun time.Time `json:"begun"`
	// Algorithm is the checksum algorithm of the parts. With Whole, the object gets a checksum of all its data, and
	// otherwise one of the parts' checksums.
	Algorithm Algorithm `json:"algorithm,omitempty"`
	Whole     bool      `json:"whole,omitempty"`
	// MinPart is the minimum size of every part but the last, in bytes. Zero means [MinPart].
	MinPart int64 `json:"minPart,omitempty"`
	Attributes
}

// Part is a part of an upload.
type Part struct {
	Number int
	Info
}

// Given is a part as a client names it.
type Given struct {
	Number int
	// ETag is the part's entity tag, with or without quotation marks.
	ETag string
	// Checksum is the part's base64 checksum, or empty if the client does not send one.
	Checksum string
}

const uploadName = "=upload" // the file that describes an upload

func uploadsDir(bucket string) string { return bucketDir(bucket) + "/uploads" }

// uploadDir returns the directory of an upload. It is safe for any ID.
func uploadDir(bucket, id string) (string, error) {
	if id == "" || len(id) > maxName/3 {
		return "", ErrNoUpload
	}
	return uploadsDir(bucket) + "/" + encodeName(id), nil
}

func partFile(dir string, number int) string { return fmt.Sprintf("%s/=part-%05d", dir, number) }

// Begin starts an upload. For the bucket, the key and the attributes, it returns the errors of [Store.Put].
func (s *Store) Begin(ctx context.Context, bucket string, u Upload) (Upload, error) {
	if _, err := s.check(ctx, bucket, u.Key, &u.Attributes); err != nil {
		return u, err
	}
	u.ID, u.Begun = strings.ToLower(rand.Text()), s.now()
	dir, err := uploadDir(bucket, u.ID)
	if err != nil {
		return u, err
	}
	in, err := s.receive("")
	if err != nil {
		return u, cleanError("write", bucket, err)
	}
	defer in.drop()
	in.limit = maxInfo
	text, err := json.Marshal(u)
	if err == nil {
		err = in.fill(ctx, strings.NewReader(string(text)))
	}
	if err != nil {
		return u, cleanError("write", bucket, err)
	}
	return u, s.commit(ctx, in, bucket, dir+"/"+uploadName, Info{Key: u.Key, Size: in.size}, Condition{})
}

// Upload returns an upload, or [ErrNoUpload]. The key must be that of the upload.
func (s *Store) Upload(bucket, key, id string) (Upload, error) {
	var u Upload
	dir, err := uploadDir(bucket, id)
	if err != nil {
		return u, err
	}
	file, info, err := s.readFile(dir + "/" + uploadName)
	if errors.Is(err, fs.ErrNotExist) {
		return u, ErrNoUpload
	}
	if err != nil {
		return u, cleanError("read", bucket, err)
	}
	defer file.Close()
	if info.Key != key {
		return u, ErrNoUpload
	}
	if err := json.NewDecoder(io.NewSectionReader(file, 0, min(info.Size, maxInfo))).Decode(&u); err != nil {
		return u, fmt.Errorf("the file of an upload is damaged: %w", err)
	}
	return u, nil
}

// PutPart writes a part of an upload, and replaces an existing part with the same number. It uses only Algorithm and
// Verify of o. An empty algorithm means that of the upload. It returns [ErrNoBucket], [ErrNoUpload], [ErrPart] for a
// number that is not from 1 to [MaxParts], [ErrTooLarge], or the error of body or of Verify.
func (s *Store) PutPart(ctx context.Context, bucket, key, id string, number int, body io.Reader, o Options) (Info, error) {
	if _, err := s.Bucket(ctx, bucket); err != nil {
		return Info{}, err
	}
	if number < 1 || number > MaxParts {
		return Info{}, ErrPart
	}
	u, err := s.Upload(bucket, key, id)
	if err != nil {
		return Info{}, err
	}
	in, info, err := s.take(ctx, bucket, key, body, cmp.Or(o.Algorithm, u.Algorithm), o.Verify)
	if err != nil {
		return Info{}, err
	}
	defer in.drop()
	if err := in.finish(info); err != nil {
		return info, cleanError("write", bucket, err)
	}
	dir, err := uploadDir(bucket, id)
	if err != nil {
		return info, err
	}
	lock := s.bucketLock(bucket)
	lock.RLock()
	defer lock.RUnlock()
	mine := s.keyLock(dir)
	mine.Lock()
	defer mine.Unlock()
	if _, err := s.Upload(bucket, key, id); err != nil { // the upload or its bucket may have been removed
		return info, err
	}
	return info, cleanError("write", bucket, in.place(partFile(dir, number)))
}

// Parts returns the parts of an upload, sorted by number, or [ErrNoUpload].
func (s *Store) Parts(bucket, key, id string) (Upload, []Part, error) {
	u, err := s.Upload(bucket, key, id)
	if err != nil {
		return u, nil, err
	}
	dir, err := uploadDir(bucket, id)
	if err != nil {
		return u, nil, err
	}
	entries, err := s.names(dir)
	if err != nil {
		return u, nil, cleanError("list", bucket, err)
	}
	var parts []Part
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "=part-")
		number, err := strconv.Atoi(digits)
		if !ok || err != nil {
			continue
		}
		file, info, err := s.readFile(partFile(dir, number))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return u, nil, cleanError("read", bucket, err)
		}
		_ = file.Close() // opened for reading only
		parts = append(parts, Part{number, info})
	}
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.Number, b.Number) })
	return u, parts, nil
}

// Uploads returns the unfinished uploads of a bucket, sorted by key and start time, or [ErrNoBucket].
func (s *Store) Uploads(ctx context.Context, bucket string) ([]Upload, error) {
	if _, err := s.Bucket(ctx, bucket); err != nil {
		return nil, err
	}
	entries, err := s.names(uploadsDir(bucket))
	if err != nil {
		return nil, cleanError("list", bucket, err)
	}
	var uploads []Upload
	for _, e := range entries {
		file, info, err := s.readFile(uploadsDir(bucket) + "/" + e.Name() + "/" + uploadName)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it just ended
		}
		if err != nil {
			return nil, cleanError("read", bucket, err)
		}
		_ = file.Close() // Upload opens it again
		id, _ := decodePart(e.Name()[1:])
		if u, err := s.Upload(bucket, info.Key, id); err == nil {
			uploads = append(uploads, u)
		}
	}
	slices.SortFunc(uploads, func(a, b Upload) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), a.Begun.Compare(b.Begun), cmp.Compare(a.ID, b.ID))
	})
	return uploads, nil
}

// Abort removes an upload and its parts, or returns [ErrNoUpload].
func (s *Store) Abort(ctx context.Context, bucket, key, id string) error {
	if _, err := s.Bucket(ctx, bucket); err != nil {
		return err
	}
	dir, err := uploadDir(bucket, id)
	if err != nil {
		return err
	}
	mine := s.keyLock(dir)
	mine.Lock()
	defer mine.Unlock()
	if _, err := s.Upload(bucket, key, id); err != nil {
		return err
	}
	return cleanError("remove", bucket, s.dropUpload(bucket, dir))
}

// dropUpload removes an upload, beginning with its description.
func (s *Store) dropUpload(bucket, dir string) error {
	if err := s.root.Remove(dir + "/" + uploadName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.root.RemoveAll(dir); err != nil {
		return err
	}
	return s.syncDir(uploadsDir(bucket))
}

// Complete creates an object from parts of an upload, in their order, and ends the upload. It uses only Verify and
// Condition of o. Verify gets the sums of the whole object, with a checksum if the upload is Whole. For an already
// completed upload, Complete returns the object. It returns [ErrNoBucket], [ErrNoUpload], [ErrPart], [ErrPartOrder],
// [ErrTooSmall], [ErrTooLarge] or [ErrPrecondition].
func (s *Store) Complete(ctx context.Context, bucket, key, id string, given []Given, o Options) (Info, error) {
	if _, err := s.Bucket(ctx, bucket); err != nil {
		return Info{}, err
	}
	u, have, err := s.Parts(bucket, key, id)
	if errors.Is(err, ErrNoUpload) {
		if info, err := s.Stat(ctx, bucket, key, ""); err == nil && info.Upload == id && id != "" {
			return info, nil
		}
		return Info{}, ErrNoUpload
	}
	if err != nil {
		return Info{}, err
	}
	parts, err := choose(have, given, cmp.Or(u.MinPart, MinPart))
	if err != nil {
		return Info{}, err
	}
	a := u.Algorithm
	if !u.Whole {
		a = ""
	}
	in, err := s.receive(a)
	if err != nil {
		return Info{}, cleanError("write", bucket, err)
	}
	defer in.drop()
	dir, err := uploadDir(bucket, id)
	if err != nil {
		return Info{}, err
	}
	tags := md5.New()
	infos := make([]Info, 0, len(parts))
	for _, part := range parts {
		sum, err := hex.DecodeString(bare(part.ETag))
		if err != nil {
			return Info{}, fmt.Errorf("the file of a part is damaged: %w", err)
		}
		tags.Write(sum)
		infos = append(infos, part.Info)
		if err := s.append(ctx, in, dir, part); err != nil {
			return Info{}, cleanError("write", bucket, err)
		}
	}
	info := Info{
		Key: key, Size: in.size, Modified: s.now(), Upload: id, Parts: len(parts), Attributes: u.Attributes,
		ETag: fmt.Sprintf(`"%x-%d"`, tags.Sum(nil), len(parts)),
	}
	sums := in.sums()
	if o.Verify != nil {
		if err := o.Verify(sums); err != nil {
			return Info{}, err
		}
	}
	if u.Whole {
		info.Checksum = Checksum{Algorithm: u.Algorithm, Value: sums.Checksum}
	} else {
		info.Checksum = composite(u.Algorithm, infos)
	}
	if err := s.commit(ctx, in, bucket, objectFile(bucket, key), info, o.Condition); err != nil {
		return Info{}, err
	}
	s.changed(ctx, bucket, Completed, info)
	mine := s.keyLock(dir)
	mine.Lock()
	defer mine.Unlock()
	// After a crash before this line, the upload can be completed again, or aborted.
	return info, cleanError("remove", bucket, s.dropUpload(bucket, dir))
}

// choose returns the parts that a client names.
func choose(have []Part, given []Given, least int64) ([]Part, error) {
	if len(given) == 0 || len(given) > MaxParts {
		return nil, ErrPart
	}
	parts := make([]Part, 0, len(given))
	for i, g := range given {
		if i > 0 && given[i-1].Number >= g.Number {
			return nil, ErrPartOrder
		}
		at, found := slices.BinarySearchFunc(have, g.Number, func(p Part, number int) int { return cmp.Compare(p.Number, number) })
		if !found || !SameTag(have[at].ETag, g.ETag) || g.Checksum != "" && g.Checksum != have[at].Checksum.Value {
			return nil, ErrPart
		}
		parts = append(parts, have[at])
	}
	for _, part := range parts[:len(parts)-1] {
		if part.Size < least {
			return nil, ErrTooSmall
		}
	}
	return parts, nil
}

// append appends a part to a file. It returns [ErrPart] if the part was replaced meanwhile.
func (s *Store) append(ctx context.Context, in *incoming, dir string, part Part) error {
	file, info, err := s.readFile(partFile(dir, part.Number))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrPart
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if info.ETag != part.ETag {
		return ErrPart
	}
	return in.fill(ctx, io.NewSectionReader(file, 0, info.Size))
}
