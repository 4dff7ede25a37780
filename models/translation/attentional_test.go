package translation_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// recurrent are the settings of a small recurrent translator with that output layer, whose word vectors are as wide as
// its states unless it aims at vectors.
func recurrent(t *testing.T, method, tying string) translation.Settings {
	t.Helper()
	return settings(t, smallConfig, func(s *translation.Settings) {
		s.Model.Kind, s.Model.Tying, s.Model.DecoderLayers = "attentional", tying, 2
		s.Objective.Set("method", method, "vectors_width", 5)
		m, err := s.Objective.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if m.WordTargets {
			s.Text.TargetUnits, s.Model.WordWidth = "word", 6
		}
		if s.Text.Joint = tying == "all"; tying == "none" {
			s.Model.WordWidth = 6
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAttentionalMethods: the network trains with every method, and with every tying that there is for it: each
// parameter gets a gradient, and some updates lower the loss of a batch.
func TestAttentionalMethods(t *testing.T) {
	english, german := numbers(1, 40, 1000)
	var methods []string
	for _, row := range objectives.Methods() {
		methods = append(methods, row.Name)
	}
	methods = append(methods, "spectrum+adversarial", "mos+cosreg", "adaptive+zloss")
	updates := 10
	if device != torch.CPU {
		updates = 4
	}
	for place, method := range methods {
		m, err := objectives.Settings{Method: method}.Resolve()
		if err != nil {
			m, _ = recurrent(t, method, "none").Objective.Resolve()
		}
		for way, tying := range []string{"all", "decoder", "none"} {
			if device != torch.CPU && (place+way)%3 != 0 {
				continue // the checked device is slow, and all tyings have been on the CPU
			}
			if tying == "all" && m.WordTargets {
				continue // languages have no words in common
			}
			if tying == "none" && method == "headless" {
				continue // it aims at the vectors that the decoder reads
			}
			torch.Test(t, func() {
				s := recurrent(t, method, tying)
				made := fresh(t, s)
				defer made.Free()
				pairs := corpus.Encode(english[:8], german[:8], made.Text.Source.Encode, made.Text.Target.Encode)
				batch := corpus.EvaluationBatches(pairs, 10000, 0)[0]
				adam := torch.NewAdam(made.Params.Tensors(), torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-8})
				defer adam.Free()
				stream := torch.NewStream(1, "dropout")
				var losses []float64
				for i := range updates {
					scope := torch.OpenScope()
					states, targets := made.Forward(batch, stream)
					loss, _ := made.Output.Loss(states, targets, 1/float64(batch.Rows))
					losses = append(losses, loss.Item())
					loss.Backward()
					made.Output.Penalize()
					if i == 0 {
						for _, name := range made.Params.Names() {
							norm := torch.ClipGrad([]torch.Tensor{made.Params.Get(name)}, 0).Item()
							if unused := strings.Contains(name, ".clusters.") ||
								strings.Contains(name, ".tails."); !(norm > 0 || unused) || math.IsInf(norm, 1) {
								t.Errorf("%s, tying %s: the gradient of %s is %v long", method, tying, name, norm)
							}
						}
					}
					made.Output.ClipGrad(made.Params.Tensors(), 5)
					adam.Step(0.01)
					torch.ZeroGrad(made.Params.Tensors())
					made.Output.Constrain(0.01)
					scope.Close()
				}
				if first, last := losses[0], losses[len(losses)-1]; !(last < first-0.01*math.Abs(first)) {
					t.Errorf("%s, tying %s: the loss was %.4f and is %.4f", method, tying, first, last)
				}
			})
		}
	}
}

// TestAttentionalTying: which matrices there are and how wide they are; a softmax over word vectors of another width
// than states is refused, unless the output layer has a map.
func TestAttentionalTying(t *testing.T) {
	for _, c := range []struct{ method, tying, want string }{
		{"mle", "all", "decoder.embed_tokens.weight:8"},
		{"mle", "decoder", "decoder.embed_tokens.weight:8 encoder.embed_tokens.weight:8"},
		{"mle", "none", "decoder.embed_tokens.weight:6 decoder.output_projection.weight:8 " +
			"encoder.embed_tokens.weight:6"},
		{"vmf", "decoder", "decoder.embed_tokens.map.bias:6 decoder.embed_tokens.map.weight:5 " +
			"decoder.output_projection.map.bias:5 decoder.output_projection.map.weight:8 " +
			"decoder.output_projection.map_norm.bias:5 decoder.output_projection.map_norm.weight:5 " +
			"encoder.embed_tokens.weight:6"},
		{"vmf", "none", "decoder.embed_tokens.weight:6 decoder.output_projection.map.bias:5 " +
			"decoder.output_projection.map.weight:8 decoder.output_projection.map_norm.bias:5 " +
			"decoder.output_projection.map_norm.weight:5 encoder.embed_tokens.weight:6"},
	} {
		torch.Test(t, func() {
			made := fresh(t, recurrent(t, c.method, c.tying))
			defer made.Free()
			var tables []string
			for _, name := range made.Params.Names() {
				if x := made.Params.Get(name); strings.Contains(name, "embed_tokens") ||
					strings.Contains(name, "output_projection") {
					tables = append(tables, name+":"+string('0'+rune(x.Size(-1))))
				}
				if largest := made.Params.Get(name).Detach().Abs().Reshape(-1).MaxDim(0, false).Item(); !(largest <= 3.2/math.Sqrt(8)) && !strings.Contains(name, "map_norm") {
					t.Errorf("%s, tying %s: an element of %s starts at %g", c.method, c.tying, name, largest)
				}
			}
			slices.Sort(tables)
			if diff := cmp.Diff(c.want, strings.Join(tables, " ")); diff != "" {
				t.Errorf("%s, tying %s:\n%s", c.method, c.tying, diff)
			}
		})
	}
	torch.Test(t, func() {
		s := recurrent(t, "mle", "decoder")
		s.Model.WordWidth = 6
		_, err := translation.New(s, text(t, s), device)
		const want = `hidden states have 8 columns and the output matrix 6: make the two equal, or join the method with mos, or set model.word_width = 0 or model.tying = "none"`
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		s.Objective.Method = "mos"
		made := fresh(t, s)
		made.Free()
	})
}

// TestPublishedAttentional holds the network to the parameters that its authors' program has at the published sizes.
func TestPublishedAttentional(t *testing.T) {
	words := func(n int) *bitext.Side {
		counts := map[string]int{}
		for i := range n - 4 { // the special tokens come first
			counts["word"+string(rune(0x4e00+i%20000))+string(rune(0x4e00+i/20000))] = 1
		}
		return &bitext.Side{Vocabulary: tokenize.NewVocabulary(counts, tokenize.VocabularyOptions{PaddingFactor: 1})}
	}
	s := translation.Defaults()
	s.Model.Kind, s.Model.Width, s.Model.WordWidth, s.Model.Tying = "attentional", 1024, 512, "decoder"
	s.Model.EncoderLayers, s.Model.DecoderLayers = 2, 2
	s.Text.Joint, s.Text.TargetUnits, s.Text.JointCodes = false, "word", false
	s.Objective.Set("method", "vmf", "map_norm", false)
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	torch.Test(t, func() {
		target := words(10)
		pair := &bitext.Sides{Source: words(50004), Target: target,
			Vectors: &vectors.Table{Width: 300, Rows: slices.Repeat([]float32{1}, 10*300)}}
		made, err := translation.New(s, pair, device)
		if err != nil {
			t.Fatal(err)
		}
		defer made.Free()
		if largest := made.Params.Get("mix.weight").Detach().Abs().Reshape(-1).MaxDim(0, false).Item(); !(largest <= 0.1 && largest > 0.0999) {
			t.Errorf("weights start up to %g from 0", largest)
		}
		if got := made.Params.Count(); got != 58602284 {
			t.Errorf("there are %d parameters, want 58,602,284", got)
		}
		parts := map[string]int64{}
		for _, name := range made.Params.Names() {
			part, _, _ := strings.Cut(name, ".")
			if strings.Contains(name, "embed_tokens") || strings.Contains(name, "output_projection") {
				part, _, _ = strings.Cut(strings.TrimPrefix(name, part+"."), ".")
				part = name[:strings.Index(name, part)+len(part)]
			}
			parts[part] += made.Params.Get(name).Count()
		}
		want := map[string]int64{"encoder": 10502144, "decoder": 18890752, "query": 1024 * 1024, "mix": 2 * 1024 * 1024,
			"decoder.embed_tokens": 154112, "decoder.output_projection": 307500, "encoder.embed_tokens": 25602048}
		if diff := cmp.Diff(want, parts); diff != "" {
			t.Error(diff)
		}
	})
}
