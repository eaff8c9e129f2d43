package store

import "sync/atomic"

// Damage remembers that a database has reported damage to its data. Its methods may be called concurrently.
type Damage struct{ first atomic.Pointer[error] }

// Note records an error about damage. Only the first one is kept.
func (d *Damage) Note(err error) { d.first.CompareAndSwap(nil, &err) }

// Err returns the first recorded error, or nil.
func (d *Damage) Err() error {
	if err := d.first.Load(); err != nil {
		return *err
	}
	return nil
}
