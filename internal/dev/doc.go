// Package dev is a directory of packages for the development of Pintle: test servers (PostgreSQL, moto, an S3),
// lookup of installed clients, tests of whole apps and of the life of a stack, benchmarks, release archives, and
// import rules.
//
// None of it is part of the program. It may import everything, and only tests and make targets import it.
package dev
