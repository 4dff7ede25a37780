package language_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/torch"
)

// trained says in numbers what a network makes of three chunks in training, and of one in evaluation.
func trained(t *testing.T, s language.Settings) (numbers string) {
	t.Helper()
	torch.Test(t, func() {
		m, err := language.New(s, fewWords(24), device)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		scope := torch.OpenScope()
		defer scope.Close()
		torch.NoGrad(func() {
			for _, p := range m.Params.Tensors() { // as they start, a softmax over positions is nearly flat
				p.Assign(p.MulScalar(10))
			}
		})
		x := models.Chunk{IDs: []int64{0, 3, 1, 4, 2, 5}, Time: 3, Columns: 2}
		var carried models.Carried
		for i := range 4 {
			var stream *torch.Stream
			if i < 3 {
				stream = torch.NewStream(uint64(i), "dropout")
			}
			var states torch.States
			states, carried = m.Network.Forward(x, carried, stream)
			loss, _ := m.Output.Loss(states, torch.FromInt64s([]int64{1, 4, 2, 5, 23, 6}, device, 6), 1.0/6)
			numbers += fmt.Sprintf("%.7g ", loss.Item())
			for _, term := range states.Terms {
				numbers += fmt.Sprintf("%s %.7g ", term.Name, term.Weight*term.Value.Item())
			}
		}
	})
	return numbers
}

// TestKeysOfKinds changes each key of the section model, and those of terms, for each kind of network: training changes
// just where the key's tag says that the kind reads it.
func TestKeysOfKinds(t *testing.T) {
	sections := keys.New[struct {
		Model models.Settings           `toml:"model"`
		Train models.ActivationSettings `toml:"train" kinds:"awd-lstm qrnn gru"`
	}]("")
	hidden := []string{ // read, but refused without another key, or with no effect on these few chunks
		"model.kind", "model.last_hidden", "model.input_noise_end", "model.max_positions",
	}
	for _, kind := range language.Kinds() {
		base := sections.Defaults()
		base.Model.Kind, base.Model.Layers, base.Model.Width, base.Model.Hidden = kind, 2, 8, 9
		base.Model.Heads, base.Model.FFNWidth, base.Model.Memory, base.Model.MaxPositions = 2, 10, 4, 100
		want := ""
		for _, k := range append([]keys.Key{{}}, sections.Keys()...) {
			with := base
			read := k.Of("language model") && (len(k.Kinds) == 0 || slices.Contains(k.Kinds, kind))
			if k.Name != "" {
				if slices.Contains(hidden, k.Name) {
					continue
				}
				for _, value := range append(k.Choices, "true", "false", "4", "3", "0.3") {
					changed := base
					if sections.Set(&changed, k.Name, value) == nil && changed != base {
						with = changed
						break
					}
				}
				if with == base {
					t.Fatalf("no other value of %s is known", k.Name)
				}
			}
			s := language.Defaults()
			s.Model, s.Train.ActivationSettings, s.Train.Random = with.Model, with.Train, false
			if s.Check() != nil { // refused in a sentence
				continue
			}
			got := trained(t, s)
			if k.Name == "" {
				want = got
			} else if (got != want) != read {
				t.Errorf("%s: %s is read: %v, and training gives\n%s\nin place of\n%s", kind, k.Name, read, got, want)
			}
		}
	}
}
