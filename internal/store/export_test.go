package store

// MaxDecodedBytes is maxDecodedBytes.
const MaxDecodedBytes = maxDecodedBytes

// Remembered returns how many bytes of encoded bodies a codec remembers.
func Remembered(c Codec) (size int) {
	for _, generation := range []map[string]any{c.decoded.young, c.decoded.old} {
		for key := range generation {
			size += len(key)
		}
	}
	return size
}
