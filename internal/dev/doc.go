// Package dev is a directory of packages that only those need who work on Pintle: servers for tests (PostgreSQL,
// moto, an S3), the search for installed clients, tests of whole apps and of a stack's life, benchmarks, release
// archives, and the rules about imports.
//
// None of it is part of the program. It may import everything, and only tests and make targets import it.
package dev
