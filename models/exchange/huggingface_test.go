package exchange

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/safetensors"
	"github.com/aperture-ml/aperture/tokenize"
)

// faceFolder is what a folder for transformers holds.
type faceFolder struct {
	config, generation map[string]any
	names              []string
	weights            map[string][]float32
	shapes             map[string][]int64
}

func writeFace(t *testing.T, m *Model) (string, faceFolder) {
	t.Helper()
	folder := t.TempDir()
	m.Text.Aggressive = true
	if err := WriteHuggingFace(folder, m, Options{}); err != nil {
		t.Fatal(err)
	}
	f := faceFolder{
		config: readJSON[map[string]any](t, folder, "config.json"), weights: map[string][]float32{},
		shapes:     map[string][]int64{},
		generation: readJSON[map[string]any](t, folder, "generation_config.json"),
	}
	raw := []byte(readText(t, folder, "model.safetensors"))
	size := binary.LittleEndian.Uint64(raw)
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(raw[8:8+size], &entries); err != nil {
		t.Fatal(err)
	}
	delete(entries, safetensors.Metadata)
	for name, text := range entries {
		var e safetensors.JSON
		if err := json.Unmarshal(text, &e); err != nil || e.DType != "F32" {
			t.Fatalf("%s: %v", text, err)
		}
		f.shapes[name] = e.Shape
		for data := raw[8+size:][e.Offsets[0]:e.Offsets[1]]; len(data) > 0; data = data[4:] {
			f.weights[name] = append(f.weights[name], math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
	}
	f.names = slices.Sorted(maps.Keys(entries))
	return folder, f
}

// embeddings are the weights that are no part of a layer.
func (f faceFolder) embeddings() (names []string) {
	for _, name := range f.names {
		if !strings.Contains(name, ".layers.") && !strings.Contains(name, "layer_norm") {
			names = append(names, strings.TrimPrefix(name, "model."))
		}
	}
	return names
}

// TestClasses: which class holds which network, and which matrices it wants written.
func TestClasses(t *testing.T) {
	positions := []string{"decoder.embed_positions.weight", "encoder.embed_positions.weight"}
	for _, c := range []struct {
		name, kind string
		model      *Model
		want       []string
	}{
		{"post-norm", "fsmt", fixture("all", false, false), []string{"decoder.embed_tokens.weight"}},
		{"post-norm, own source", "fsmt", fixture("decoder", false, false),
			[]string{"decoder.embed_tokens.weight", "decoder.output_projection.weight", "encoder.embed_tokens.weight"}},
		{"post-norm, nothing tied", "fsmt", fixture("none", false, false),
			[]string{"decoder.embed_tokens.weight", "decoder.output_projection.weight", "encoder.embed_tokens.weight"}},
		{"pre-norm", "m2m_100", fixture("all", true, false), []string{"shared.weight"}},
		{"bias", "marian", fixture("all", false, true),
			append([]string{"final_logits_bias", "shared.weight"}, positions...)},
		{"bias, nothing tied", "marian", fixture("none", false, true), append([]string{"decoder.embed_tokens.weight",
			"encoder.embed_tokens.weight", "final_logits_bias", "lm_head.weight"}, positions...)},
	} {
		_, f := writeFace(t, c.model)
		got := f.embeddings()
		slices.Sort(got)
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, got); diff != "" || f.config["model_type"] != c.kind {
			t.Errorf("%s: %v\n%s", c.name, f.config["model_type"], diff)
		}
		layer := "decoder.layers.1.encoder_attn.q_proj.weight"
		if !slices.Equal(f.weights["model."+layer], c.model.Tensors[layer].Values) {
			t.Errorf("%s: %s has other numbers", c.name, layer)
		}
		if c.model.bias() != nil && !slices.Equal(f.shapes["final_logits_bias"], []int64{1, 8}) {
			t.Errorf("%s: the bias has the shape %v", c.name, f.shapes["final_logits_bias"])
		}
	}
	for says, m := range map[string]*Model{
		"model.pre_norm = true: train with model.tying":    fixture("decoder", true, false),
		"model.pre_norm = true: train with objective.bias": fixture("all", true, true),
	} {
		var r *Refusal
		if err := WriteHuggingFace(t.TempDir(), m, Options{}); !errors.As(err, &r) || r.Text ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%v; it should say %s", err, says)
		}
	}
	if err := WriteHuggingFace(t.TempDir(), fixture("all", false, false), Options{Quantise: Int8}); err == nil {
		t.Error("int8 is written")
	}
}

