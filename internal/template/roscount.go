package template

// rosCounted reads how often a resource is there.
func (p *parser) rosCounted(r *Resource, n Node, where path) {
	if p.processed {
		p.coded(rosValidationFailed, n, where, "A template that was processed has no Count.")
		return
	}
	r.count = n
}
