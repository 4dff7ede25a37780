package corpus

// Portion is some lines of a text. The zero Portion is all of them.
type Portion struct {
	every int  // the text is cut into stretches of the given number of lines; 0: all lines
	of    kind // those that belong to it
}

// kind says what a line is for.
type kind int

const (
	forTraining kind = 1 << iota
	forValidation
	forTests
)

// HoldOut takes lines out of training text that lacks validation or test text: about wanted lines for each, spread
// evenly, and at most a twentieth.
func HoldOut(lines, wanted int, validation, tests bool) (training, valid, test Portion) {
	every := max(20, (lines+wanted-1)/wanted)
	training = Portion{every, forTraining | forValidation | forTests}
	if validation {
		training.of &^= forValidation
	}
	if tests {
		training.of &^= forTests
	}
	return training, Portion{every, forValidation}, Portion{every, forTests}
}

// Every is how many lines a stretch has, of which a portion that is held out gets one; 0 for all lines.
func (p Portion) Every() int { return p.every }

// has reports whether a line, counted from 1, belongs to the portion.
func (p Portion) has(number int) bool {
	if p.every == 0 {
		return true
	}
	switch number % p.every {
	case 0:
		return p.of&forValidation != 0
	case p.every / 2:
		return p.of&forTests != 0
	}
	return p.of&forTraining != 0
}

// number is that of line i of the portion in the whole text, both counted from 1.
func (p Portion) number(i int) int {
	if p.every == 0 {
		return i
	}
	of := 0
	for at := 1; at <= p.every; at++ {
		if p.has(at) {
			of++
		}
	}
	number := (i - 1) / of * p.every
	for left := (i-1)%of + 1; left > 0; {
		if number++; p.has(number) {
			left--
		}
	}
	return number
}
