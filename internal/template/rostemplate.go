package template

// parseROS reads a template of ROS, or one whose counted resources were multiplied.
func parseROS(body string, limits Limits, processed bool) (*Template, error) {
	p := &parser{template: newTemplate(body, limits), extended: processed}
	p.template.Language = ROS
	root, err := read(body)
	if err != nil {
		return nil, err
	}
	return p.whole(root)
}
