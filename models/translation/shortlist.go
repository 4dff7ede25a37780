package translation

import (
	"fmt"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/align"
)

// ReadShortlist reads the file of a short list that runs/text has made for this run, for decode.Options.Shortlist. It
// is an error where the output layer takes none, or the list has pieces that the run does not.
func (t *Translator) ReadShortlist(path string) (*decode.Shortlist, error) {
	if _, _, ok := t.Output.SoftmaxHead(); !ok {
		return nil, decode.ErrNoShortlist
	}
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := align.ReadShortlist(f, path)
	if err != nil {
		return nil, err
	}
	source, target := t.Text.Source.Vocabulary, t.Text.Target.Vocabulary
	known := func(v *tokenize.Vocabulary, pieces ...string) []int32 {
		ids := v.Encode(pieces)
		for i, id := range ids {
			if id == tokenize.Unk && pieces[i] != v.Token(tokenize.Unk) && err == nil {
				err = fmt.Errorf("%s: %.80q is no piece of the run: make the list with `runs/text shortlist -run` and "+
					"this run's folder", path, pieces[i])
			}
		}
		return ids
	}
	out := &decode.Shortlist{Always: known(target, list.Always...), Of: make([][]int32, source.Len())}
	for piece, translations := range list.Of {
		out.Of[known(source, piece)[0]] = known(target, translations...)
	}
	return out, err
}
