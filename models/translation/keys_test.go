package translation_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/torch"
)

// trained says in numbers what a network makes of two sentences in training and in evaluation; refused is why it is
// not made.
func trained(s translation.Settings, text *bitext.Sides) (numbers string, refused error) {
	made, err := translation.New(s, text, device)
	if err != nil {
		return "", err
	}
	defer made.Free()
	scope := torch.OpenScope()
	defer scope.Close()
	torch.NoGrad(func() {
		for _, p := range made.Params.Tensors() { // as they start, a softmax over positions is nearly flat
			p.Assign(p.MulScalar(4))
		}
	})
	source := models.Tokens{IDs: []int64{5, 6, 7, 8, 2, 9, 5, 2, 1, 1}, Rows: 2, Width: 5}
	prev := models.Tokens{IDs: []int64{2, 6, 7, 8, 2, 9, 5, 1}, Rows: 2, Width: 4}
	targets := torch.FromInt64s([]int64{6, 7, 8, 2, 9, 5, 2}, device, 7) // padding has no state
	for _, stream := range []*torch.Stream{torch.NewStream(1, "dropout"), nil} {
		loss, _ := made.Output.Loss(made.Network.Forward(source, prev, stream), targets, 1.0/7)
		numbers += fmt.Sprintf("%.7g ", loss.Item())
	}
	return numbers, nil
}

// TestKeysOfKinds changes each key of the section model for each kind of network: training changes just where the key's
// tag says that the kind reads it.
func TestKeysOfKinds(t *testing.T) {
	section := keys.New[models.Settings]("model")
	hidden := []string{"model.kind", "model.input_noise_end", "model.max_positions"} // no effect on this batch
	for _, kind := range translation.Kinds() {
		s := small(t)
		s.Model.Kind, s.Model.EncoderLayers, s.Model.DecoderLayers = kind, 2, 2
		learnt, base := text(t, s), s.Model
		want := ""
		for _, k := range append([]keys.Key{{}}, section.Keys()...) {
			s.Model = base
			for _, value := range append(k.Choices, "true", "false", "4", "8", "0.3") {
				changed := base
				if section.Set(&changed, k.Name, value) == nil && changed != base {
					s.Model = changed
					break
				}
			}
			if k.Name != "" && s.Model == base {
				t.Fatalf("no other value of %s is known", k.Name)
			}
			if slices.Contains(hidden, k.Name) || s.Check() != nil { // refused in a sentence
				continue
			}
			read := k.Of("translation") && (len(k.Kinds) == 0 || slices.Contains(k.Kinds, kind))
			torch.Test(t, func() {
				got, err := trained(s, learnt)
				switch {
				case k.Name == "" && err != nil:
					t.Fatal(err)
				case k.Name == "":
					want = got
				case err == nil && (got != want) != read:
					t.Errorf("%s: %s is read: %v, and training gives\n%s\nin place of\n%s", kind, k.Name, read, got, want)
				}
			})
		}
	}
}
