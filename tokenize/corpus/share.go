package corpus

// Share is some lines of a text. The zero Share is all of them.
type Share struct {
	every int  // the text is cut into stretches of so many lines; 0: all lines
	of    kind // those that belong to it
}

// kind says what a line is for.
type kind int

const (
	forTraining kind = 1 << iota
	forValidation
	forTests
)

// HoldOut holds lines of a training text out of training where there is no other text for validation or for tests: about wanted lines
// for each, spread evenly over the text, which may be sorted, and at most a twentieth of it.
func HoldOut(lines, wanted int, validation, tests bool) (training, valid, test Share) {
	every := max(20, (lines+wanted-1)/wanted)
	training = Share{every, forTraining | forValidation | forTests}
	if validation {
		training.of &^= forValidation
	}
	if tests {
		training.of &^= forTests
	}
	return training, Share{every, forValidation}, Share{every, forTests}
}

// Every is how many lines a stretch has, of which a share that is held out gets one; 0 for all lines.
func (s Share) Every() int { return s.every }

// has reports whether a line, counted from 1, belongs to the share.
func (s Share) has(number int) bool {
	if s.every == 0 {
		return true
	}
	switch number % s.every {
	case 0:
		return s.of&forValidation != 0
	case s.every / 2:
		return s.of&forTests != 0
	}
	return s.of&forTraining != 0
}

// number is that of line i of the share in the whole text, both counted from 1.
func (s Share) number(i int) int {
	if s.every == 0 {
		return i
	}
	of := 0
	for at := 1; at <= s.every; at++ {
		if s.has(at) {
			of++
		}
	}
	number := (i - 1) / of * s.every
	for left := (i-1)%of + 1; left > 0; {
		if number++; s.has(number) {
			left--
		}
	}
	return number
}
