package exchange

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stored is a variable as model.bin has it.
type stored struct {
	shape []uint32
	kind  uint8
	data  []byte
}

func (s stored) floats() (values []float32) {
	for i := 0; i < len(s.data); i += 4 {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(s.data[i:])))
	}
	return values
}

// readBin reads model.bin as CTranslate2's loader does, and fails where anything is not as that wants it.
func readBin(t *testing.T, folder string) (variables map[string]stored, aliases map[string]string) {
	t.Helper()
	r := bytes.NewReader([]byte(readText(t, folder, "model.bin")))
	number := func(x any) {
		if err := binary.Read(r, binary.LittleEndian, x); err != nil {
			t.Fatal(err)
		}
	}
	word := func() uint32 { var n uint32; number(&n); return n }
	text := func() string {
		var n uint16
		number(&n)
		s := make([]byte, n)
		if _, err := io.ReadFull(r, s); err != nil || s[n-1] != 0 {
			t.Fatalf("a string without its end: %q, %v", s, err)
		}
		return string(s[:n-1])
	}
	if version, spec, revision := word(), text(), word(); version != 6 || spec != "TransformerSpec" || revision != 7 {
		t.Fatalf("version %d of %s %d", version, spec, revision)
	}
	variables, aliases = map[string]stored{}, map[string]string{}
	last := ""
	for range word() {
		var v stored
		var rank uint8
		name := text()
		number(&rank)
		count := uint32(1)
		for range rank {
			v.shape = append(v.shape, word())
			count *= v.shape[len(v.shape)-1]
		}
		number(&v.kind)
		v.data = make([]byte, word())
		if _, err := io.ReadFull(r, v.data); err != nil {
			t.Fatal(err)
		}
		if size := []uint32{4, 1, 2, 4, 2, 2}[v.kind]; uint32(len(v.data)) != count*size || name <= last {
			t.Fatalf("%s behind %s has %d bytes for %d numbers of %d", name, last, len(v.data), count, size)
		}
		variables[name], last = v, name
	}
	for range word() {
		alias := text()
		aliases[alias] = text()
		if _, found := variables[aliases[alias]]; !found {
			t.Errorf("%s stands for %s, which is not there", alias, aliases[alias])
		}
	}
	if r.Len() > 0 {
		t.Errorf("%d bytes follow", r.Len())
	}
	return variables, aliases
}

// TestCTranslate2 reads what is written back: the names of CTranslate2's layout, joined maps, aliases of tied matrices,
// and a bias that keeps padding and <s> out.
func TestCTranslate2(t *testing.T) {
	for tying, want := range map[string]map[string]string{
		"all": {"encoder/embeddings_0/weight": "decoder/embeddings/weight",
			"decoder/projection/weight": "decoder/embeddings/weight"},
		"decoder": {"decoder/projection/weight": "decoder/embeddings/weight"},
		"none":    {},
	} {
		folder, m := t.TempDir(), fixture(tying, true, true)
		if err := WriteCTranslate2(folder, m, Options{}); err != nil {
			t.Fatal(err)
		}
		variables, aliases := readBin(t, folder)
		if diff := cmp.Diff(want, aliases); diff != "" {
			t.Errorf("tying %s: %s", tying, diff)
		}
		for name, from := range map[string]string{
			"encoder/position_encodings/encodings":           encoderPositions,
			"decoder/position_encodings/encodings":           "decoder.embed_positions.weight",
			"encoder/layer_norm/beta":                        "encoder.layer_norm.bias",
			"encoder/layer_0/ffn/linear_1/weight":            "encoder.layers.0.fc2.weight",
			"decoder/layer_1/self_attention/linear_1/weight": "decoder.layers.1.self_attn.out_proj.weight",
			"decoder/layer_norm/gamma":                       "decoder.layer_norm.weight",
			"decoder/layer_1/attention/linear_0/weight":      "decoder.layers.1.encoder_attn.q_proj.weight",
			"decoder/layer_1/attention/linear_2/bias":        "decoder.layers.1.encoder_attn.out_proj.bias",
			"decoder/layer_1/attention/layer_norm/beta":      "decoder.layers.1.encoder_attn_layer_norm.bias",
			"encoder/layer_0/ffn/linear_0/weight":            "encoder.layers.0.fc1.weight",
			"encoder/layer_0/ffn/layer_norm/gamma":           "encoder.layers.0.final_layer_norm.weight",
			"encoder/layer_0/self_attention/linear_1/bias":   "encoder.layers.0.self_attn.out_proj.bias",
			"decoder/embeddings/weight":                      decoderEmbedding,
		} {
			if v := variables[name]; !slices.Equal(v.floats(), m.Tensors[from].Values) || v.kind != typeFloat32 {
				t.Errorf("tying %s: %s is not %s", tying, name, from)
			}
		}
		for name, parts := range map[string][]string{"self_attention/linear_0": {"self_attn.q", "self_attn.k",
			"self_attn.v"}, "attention/linear_1": {"encoder_attn.k", "encoder_attn.v"}} {
			var weights, biases []float32
			for _, part := range parts {
				weights = append(weights, m.Tensors["decoder.layers.0."+part+"_proj.weight"].Values...)
				biases = append(biases, m.Tensors["decoder.layers.0."+part+"_proj.bias"].Values...)
			}
			w, b := variables["decoder/layer_0/"+name+"/weight"], variables["decoder/layer_0/"+name+"/bias"]
			if !slices.Equal(w.floats(), weights) || !slices.Equal(w.shape, []uint32{6 * uint32(len(parts)), 6}) ||
				!slices.Equal(b.floats(), biases) {
				t.Errorf("%s is not %v, with the shape %v", name, parts, w.shape)
			}
		}
		bias := variables["decoder/projection/bias"].floats()
		if bias[0] != neverScore || bias[1] != neverScore || !slices.Equal(bias[2:], m.bias()[2:]) {
			t.Errorf("the bias is %v", bias)
		}
		for name, value := range map[string]byte{
			"encoder/num_heads": 2, "decoder/pre_norm": 1, "decoder/activation": 0, "decoder/scale_embeddings": 1,
			"decoder/alignment_layer": 255, "decoder/start_from_zero_embedding": 0, "encoder/embeddings_merge": 0,
		} {
			if v := variables[name]; len(v.shape) > 0 || len(v.data) == 0 || v.data[0] != value {
				t.Errorf("%s is %v", name, v)
			}
		}
		if words := readJSON[[]string](t, folder, "shared_vocabulary.json"); !slices.Equal(words, m.Source) {
			t.Errorf("the vocabulary is %q", words)
		}
		config := readJSON[map[string]any](t, folder, "config.json")
		if config["decoder_start_token"] != "</s>" || config["layer_norm_epsilon"] != nil ||
			config["add_source_eos"] != true {
			t.Errorf("config.json is %v", config)
		}
	}
}

