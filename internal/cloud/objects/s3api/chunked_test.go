package s3api

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

// FuzzChunked checks that a chunked body gives the same result however it arrives, and no more data than it has. An
// error must be reported.
func FuzzChunked(f *testing.F) {
	for _, body := range []string{
		"5\r\nhello\r\n0\r\n\r\n", "5;chunk-signature=ab\r\nhello\r\n0;chunk-signature=cd\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n", "0\n", "", "f\r\n", "zz", "1\r\na0",
		"7fffffffffffffff\r\na", "0\r\na\r\n", "0\r\n:\r\n:\r\n\r\n",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		whole := newChunked(bytes.NewReader(body))
		data, err := io.ReadAll(whole)
		if len(data) > len(body) {
			t.Errorf("%d bytes of %d", len(data), len(body))
		}
		if err != nil {
			if reported := (&call{}).of(err); reported.status >= 500 {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		slow := newChunked(iotest.OneByteReader(bytes.NewReader(body)))
		again, err := io.ReadAll(iotest.OneByteReader(slow))
		if err != nil || !bytes.Equal(data, again) || len(slow.trailers) != len(whole.trailers) {
			t.Errorf("%q: %q and %q, %v", body, data, again, err)
		}
	})
}
