package objectives

// Joins lists the methods that a method joins with by a plus, in the order of
// Table. mle is left out: it is what a method does where it says nothing else.
func Joins(name string) []string {
	var others []string
	for _, other := range names {
		if other == "mle" || other == name {
			continue
		}
		s := Defaults()
		s.Method = name + "+" + other
		if _, err := s.Resolve(); err == nil {
			others = append(others, other)
		}
	}
	return others
}