// TestFaceText: the tokenizer's files, what generation never chooses, and the model card.
func TestFaceText(t *testing.T) {
	folder, f := writeFace(t, fixture("all", false, false))
	want := map[string]int{"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "a</w>": 5, "ab": 6, "abc</w>": 7}
	for _, name := range []string{"vocab-src.json", "vocab-tgt.json"} {
		if diff := cmp.Diff(want, readJSON[map[string]int](t, folder, name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if text := readText(t, folder, "merges.txt"); text != "a b\nab c</w>\n" {
		t.Errorf("the merges are %q", text)
	}
	if c := readJSON[map[string]any](t, folder, "tokenizer_config.json"); c["tokenizer_class"] != "FSMTTokenizer" ||
		c["do_lower_case"] != false {
		t.Errorf("the tokenizer is %v", c)
	}
	if diff := cmp.Diff([]any{0.0, 1.0}, f.generation["suppress_tokens"]); diff != "" ||
		f.generation["min_new_tokens"] != 1.0 {
		t.Errorf("generation: %v", f.generation)
	}
	card := readText(t, folder, "README.md")
	for _, says := range []string{"license: unknown", `| test | BLEU (a\|b) | 31.25 |`, "00ff  train.en", "method mle",
		"FSMTTokenizer", "- \"en\"\n- \"de\"\n", "Trained with Aperture"} {
		if !strings.Contains(card, says) {
			t.Errorf("the card lacks %q:\n%s", says, card)
		}
	}
	if strings.Contains(card, "save_pretrained") { // FSMT's positions are the sinusoids that it computes
		t.Errorf("the card warns of what is saved:\n%s", card)
	}
	m := fixture("all", false, false)
	m.Text.Truecase, m.Search.NoUnk, m.Card.Run = true, true, ""
	outside := t.TempDir()
	if err := WriteHuggingFace(outside, m, Options{Tokens: true, Quantise: BFloat16}); err != nil {
		t.Fatal(err)
	}
	if card := readText(t, outside, "README.md"); strings.Contains(card, "Trained with") {
		t.Errorf("the card of a model from elsewhere says where it was trained:\n%s", card)
	}
	if c := readJSON[map[string]any](t, outside, "generation_config.json"); len(c["suppress_tokens"].([]any)) != 3 {
		t.Errorf("suppressed are %v", c["suppress_tokens"])
	}
	if words := readJSON[[]string](t, outside, "target_vocabulary.json"); !slices.Equal(words, m.Target) {
		t.Errorf("the vocabulary is %q", words)
	}
	if c := readJSON[map[string]any](t, outside, "config.json"); c["torch_dtype"] != "bfloat16" {
		t.Errorf("the type is %v", c["torch_dtype"])
	}
}

// TestPreNormRefusals: what no pre-norm class of transformers has is refused by the key that the model has it from.
func TestPreNormRefusals(t *testing.T) {
	for want, change := range map[string]func(*Model){
		"train with model.zero_start = false":    func(m *Model) { m.ZeroStart = true },
		`train with model.positions = "sinusoid`: func(m *Model) { m.Positions = Table },
		"model.position_offset = 0, or export":   func(m *Model) { m.Positions = MarianPositions },
	} {
		m := fixture("all", true, false)
		change(m)
		if err := WriteHuggingFace(t.TempDir(), m, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// TestSentencePieceIsWritten: a run that SentencePiece splits becomes Marian's tokenizer, which is read again, and a
// program for CTranslate2; what prepares lines otherwise is refused.
func TestSentencePieceIsWritten(t *testing.T) {
	m := fixture("none", false, true)
	m.Text.SourceUnits, m.Text.TargetUnits = "sentencepiece", "sentencepiece"
	m.Text.Tokenize, m.Text.Normalize = "none", false
	m.Codes, m.SentencePiece = nil, [2][]byte{spmFile, append(slices.Clone(spmFile), 0x1a, 0)}
	m.Target = append(slices.Clone(m.Source[:7]), "other")
	m.Search.A, m.Search.B = 0, 3
	face, ct2 := t.TempDir(), t.TempDir()
	if err := errors.Join(WriteHuggingFace(face, m, Options{}), WriteCTranslate2(ct2, m, Options{})); err != nil {
		t.Fatal(err)
	}
	got, err := Read(face, anyText)
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range got.SentencePiece {
		if !bytes.Equal(data, m.SentencePiece[i]) {
			t.Errorf("model %d is another one", i)
		}
	}
	if !slices.Equal(got.Source, m.Source) || !slices.Equal(got.Target, m.Target) || !got.Text.SentencePiece() ||
		got.Text.Source != "en" || got.Text.Target != "de" || got.Search.B != 3 {
		t.Errorf("%q, %q, %+v, %+v", got.Source, got.Target, got.Text, got.Search)
	}
	for folder, parts := range map[string][]string{
		face: {"AutoModelForSeq2SeqLM, MarianTokenizer\n", "# wants sentencepiece", "save_pretrained leaves the position"},
		ct2: {"pip install ctranslate2 sentencepiece\n", "pieces = split(line.strip(), out_type=str)\n",
			`print(join(pieces).replace("\u2581", " ").strip())`},
	} {
		readme, err := os.ReadFile(filepath.Join(folder, readmeFile))
		for _, part := range parts {
			if err != nil || !strings.Contains(string(readme), part) {
				t.Errorf("%v: README.md does not say %q:\n%s", err, part, readme)
			}
		}
	}
	m.Text.OPUS = true
	for _, err := range []error{WriteHuggingFace(t.TempDir(), m, Options{}), WriteCTranslate2(t.TempDir(), m, Options{})} {
		if err == nil || !strings.Contains(err.Error(), "data.opus_mt = true") {
			t.Errorf("lines that OPUS-MT prepares: %v", err)
		}
	}
}

// TestStartsAtZero: padding, with which the decoder begins, has a vector of zeros for the input, and keeps its own for
// the output.
func TestStartsAtZero(t *testing.T) {
	for _, tying := range []string{"all", "decoder", "none"} {
		m := fixture(tying, false, true)
		m.ZeroStart = true
		output, embedding := m.Tensors[m.output()], m.Tensors[decoderEmbedding].Values
		folder, _ := writeFace(t, m)
		got, err := Read(folder, anyText)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(output, got.Tensors[got.output()]); diff != "" || !got.ZeroStart {
			t.Errorf("%s: zero start %v, the output matrix differs: %s", tying, got.ZeroStart, diff)
		}
		want := slices.Clone(embedding)
		clear(want[tokenize.Pad*m.Width:][:m.Width])
		if diff := cmp.Diff(want, got.Tensors[decoderEmbedding].Values); diff != "" {
			t.Errorf("%s: the decoder's embedding differs: %s", tying, diff)
		}
		if &embedding[0] != &m.Tensors[decoderEmbedding].Values[0] || embedding[tokenize.Pad*m.Width] == 0 {
			t.Errorf("%s: the model was changed", tying)
		}
	}
}
