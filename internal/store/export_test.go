package store

// MaxDecodedBytes is maxDecodedBytes.
const MaxDecodedBytes = maxDecodedBytes

// Remembered returns the size in bytes of the encoded bodies that a codec caches.
func Remembered(c Codec) (size int) {
	for _, generation := range []map[string]any{c.decoded.young, c.decoded.old} {
		for key := range generation {
			size += len(key)
		}
	}
	return size
}
