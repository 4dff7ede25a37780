package exchange

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Card is what a model card says of a run beside the model's own keys. Scores and sums that are unknown are missing.
type Card struct {
	Run, Method, Preset string
	Seed, Updates       int64
	Params              int64
	Data                string            // name of the corpus
	Scores              []Score           // of the test texts
	SHA256              map[string]string // of the texts, by file
}

// Score is a figure of a test text.
type Score struct {
	Text, Metric string
	Value        float64
}

// card is README.md of a folder for transformers.
func (m *Model) card(c class, o Options) []byte {
	var b bytes.Buffer
	d, k := m.Text, m.Card
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("---\nlanguage:\n- %q\n- %q\nlicense: unknown", d.Source, d.Target) // in YAML a bare no is false
	say("library_name: transformers\npipeline_tag: translation\n---\n")
	say("# Translator from %s\n", m.Pair())
	say("A Transformer of %d and %d layers, width %d, %d weights, for the class %s.", m.EncoderLayers, m.DecoderLayers,
		m.Width, k.Params, c.name)
	k.trained(say)
	say("License: unknown. It depends on that of the texts below; put yours here and into the first lines.\n")
	say("```python")
	if o.Tokens {
		say("from transformers import AutoModelForSeq2SeqLM\n")
		say(`model = AutoModelForSeq2SeqLM.from_pretrained(".")`)
		say("```\n\nText is prepared and restored outside: source_vocabulary.json and target_vocabulary.json list")
		say("the pieces by id. A source ends with id 2.\n")
	} else {
		tokenizer, wants := "FSMTTokenizer", "sacremoses"
		if m.Text.SentencePiece() {
			tokenizer, wants = "MarianTokenizer", "sentencepiece"
		}
		say("from transformers import AutoModelForSeq2SeqLM, %s\n", tokenizer)
		say("tokenizer = %s.from_pretrained(\".\")  # wants %s", tokenizer, wants)
		say(`model = AutoModelForSeq2SeqLM.from_pretrained(".")`)
		say(`pieces = tokenizer(["A line."], return_tensors="pt", padding=True)`)
		say("print(tokenizer.batch_decode(model.generate(**pieces), skip_special_tokens=True))\n```\n")
	}
	if c.positions {
		say("save_pretrained leaves the position vectors of this class out, and what it wrote is read with sinusoids in their")
		say("place: keep the model.safetensors of this folder.\n")
	}
	k.figures(say)
	return b.Bytes()
}

// trained says how the run was trained, where it has finished; an imported one was trained elsewhere.
func (k Card) trained(say func(format string, args ...any)) {
	if k.Run != "" {
		say("Trained with Aperture: run %s, preset %s, method %s, seed %d, %d updates.", k.Run, k.Preset, k.Method, k.Seed,
			k.Updates)
	}
	say("")
}

// figures are the tables of scores and of sums.
func (k Card) figures(say func(format string, args ...any)) {
	if len(k.Scores) > 0 {
		say("| text | metric | score |\n|---|---|---|")
		for _, s := range k.Scores {
			say("| %s | %s | %.2f |", s.Text, strings.ReplaceAll(s.Metric, "|", `\|`), s.Value)
		}
		say("")
	}
	if len(k.SHA256) > 0 {
		say("SHA-256 of the texts of corpus %q:\n", k.Data)
		for _, name := range slices.Sorted(maps.Keys(k.SHA256)) {
			say("    %s  %s", k.SHA256[name], name)
		}
	}
}
