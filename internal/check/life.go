package check

// life is what happens to every resource.
func life(s *scene) {
	given := s.run.given
	of, _ := s.made()
	s.update(of, given.first, given.first, same, "update-refused", "with the same properties")
	s.remove(of, given.first, "delete-refused")
}