// TestCTranslate2Settings: what CTranslate2 computes otherwise where a setting is wrong.
func TestCTranslate2Settings(t *testing.T) {
	for _, c := range []struct {
		activation string
		number     byte // of CTranslate2's ActivationType
		zero       bool
		epsilon    float64
		config     any
	}{
		{"relu", 0, false, 1e-5, nil}, {"gelu_tanh", 1, true, 1e-6, 1e-6}, {"swish", 2, false, 1e-9, 1e-9},
		{"gelu", 3, true, 1e-5, nil},
	} {
		folder, m := t.TempDir(), fixture("all", false, false)
		m.Activation, m.ZeroStart, m.Epsilon = c.activation, c.zero, c.epsilon
		if err := WriteCTranslate2(folder, m, Options{}); err != nil {
			t.Fatal(err)
		}
		variables, _ := readBin(t, folder)
		for _, side := range []string{"encoder", "decoder"} {
			if v := variables[side+"/activation"]; v.data[0] != c.number {
				t.Errorf("%s of the %s is %v", c.activation, side, v)
			}
		}
		if v := variables["decoder/start_from_zero_embedding"]; (v.data[0] == 1) != c.zero {
			t.Errorf("a start of zeros %v is %v", c.zero, v)
		}
		if got := readJSON[map[string]any](t, folder, "config.json")["layer_norm_epsilon"]; got != c.config {
			t.Errorf("epsilon %v is %v", c.epsilon, got)
		}
	}
}

// TestQuantised: matrices have integers and scales, all else floating point of the width asked for.
func TestQuantised(t *testing.T) {
	for f, kind := range map[Format]uint8{Int8: typeInt8, Int16: typeInt16, Float16: typeFloat16,
		BFloat16: typeBFloat16} {
		folder, m := t.TempDir(), fixture("decoder", false, false)
		m.Target = append(slices.Clone(m.Source[:7]), "xyz")
		if err := WriteCTranslate2(folder, m, Options{Quantise: f}); err != nil {
			t.Fatal(err)
		}
		variables, _ := readBin(t, folder)
		scaled := f == Int8 || f == Int16
		for name, v := range variables {
			if len(v.shape) == 0 && !strings.HasSuffix(name, "_scale") {
				continue // a setting
			}
			scale, has := variables[name+"_scale"]
			if matrix := strings.HasSuffix(name, "/weight"); matrix != (v.kind == kind) && scaled ||
				has != (matrix && scaled) {
				t.Errorf("%s: %s has type %d", f, name, v.kind)
			}
			if f == Int8 && has && !slices.Equal(scale.shape, v.shape[:1]) || f == Int16 && has &&
				len(scale.shape) != 0 {
				t.Errorf("%s: the scale of %s has the shape %v", f, name, scale.shape)
			}
		}
		if got := readJSON[[]string](t, folder, "target_vocabulary.json"); got[7] != "xyz" {
			t.Errorf("the target's vocabulary is %q", got)
		}
	}
}

