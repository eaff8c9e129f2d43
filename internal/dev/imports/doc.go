// Package imports holds the rules about which package may import which, and the map of packages in CONTRIBUTING.md. It has no code but
// tests.
package imports
