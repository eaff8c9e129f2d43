module github.com/pintle-dev/pintle/bench

go 1.26.0

require github.com/google/go-cmp v0.7.0

replace github.com/pintle-dev/pintle => ../