// TestBadWeights: numbers that are none, and shapes that do not fit, are refused by name.
func TestBadWeights(t *testing.T) {
	for says, change := range map[string]func(m *Model){
		"decoder.layers.0.fc1.bias holds a number that is not finite": func(m *Model) {
			m.Tensors["decoder.layers.0.fc1.bias"].Values[3] = float32(math.NaN())
		},
		"which is too large for float16": func(m *Model) { m.Tensors[decoderEmbedding].Values[0] = 1e6 },
		"has no weight encoder.layers.0.fc2.weight": func(m *Model) {
			delete(m.Tensors, "encoder.layers.0.fc2.weight")
		},
		"decoder.embed_tokens.weight has the shape [8 6] where vocabulary and width want [7 " +
			"6]": func(m *Model) { m.Target = m.Target[:7] },
		`no activation "sine"`: func(m *Model) { m.Activation = "sine" },
	} {
		m := fixture("decoder", false, false)
		change(m)
		err := WriteCTranslate2(t.TempDir(), m, Options{Quantise: Float16})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; it should say %s", err, says)
		}
	}
}

// TestReadme: the program prepares text as the run's keys say, and a model without its text path has none of it.
func TestReadme(t *testing.T) {
	for says, change := range map[string]func(m *Model){
		"split(tokenise(normalise(line.strip()), aggressive_dash_splits=False, escape=True))": func(*Model) {},
		"split(tokenise(line.strip().lower(), aggressive_dash_splits=True, escape=False))": func(m *Model) {
			m.Text.Lowercase, m.Text.Normalize, m.Text.Aggressive, m.Text.Escape = true, false, true, false
		},
		"    pieces = line.strip().split()\n": func(m *Model) {
			m.Text.Normalize, m.Text.Tokenize, m.Codes = false,
				"none", nil
		},
		`read_vocabulary(` + "\n" + `    open("units.en", encoding="utf-8"), 7)`: func(m *Model) {
			m.Text.VocabularyThreshold, m.Units = 7, []byte("a 9\n")
		},
		"a line in some thousands is split otherwise": func(m *Model) { m.Text.Tokenize = "current" },
		"max_decoding_length=8)":                      func(m *Model) { m.Search.A, m.Search.B = 0, 200 },
		`, no_repeat_ngram_size=3, suppress_sequences=[["<unk>"]])`: func(m *Model) {
			m.Search.NoRepeatNgram, m.Search.NoUnk = 3, true
		},
		"min(8, int(1.2 * (len(pieces) + 1) + 10))":      func(*Model) {},
		"pip install ctranslate2 sacremoses subword-nmt": func(*Model) {},
		"    pieces = coded(line.strip())": func(m *Model) {
			m.Text.SourceUnits, m.Text.TargetUnits, m.Text.Tokenize = "sentencepiece", "sentencepiece", "none"
			m.Codes, m.SentencePiece, m.Source[4], m.Text.Normalize = nil, [2][]byte{{1}, {1}}, ">>deu<<", false
		},
	} {
		folder, m := t.TempDir(), fixture("all", false, false)
		change(m)
		if err := WriteCTranslate2(folder, m, Options{}); err != nil {
			t.Fatal(err)
		}
		if text := strings.ReplaceAll(readText(t, folder, "README.md"), "current one: a\nline", "current one: a line"); !strings.Contains(text, says) {
			t.Errorf("the README lacks %q:\n%s", says, text)
		}
		if m.Units != nil && readText(t, folder, "units.en") != "a 9\n" {
			t.Error("the units are others")
		}
	}
	m := fixture("all", false, false)
	m.Text.Truecase, m.Search.NoUnk = true, true
	var refusal *Refusal
	if err := WriteCTranslate2(t.TempDir(), m, Options{}); !errors.As(err, &refusal) || !refusal.Text {
		t.Errorf("truecasing: %v", err)
	}
	folder := t.TempDir()
	if err := WriteCTranslate2(folder, m, Options{Tokens: true}); err != nil {
		t.Fatal(err)
	}
	if text, says := readText(t, folder, "README.md"), "max_input_length=0, min_decoding_length=1, max_decoding_length="+
		`min(8, int(1.2 * (len(pieces) + 1) + 10)), suppress_sequences=[["<unk>"]])`; !strings.Contains(text, says) {
		t.Errorf("the README of the model alone lacks %q:\n%s", says, text)
	}
	names := map[string]bool{}
	entries, _ := os.ReadDir(filepath.Clean(folder))
	for _, entry := range entries {
		names[entry.Name()] = true
	}
	if want := []string{"README.md", "config.json", "model.bin", "shared_vocabulary.json"}; !slices.Equal(slices.Sorted(maps.Keys(names)), want) {
		t.Errorf("the folder holds %v", names)
	}
}
