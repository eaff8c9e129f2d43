package awscall

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"net/http"
	"strings"
)

// checksums are the algorithms for the checksum of a request, by their names in S3.
var checksums = map[string]func() hash.Hash{
	"CRC32":     func() hash.Hash { return crc32.NewIEEE() },
	"CRC32C":    func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
	"CRC64NVME": func() hash.Hash { return crc64.New(crc64.MakeTable(0x9a6c9329ac4bc9b5)) },
	"SHA1":      sha1.New,
	"SHA256":    sha256.New,
}

// defaultChecksum is the algorithm that the SDKs use by default.
const defaultChecksum = "CRC32"

// check adds the checksum of the body that the action requires, unless the caller set one.
func (c *call) check(h http.Header, body []byte) error {
	m := c.operation.Model
	if m.HTTPChecksum == nil || m.HTTPChecksum.RequestAlgorithmMember == "" && !m.HTTPChecksum.RequestChecksumRequired {
		if m.HTTPChecksumRequired && h.Get("Content-Md5") == "" {
			sum := md5.Sum(body)
			h.Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
		}
		return nil
	}
	for name := range h {
		if strings.HasPrefix(name, "X-Amz-Checksum-") && name != "X-Amz-Checksum-Algorithm" && name != "X-Amz-Checksum-Type" && name != "X-Amz-Checksum-Mode" {
			return nil // set by the caller
		}
	}
	member := c.operation.Input.Member(m.HTTPChecksum.RequestAlgorithmMember)
	name := strings.ToUpper(c.input.Text(m.HTTPChecksum.RequestAlgorithmMember))
	if name == "" {
		if h.Get("Content-Md5") != "" {
			return nil
		}
		name = defaultChecksum
	}
	algorithm := checksums[name]
	if algorithm == nil {
		return &ParameterError{c.service.entry.Name, c.operation.Name, m.HTTPChecksum.RequestAlgorithmMember,
			"this checksum is not computed here: take CRC32, CRC32C, CRC64NVME, SHA1 or SHA256, or give the checksum itself"}
	}
	if member != nil && member.Header != "" {
		h.Set(member.Header, name)
	}
	sum := algorithm()
	sum.Write(body) // a hash does not fail
	h.Set("X-Amz-Checksum-"+name, base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	return nil
}

// verify compares an object with the checksum in S3's response, if any. The checksum of a multipart object covers the
// checksums of its parts and cannot be compared. Neither can that of bytes which were compressed in transit.
func (c *call) verify(resp *http.Response, body []byte) error {
	if c.id() != "S3" || c.operation.Name != "GetObject" || resp.StatusCode != http.StatusOK || resp.Uncompressed {
		return nil
	}
	for name, algorithm := range checksums {
		declared := resp.Header.Get("X-Amz-Checksum-" + name)
		if declared == "" || strings.Contains(declared, "-") {
			continue
		}
		sum := algorithm()
		sum.Write(body) // a hash does not fail
		if base64.StdEncoding.EncodeToString(sum.Sum(nil)) != declared {
			return fmt.Errorf("the %s of the object differs from the one that S3 reports", name)
		}
	}
	return nil
}

// treeHash is the checksum of Glacier: the hashes of each megabyte, combined pairwise until one remains.
func treeHash(body []byte) string {
	const chunk = 1 << 20
	var level [][]byte
	for first := true; first || len(body) > 0; first = false {
		sum := sha256.Sum256(body[:min(chunk, len(body))])
		level = append(level, sum[:])
		body = body[min(chunk, len(body)):]
	}
	for len(level) > 1 {
		var next [][]byte
		for i := 0; i < len(level); i += 2 {
			if i+1 == len(level) {
				next = append(next, level[i])
				continue
			}
			sum := sha256.Sum256(append(append([]byte{}, level[i]...), level[i+1]...))
			next = append(next, sum[:])
		}
		level = next
	}
	return hex.EncodeToString(level[0])
}
