package experiment

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Each preset, made narrow, is a network and an output layer that fit together and learn, with its own method and with
// every one that it tells published figures of.
func TestPresetsBuild(t *testing.T) {
	torch.SetThreads(1)
	built := map[Task]int{}
	data := t.TempDir()
	eachPreset(t, func(t *testing.T, s *Spec, p *Preset, c Config) {
		methods := []string{c.Objective.Method}
		for _, row := range p.Published {
			if method, _, _ := strings.Cut(row, ":"); !slices.Contains(methods, method) {
				methods = append(methods, method)
			}
		}
		for _, method := range methods {
			settings, err := Parse(s, []string{"-data", data, "-preset", p.Name, "-method", method})
			if err != nil {
				t.Errorf("%s: %v", method, err)
				continue
			}
			c := settings.Config
			narrow(&c)
			torch.Test(t, func() {
				if s.Task == LanguageModel {
					tryLanguage(t, method, c)
				} else {
					tryTranslation(t, method, c)
				}
			})
			built[s.Task]++
		}
	})
	if built[LanguageModel] < 40 || built[Translation] < 15 {
		t.Errorf("only %d language models and %d translators were built", built[LanguageModel], built[Translation])
	}
}

// narrow leaves a configuration's layers and makes them small.
func narrow(c *Config) {
	c.Model.Width, c.Model.Hidden, c.Model.Heads, c.Model.FFNWidth, c.Model.Memory = 8, 9, 2, 10, 4
	if c.Model.LastHidden > 0 {
		c.Model.LastHidden = 11
	}
	if objectives.Of[objectives.AdaptiveSettings](c.Objective).AdaptiveCutoffs != "" {
		c.Objective.Set("adaptive_cutoffs", "6,12,18")
	}
	c.Data.Merges = min(c.Data.Merges, 50)
}

func tryLanguage(t *testing.T, method string, c Config) {
	t.Helper()
	words := corpus.NewWords()
	for i := range 24 {
		words.ID(string(rune('a' + i)))
	}
	m, err := language.New(c.Language(), words, torch.CPU)
	if err != nil {
		t.Errorf("%s: %v", method, err)
		return
	}
	defer m.Free()
	const rows, columns = 3, 2
	tryUpdate(t, method, c, m.Params, m.Output, func(dropout *torch.Stream) (torch.States, torch.Tensor) {
		states, _ := m.Network.Forward(models.Chunk{IDs: []int64{0, 3, 1, 4, 2, 5}, Time: rows, Columns: columns}, nil,
			dropout)
		return states, torch.FromInt64s([]int64{1, 4, 2, 5, 23, 6}, torch.CPU, rows*columns)
	})
}

func tryTranslation(t *testing.T, method string, c Config) {
	t.Helper()
	text, _, _ := sample.Translation(1, 60, 1, 1)
	pair, err := translation.LearnText(c.Translation(), bitext.InMemory(text.Source, text.Target), nil)
	if err != nil {
		t.Errorf("%s: %v", method, err)
		return
	}
	m, err := translation.New(c.Translation(), pair, torch.CPU)
	if err != nil {
		t.Errorf("%s: %v", method, err)
		return
	}
	defer m.Free()
	pairs := corpus.Encode(text.Source[:8], text.Target[:8], pair.Source.Encode, pair.Target.Encode)
	batch := corpus.EvaluationBatches(pairs, 10000, 0)[0]
	tryUpdate(t, method, c, m.Params, m.Output,
		func(dropout *torch.Stream) (torch.States, torch.Tensor) { return m.Forward(batch, dropout) })
}

// tryUpdate makes an update, as training does: every parameter has a gradient, and the loss is still a number after it.
func tryUpdate(t *testing.T, method string, c Config, params *torch.Params, output *objectives.Output,
	forward func(dropout *torch.Stream) (torch.States, torch.Tensor)) {
	t.Helper()
	scope := torch.OpenScope()
	defer scope.Close()
	states, targets := forward(torch.NewStream(1, "dropout"))
	loss, _ := output.Loss(states, targets, 1/float64(targets.Size(0)))
	loss.Backward()
	output.Penalize()
	for i, p := range params.Tensors() {
		g := p.Grad()
		if !g.Defined() {
			t.Errorf("%s: %s learns nothing", method, params.Names()[i])
			continue
		}
		if sum := g.Abs().Sum().Item(); !(sum >= 0 && sum < 1e6) {
			t.Errorf("%s: the gradient of %s sums up to %g", method, params.Names()[i], sum)
		}
	}
	output.ClipGrad(params.Tensors(), c.Train.ClipNorm)
	rate := min(c.Train.LearningRate, 0.1)
	torch.SGD(params.Tensors(), rate, 0)
	output.Constrain(rate)
	torch.NoGrad(func() {
		states, targets = forward(nil)
		if after := output.NLL(states, targets).Mean().Item(); math.IsNaN(after) || math.IsInf(after, 0) {
			t.Errorf("%s: after an update the loss is %v, before %v", method, after, loss.Item())
		}
	})
}
