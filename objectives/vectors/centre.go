package vectors

import (
	"fmt"

	"github.com/aperture-ml/aperture/tokenize"
)

// Centre subtracts the mean of the words' vectors from each, and scales them to length 1 again. Vectors that were
// learnt without it often share a direction, which says nothing of a word and brings all cosines near to each other (Mu
// and Viswanath 2018). A table is centred when it is covered, so that the mean is that of the words which stay, each
// once.
//
// <unk> and a </s> of the file lie among the words and move with them; the constant that </s> has otherwise stays. It
// is an error where a word is left without a vector, being the mean itself.
func (t *Table) Centre(v *tokenize.Vocabulary) error {
	mean, words := make([]float64, t.Width), 0
	for id := int32(tokenize.Unk + 1); id < t.len(); id++ {
		if !t.Has(id) {
			continue
		}
		words++
		for i, x := range t.Row(id) {
			mean[i] += float64(x)
		}
	}
	for id := int32(tokenize.EOS); id < t.len(); id++ {
		if !t.Has(id) || id == tokenize.EOS && t.End != FromFile {
			continue
		}
		row, squares := t.Row(id), 0.0
		for i, sum := range mean {
			x := float64(row[i]) - sum/float64(words)
			row[i] = float32(x)
			squares += x * x
		}
		if squares > 1e-10 && normalize(row) { // less is rounding
			continue
		}
		if id > tokenize.Unk {
			return fmt.Errorf("objective.vectors_centre = true leaves %q without a target vector, for it has the mean "+
				"of all: set it to false", v.Token(id))
		}
		clear(row)
		t.Missing++
	}
	return nil
}
