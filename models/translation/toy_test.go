package translation_test

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// The toy languages count: "Forty-seven, three and eight." is "Siebenundvierzig, drei und acht." Their words have parts
// that byte-pair encoding finds, and numbers of one digit are translated word by word, which a small network soon
// learns.

var (
	englishOnes = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen " +
		"fourteen fifteen sixteen seventeen eighteen nineteen")
	germanOnes = strings.Fields("null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn " +
		"vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn")
	englishTens = strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety")
	germanTens  = strings.Fields("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
)

// inEnglish is a number below 1000.
func inEnglish(n int) string {
	switch {
	case n < 20:
		return englishOnes[n]
	case n < 100 && n%10 == 0:
		return englishTens[n/10-2]
	case n < 100:
		return englishTens[n/10-2] + "-" + englishOnes[n%10]
	case n%100 == 0:
		return englishOnes[n/100] + " hundred"
	}
	return inEnglish(n-n%100) + " and " + inEnglish(n%100)
}

func inGerman(n int) string {
	before := func(digit int) string { // another part of the word
		if digit == 1 {
			return "ein"
		}
		return germanOnes[digit]
	}
	switch {
	case n < 20:
		return germanOnes[n]
	case n < 100 && n%10 == 0:
		return germanTens[n/10-2]
	case n < 100:
		return before(n%10) + "und" + germanTens[n/10-2]
	case n%100 == 0:
		return before(n/100) + "hundert"
	}
	return inGerman(n-n%100) + inGerman(n%100)
}

// numbers are lines of two to five numbers below a limit.
func numbers(seed uint64, lines, below int) (source, target []string) {
	random := rand.New(rand.NewPCG(seed, 0))
	for range lines {
		list := make([]int, 2+random.IntN(4))
		for i := range list {
			list[i] = random.IntN(below)
		}
		source, target = append(source, sentence(list, inEnglish, " and ")),
			append(target, sentence(list, inGerman, " und "))
	}
	return source, target
}

// figures puts a figure of its own into every third line, which is the same in both languages.
func figures(source, target []string) {
	for i := 0; i < len(source); i += 3 {
		for _, lines := range [][]string{source, target} {
			words := strings.Fields(lines[i])
			at := i % len(words)
			if words[at] == "and" || words[at] == "und" {
				continue
			}
			mark := words[at][len(strings.TrimRight(words[at], ",.")):]
			words[at] = strconv.Itoa(1000+i) + mark
			lines[i] = strings.Join(words, " ")
		}
	}
}

func sentence(list []int, word func(int) string, and string) string {
	text := word(list[0])
	for i, n := range list[1:] {
		gap := ", "
		if i == len(list)-2 {
			gap = and
		}
		text += gap + word(n)
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// smallConfig is of a network that is made in no time.
const smallConfig = `
[data]
merges = 50

[model]
encoder_layers = 1
decoder_layers = 1
width = 8
ffn_width = 16
heads = 2
max_positions = 32
`

// digitsConfig is of a network that learns to translate lines of digits in a second, knows few positions, and no rare
// words.
const digitsConfig = `
[data]
merges = 0
min_count = 3

[model]
encoder_layers = 1
decoder_layers = 1
width = 32
ffn_width = 64
heads = 4
max_positions = 16
dropout = 0.0

[objective]
label_smoothing = 0.0

[decode]
beam = 3
lenpen = 0.6
max_length_b = 12
`

// write begins a run folder with its configuration, and reads that.
func write(path, config string) (translation.Settings, error) {
	if err := os.WriteFile(filepath.Join(path, "config.toml"), []byte(config), 0o644); err != nil {
		return translation.Settings{}, err
	}
	return translation.ReadSettings(path)
}

// settings are those of a configuration, changed.
func settings(t testing.TB, config string, change func(*translation.Settings)) translation.Settings {
	t.Helper()
	s, err := write(t.TempDir(), config)
	if err != nil {
		t.Fatal(err)
	}
	s.Seed = 1
	change(&s)
	return s
}

// saved is a file of a checkpoint with the weights times a factor.
func saved(name string, made *translation.Translator, factor float64) checkpoint.File {
	return checkpoint.File{Name: name, Write: func(w io.Writer) error {
		scope := torch.OpenScope()
		defer scope.Close()
		all := made.Params.Map()
		for name, x := range all {
			all[name] = x.Detach().MulScalar(factor)
		}
		return torch.WriteSafetensors(w, all, nil)
	}}
}

// attentionalConfig is of a recurrent translator that learns the same.
var attentionalConfig = strings.NewReplacer("[model]",
	"[model]\nkind = \"attentional\"\nword_width = 24\ntying = \"none\"", "decoder_layers = 1",
	"decoder_layers = 2").Replace(digitsConfig)

// learntRun is a run folder with a translator of digits, made when it is first asked for.
type learntRun struct {
	config string
	once   sync.Once
	folder string
	err    error
}

var learntDigits, learntAttentional = &learntRun{config: digitsConfig}, &learntRun{config: attentionalConfig}

// open gives the folder of a run that has learnt to translate lines of digits, such as "One, two and nine."
func (l *learntRun) open() (string, error) {
	l.once.Do(func() {
		if l.folder, l.err = os.MkdirTemp("", "digits"); l.err == nil {
			torch.Do(func() { l.err = torch.Try(func() error { return train(l.folder, l.config) }) })
		}
	})
	return l.folder, l.err
}

// digits is the folder of the Transformer's run.
func digits() (string, error) { return learntDigits.open() }

// train writes a run folder, as a training run would.
func train(path, config string) error {
	s, err := write(path, config)
	if err != nil {
		return err
	}
	s.Seed = 1
	source, target := numbers(1, 2000, 10)
	figures(source, target)
	pair, err := translation.LearnText(s, bitext.InMemory(source, target), nil)
	if err != nil {
		return err
	}
	if err := translation.SaveText(pair, filepath.Join(path, bitext.TokenizerFolder)); err != nil {
		return err
	}
	made, err := translation.New(s, pair, device)
	if err != nil {
		return err
	}
	defer made.Free()
	pairs := corpus.Encode(source, target, pair.Source.Encode, pair.Target.Encode)
	loader, err := corpus.NewLoader(pairs, corpus.Options{BatchSettings: corpus.BatchSettings{MaxTokens: 500}, Seed: 1},
		corpus.Position{})
	if err != nil {
		return err
	}
	defer loader.Close()
	scope := torch.OpenScope()
	defer scope.Close()
	adam := torch.NewAdam(made.Params.Tensors(), torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-9})
	defer adam.Free()
	stream := torch.NewStream(1, "dropout")
	const steps = 300
	for step := range steps {
		update, err := loader.Next()
		if err != nil {
			return err
		}
		scope := torch.OpenScope()
		states, targets := made.Forward(update.Batches[0], stream)
		loss, _ := made.Output.Loss(states, targets, 1/float64(update.Tokens))
		loss.Backward()
		adam.Step(0.01 * float64(steps-step) / steps)
		torch.ZeroGrad(made.Params.Tensors())
		scope.Close()
	}
	store := checkpoint.Store{Dir: filepath.Join(path, checkpoint.Folder)}
	return store.Save(1, []checkpoint.File{saved(checkpoint.ModelFile, made, 1)}, nil)
}
