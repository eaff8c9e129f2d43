package objects

import (
	"crypto/md5" // required by S3
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"strconv"
)

// Algorithm is the algorithm of the checksum that an object has in addition to its MD5, as S3 spells it. Empty means
// none.
type Algorithm string

// The algorithms.
const (
	CRC32     Algorithm = "CRC32"
	CRC32C    Algorithm = "CRC32C"
	CRC64NVME Algorithm = "CRC64NVME"
	SHA1      Algorithm = "SHA1"
	SHA256    Algorithm = "SHA256"
	SHA512    Algorithm = "SHA512"
	MD5       Algorithm = "MD5"
	// CRC64ECMA is the algorithm of OSS. S3 does not have it, so it is not one of [Algorithms].
	CRC64ECMA Algorithm = "CRC64ECMA"
)

// Algorithms returns the algorithms of S3.
func Algorithms() []Algorithm {
	return []Algorithm{CRC32, CRC32C, CRC64NVME, SHA1, SHA256, SHA512, MD5}
}

// Checksum is a checksum in the form that clients get.
type Checksum struct {
	Algorithm Algorithm `json:"algorithm,omitempty"`
	// Value is base64. With Composite, a hyphen and the number of parts follow.
	Value string `json:"value,omitempty"`
	// Composite means that it is the checksum of the checksums of the parts.
	Composite bool `json:"composite,omitempty"`
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	// nvme is the polynomial of the NVM Express specification, reversed.
	nvme = crc64.MakeTable(0x9a6c9329ac4bc9b5)
	ecma = crc64.MakeTable(crc64.ECMA)
)

// New returns a hash for the algorithm, or nil if the algorithm is unknown.
func (a Algorithm) New() hash.Hash {
	switch a {
	case CRC32:
		return crc32.NewIEEE()
	case CRC32C:
		return crc32.New(castagnoli)
	case CRC64NVME:
		return crc64.New(nvme)
	case CRC64ECMA:
		return crc64.New(ecma)
	case SHA1:
		return sha1.New()
	case SHA256:
		return sha256.New()
	case SHA512:
		return sha512.New()
	case MD5:
		return md5.New()
	}
	return nil
}

// composite returns the checksum of the parts' checksums. It is empty if a part has none.
func composite(a Algorithm, parts []Info) Checksum {
	all := a.New()
	if all == nil {
		return Checksum{}
	}
	for _, part := range parts {
		sum, err := base64.StdEncoding.DecodeString(part.Checksum.Value)
		if part.Checksum.Algorithm != a || err != nil {
			return Checksum{}
		}
		all.Write(sum)
	}
	value := base64.StdEncoding.EncodeToString(all.Sum(nil)) + "-" + strconv.Itoa(len(parts))
	return Checksum{Algorithm: a, Value: value, Composite: true}
}
