package objects

// Settings of a bucket of OSS, by their names in [catalog.Bucket]. They are recorded and have no effect.
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

// BucketACLs are the access control lists that a bucket may have.
func BucketACLs() []string { return []string{Private, "public-read", "public-read-write"} }

// StorageClasses are the storage classes that a bucket may have.
func StorageClasses() []string {
	return []string{StandardStorage, "IA", "Archive", "ColdArchive", "DeepColdArchive"}
}

// Redundancies are the ways to keep data that a bucket may have.
func Redundancies() []string { return []string{DefaultRedundancy, "ZRS"} }
