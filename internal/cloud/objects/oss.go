package objects

// Settings of OSS buckets, by their names in [registry.Bucket]. They are recorded and have no effect.
const (
	SettingACL        = "oss.acl"
	SettingStorage    = "oss.storageClass"
	SettingRedundancy = "oss.redundancy"
)

// Defaults of a bucket.
const (
	Private           = "private"
	StandardStorage   = "Standard"
	DefaultRedundancy = "LRS"
)

// BucketACLs returns the valid access control lists of a bucket.
func BucketACLs() []string { return []string{Private, "public-read", "public-read-write"} }

// StorageClasses returns the valid storage classes of a bucket.
func StorageClasses() []string {
	return []string{StandardStorage, "IA", "Archive", "ColdArchive", "DeepColdArchive"}
}

// Redundancies returns the valid redundancy types of a bucket.
func Redundancies() []string { return []string{DefaultRedundancy, "ZRS"} }
