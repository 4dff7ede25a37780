package exchange

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/translation/bitext"
)

var anyText = Given{Text: bitext.TextSettings{Source: "en", Target: "de", MinCount: 1, JointCodes: true}}

// TestWrittenIsRead: what is written for transformers comes back as it was, in each class.
func TestWrittenIsRead(t *testing.T) {
	for name, m := range map[string]*Model{
		"FSMT": fixture("all", false, false), "FSMT, own source": fixture("decoder", false, false),
		"FSMT, nothing tied": fixture("none", false, false), "M2M100": fixture("all", true, false),
		"Marian": fixture("all", false, true), "Marian, nothing tied": fixture("none", false, true),
	} {
		folder, _ := writeFace(t, m)
		got, err := Read(folder, anyText)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.HasPrefix(name, "Marian") { // whose own sinusoids are others, so that it has tables
			delete(m.Tensors, encoderPositions)
			delete(m.Tensors, decoderPositions)
		} else {
			m.Positions = Table
		}
		if diff := cmp.Diff(m.Tensors, got.Tensors); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(m.Network, got.Network); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		d := got.Text
		if !slices.Equal(got.Source, m.Source) || string(got.Codes) != string(m.Codes) || d.Tokenize != "2017" ||
			!d.Normalize || !d.Aggressive || !d.Escape || d.Source != "en" || d.Target != "de" {
			t.Errorf("%s: the text path is %+v, %q", name, d, got.Source)
		}
		if s := got.Search; s.Beam != 5 || s.LengthPenalty != 1 || s.B != 8 || s.Stop != "" || s.MinLength != 1 {
			t.Errorf("%s: the search is %+v", name, s)
		}
	}
}

// spmFile is a SentencePiece model of three pieces: FuzzImport reads it in most of its executions.
var spmFile = []byte("\n\x09\n\x05<unk>\x18\x02" + "\n\x06\n\x04▁a" + "\n\x03\n\x01b")

func put(t testing.TB, folder, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// marianFace fills a folder as save_pretrained does for a model of OPUS-MT: padding is the last id, its vector zero.
func marianFace(t testing.TB, folder string) {
	t.Helper()
	m := fixture("all", false, true)
	e := m.Tensors[decoderEmbedding]
	copy(e.Values[7*m.Width:], make([]float32, m.Width))
	delete(m.Tensors, encoderPositions)
	delete(m.Tensors, decoderPositions)
	if err := m.writeWeights(filepath.Join(folder, "model.safetensors"), class{names: map[string]string{
		decoderEmbedding: "shared.weight", outputBias: "/final_logits_bias"}}, Float32); err != nil {
		t.Fatal(err)
	}
	put(t, folder, "config.json", []byte(`{"model_type":"marian","d_model":6,"encoder_layers":1,"decoder_layers":2,
		"encoder_attention_heads":2,"decoder_attention_heads":2,"encoder_ffn_dim":10,"decoder_ffn_dim":10,
		"max_position_embeddings":9,"activation_function":"swish","scale_embedding":true,"vocab_size":8,"pad_token_id":7,
		"eos_token_id":0,"decoder_start_token_id":7,"bad_words_ids":[[7]],"num_beams":6,"max_length":512}`))
	put(t, folder, "generation_config.json", []byte(`{"num_beams":4,"renormalize_logits":true,"forced_eos_token_id":0}`))
	put(t, folder, "vocab.json", []byte(`{"</s>":0,"<unk>":1,"▁a":2,"b":3,"▁":4,">>deu<<":5,"c":6,"<pad>":7}`))
	put(t, folder, "source.spm", spmFile)
	put(t, folder, "target.spm", spmFile)
}

// TestMarianOfTransformers: ids take Aperture's order with their rows, <s> is banned, and padding leaves the sum.
func TestMarianOfTransformers(t *testing.T) {
	folder := t.TempDir()
	marianFace(t, folder)
	m, err := Read(folder, anyText)
	if err != nil {
		t.Fatal(err)
	}
	want := fixture("all", false, true)
	if diff := cmp.Diff([]string{"<s>", "<pad>", "</s>", "<unk>", "▁a", "b", "▁", ">>deu<<", "c"}, m.Source); diff != "" {
		t.Error(diff)
	}
	theirs := []int{-1, 7, 0, 1, 2, 3, 4, 5, 6}
	for i, id := range theirs {
		row, bias := make([]float32, 6), float32(bannedBias)
		if id >= 0 && id < 7 {
			row, bias = want.Tensors[decoderEmbedding].Values[6*id:6*id+6], want.Tensors[outputBias].Values[id]
		}
		if got := m.Tensors[decoderEmbedding].Values[6*i : 6*i+6]; !slices.Equal(got, row) {
			t.Errorf("row %d is %v, want %v", i, got, row)
		}
		if got := m.Tensors[outputBias].Values[i]; got != bias {
			t.Errorf("the bias of %d is %v, want %v", i, got, bias)
		}
	}
	if !m.ZeroStart || m.Positions != VaswaniPositions || m.Activation != "swish" || m.Epsilon != 1e-5 || !m.Text.Joint {
		t.Errorf("%+v", m.Network)
	}
	if s := m.Search; s.Beam != 4 || s.B != 510 || s.Stop != "transformers" {
		t.Errorf("the search is %+v", s)
	}
	if m.Text.Source != "source" || len(m.Notes) != 1 {
		t.Errorf("%q, %q", m.Text.Source, m.Notes)
	}
}

// TestUnscaledEmbeddings: a model that does not multiply by √D reads vectors that undo it.
func TestUnscaledEmbeddings(t *testing.T) {
	folder := t.TempDir()
	marianFace(t, folder)
	change(t, folder, "config.json", `"scale_embedding":true`, `"scale_embedding":false`)
	unscaled(t, folder)
	change(t, folder, "config.json", `"scale_embedding":false,`, ``) // which is the default of its class
	unscaled(t, folder)

	want := fixture("all", false, false) // of a class whose default is true
	folder, _ = writeFace(t, want)
	change(t, folder, "config.json", `"scale_embedding"`, `"not_said"`)
	m, err := Read(folder, anyText)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Tensors[decoderEmbedding], m.Tensors[decoderEmbedding]); diff != "" {
		t.Error(diff)
	}
}

func unscaled(t *testing.T, folder string) {
	t.Helper()
	m, err := Read(folder, anyText)
	if err != nil {
		t.Fatal(err)
	}
	in, out := m.Tensors[encoderEmbedding].Values, m.Tensors[outputMatrix].Values
	if len(in) != 9*6 || len(out) != len(in) {
		t.Fatalf("%d and %d numbers", len(in), len(out))
	}
	for i := range in {
		if math.Abs(float64(in[i])*math.Sqrt(6)-float64(out[i])) > 1e-6 {
			t.Fatalf("element %d is %v in and %v out", i, in[i], out[i])
		}
	}
}

func change(t testing.TB, folder, name, from, to string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(data), from, to)
	if changed == string(data) {
		t.Fatalf("%s holds no %s", name, from)
	}
	put(t, folder, name, []byte(changed))
}

// TestUnsupported: what no Transformer of Aperture is, is refused by name in one sentence.
func TestUnsupported(t *testing.T) {
	face := func(name, from, to string) func(string) {
		return func(folder string) { marianFace(t, folder); change(t, folder, name, from, to) }
	}
	opus := func(from, to string) func(string) {
		return func(folder string) {
			marianArchive(t, folder, func(yml string) string { return strings.ReplaceAll(yml, from, to) })
		}
	}
	for says, make := range map[string]func(folder string){
		`model_type = "t5" is not supported`:  face("config.json", `"marian"`, `"t5"`),
		`activation_function = "mish" is not`: face("config.json", `"swish"`, `"mish"`),
		"encoder and decoder differ in heads": face("config.json", `"decoder_attention_heads":2`,
			`"decoder_attention_heads":3`),
		"decoder_start_token_id = 2 has a word": face("config.json", `"decoder_start_token_id":7`,
			`"decoder_start_token_id":2`),
		"eos_token_id = 3 is not the id of </s>":  face("config.json", `"eos_token_id":0`, `"eos_token_id":3`),
		"has no </s>":                             face("vocab.json", `"</s>"`, `"<//s>"`),
		"both have the id 3":                      face("vocab.json", `"▁":4`, `"▁":3`),
		"has the id 9, and the model has the ids": face("vocab.json", `"c":6`, `"c":9`),
		"encoder.layers.1.fc1.bias":               face("config.json", `"encoder_layers":1`, `"encoder_layers":2`),
		"has the weight decoder.layers.1.enc":     face("config.json", `"decoder_layers":2`, `"decoder_layers":1`),
		"is not a multiple of its 4 heads":        face("config.json", `_attention_heads":2`, `_attention_heads":4`),
		`autoregressive by "rnn" (SSRU`:           opus("autoreg: self-attention", "autoreg: rnn"),
		`its type "s2s" is not supported`:         opus("type: transformer", "type: s2s"),
		"gelu of Marian":                          opus("swish", "gelu"),
		`transformer-preprocess "n"`:              opus(`preprocess: ""`, `preprocess: "n"`),
		"right-left: true is not supported":       opus("dim-emb: 6", "dim-emb: 6\nright-left: true"),
		`model_type = "gpt2" is no translator's`:  face("config.json", `"marian"`, `"gpt2"`),
		"pad_token_id = 7, behind which the":      face("config.json", `"marian"`, `"m2m_100"`),
		"the vocabulary has no </s>, which":       func(folder string) { marianFace(t, folder); put(t, folder, "vocab.json", []byte("null")) },
		"model.shared.weight has no numbers": func(folder string) {
			marianFace(t, folder)
			all := map[string]Tensor{"model.shared.weight": {Shape: []int{1 << 40, 0}}}
			if err := writeTensors(filepath.Join(folder, "model.safetensors"), all, Float32); err != nil {
				t.Fatal(err)
			}
		},
		"pytorch_model.bin, which can hold program": func(folder string) {
			marianFace(t, folder)
			err := os.Rename(filepath.Join(folder, "model.safetensors"), filepath.Join(folder, "pytorch_model.bin"))
			if err != nil {
				t.Fatal(err)
			}
		},
		"a .bin of Marian has weights of eight bits": func(folder string) { put(t, folder, "model.intgemm.bin", nil) },
	} {
		folder := t.TempDir()
		make(folder)
		_, err := Read(folder, anyText)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; it should say %s", err, says)
		}
	}
	if _, err := Read(t.TempDir(), anyText); err == nil || !strings.Contains(err.Error(), "neither config.json") {
		t.Errorf("an empty folder: %v", err)
	}
}

// npy is an array as NumPy writes it.
func npy(shape []int, values []float32) []byte {
	text := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(shape)), ", "), "[]")
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }", text)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	b := bytes.NewBufferString("\x93NUMPY\x01\x00")
	binary.Write(b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	binary.Write(b, binary.LittleEndian, values)
	return b.Bytes()
}

const marianYML = `dim-emb: 6
type: transformer
enc-depth: 1
dec-depth: 2
transformer-heads: 2
transformer-dim-ffn: 10
transformer-ffn-activation: swish
transformer-decoder-autoreg: self-attention
transformer-preprocess: ""
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-tied-layers:
  []
dim-vocabs:
  - 7
  - 7
`

// marianArchive fills a folder as an archive of OPUS-MT, with the weights of the fixture under Marian's names.
func marianArchive(t testing.TB, folder string, changed func(yml string) string) *Model {
	t.Helper()
	m := fixture("all", strings.Contains(changed(marianYML), `preprocess: "n"`), true)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name string, data []byte) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(data)
	}
	yml := changed(marianYML) + "\x00"
	header := npy([]int{len(yml)}, nil)
	add("special:model.yml", append(bytes.Replace(header, []byte("<f4"), []byte("|i1"), 1), yml...))
	add("Wemb", npy([]int{7, 6}, m.Tensors[decoderEmbedding].Values[:42]))
	add("decoder_ff_logit_out_b", npy([]int{1, 7}, m.Tensors[outputBias].Values[:7]))
	names := m.marianNames()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		x := m.Tensors[name]
		if len(x.Shape) == 2 {
			x = x.transposed()
		} else {
			x.Shape = []int{1, len(x.Values)}
		}
		add(names[name], npy(x.Shape, x.Values))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, folder, "opus.model1.npz.best-perplexity.npz", b.Bytes())
	put(t, folder, "opus.vocab.yml", []byte("</s>: 0\n<unk>: 1\n\"\\xE4\": 2\n'it''s': 3\n\"a:b\": 4\n"+
		"? \"long\"\n: 5\n▁: 6\nbeyond dim-vocabs: 7\n"))
	put(t, folder, "decoder.yml", []byte("relative-paths: true\nmodels:\n"+
		"  - opus.model1.npz.best-perplexity.npz\nvocabs:\n  - opus.vocab.yml\n  - opus.vocab.yml\nbeam-size: 6\nnormalize: 1\n"))
	put(t, folder, "source.spm", spmFile)
	put(t, folder, "target.spm", spmFile)
	put(t, folder, "preprocess.sh", []byte("#!/bin/bash\n"))
	return m
}

// TestMarianArchive: a folder of OPUS-MT, and the same as a ZIP archive with a folder in it.
func TestMarianArchive(t *testing.T) {
	folder := t.TempDir()
	want := marianArchive(t, folder, func(yml string) string { return yml })
	path := filepath.Join(t.TempDir(), "opus.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	z.Create("opus-2020/")
	for _, name := range []string{"decoder.yml", "opus.model1.npz.best-perplexity.npz", "opus.vocab.yml", "source.spm",
		"target.spm", "preprocess.sh"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		w, _ := z.Create("opus-2020/" + name)
		w.Write(data)
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{folder, path} {
		m, err := Read(from, anyText)
		if err != nil {
			t.Fatal(err)
		}
		words := []string{"<s>", "<pad>", "</s>", "<unk>", "ä", "it's", "a:b", "long", "▁"}
		if diff := cmp.Diff(words, m.Target); diff != "" {
			t.Error(diff)
		}
		for name := range want.marianNames() {
			if diff := cmp.Diff(want.Tensors[name], m.Tensors[name]); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		bias := append([]float32{bannedBias, bannedBias}, want.Tensors[outputBias].Values[:7]...)
		if !slices.Equal(m.Tensors[outputBias].Values, bias) || m.Positions != MarianPositions || m.Epsilon != 1e-9 ||
			!m.ZeroStart || !m.Text.OPUS || m.Search.Beam != 6 || m.Search.LengthPenalty != 1 || m.Search.A != 3 ||
			!m.Search.NoUnk {
			t.Errorf("%+v, %+v", m.Network, m.Search)
		}
	}
}

// TestDamagedArchive: the checksum of an array in an .npz is compared.
func TestDamagedArchive(t *testing.T) {
	folder := t.TempDir()
	m := marianArchive(t, folder, func(yml string) string { return yml })
	path := filepath.Join(folder, "opus.model1.npz.best-perplexity.npz")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	word := binary.LittleEndian.AppendUint32(nil, math.Float32bits(m.Tensors[decoderEmbedding].Values[9]))
	data[bytes.Index(data, word)] ^= 1
	put(t, folder, filepath.Base(path), data)
	if _, err := Read(folder, anyText); err == nil || !strings.Contains(err.Error(), "Wemb.npy: zip: checksum error") {
		t.Error(err)
	}
}

// TestMarianPreNorm: layers that normalise their input have other names in Marian.
func TestMarianPreNorm(t *testing.T) {
	folder := t.TempDir()
	want := marianArchive(t, folder, strings.NewReplacer(`preprocess: ""`, `preprocess: "n"`, "postprocess: dan",
		"postprocess: da\ntransformer-postprocess-top: n").Replace)
	for ours, theirs := range map[string]string{
		"encoder.layers.0.self_attn_layer_norm.weight":  "encoder_l1_self_Wo_ln_scale_pre",
		"decoder.layers.1.encoder_attn_layer_norm.bias": "decoder_l2_context_Wo_ln_bias_pre",
		"decoder.layers.0.final_layer_norm.weight":      "decoder_l1_ffn_ffn_ln_scale_pre",
		"encoder.layer_norm.bias":                       "encoder_top_ln_bias",
	} {
		if got := want.marianNames()[ours]; got != theirs {
			t.Errorf("%s is %s in Marian, want %s", ours, got, theirs)
		}
	}
	m, err := Read(folder, anyText)
	if err != nil {
		t.Fatal(err)
	}
	for name := range want.marianNames() {
		if diff := cmp.Diff(want.Tensors[name], m.Tensors[name]); diff != "" || !m.PreNorm {
			t.Errorf("pre-norm %v, %s: %s", m.PreNorm, name, diff)
		}
	}
}

// TestMarianDepth: layers that no network has are refused before their weights are looked for.
func TestMarianDepth(t *testing.T) {
	folder := t.TempDir()
	marianArchive(t, folder, func(yml string) string { return strings.Replace(yml, "enc-depth: 1", "enc-depth: 100000000", 1) })
	if _, err := Read(folder, anyText); err == nil || !strings.Contains(err.Error(), "dec-depth is 100000000, and networks") {
		t.Errorf("it gives %v", err)
	}
}

// TestComments: what stands behind a value in Marian's YAML is no part of it.
func TestComments(t *testing.T) {
	c := readSettings([]byte("beam-size: 6  # as trained\nnormalize: 0.6 # so\nnone: # nothing\nvocabs: # two\n" +
		"  - a.yml # one\n  - b#.yml\nlist: [1, 2] # both\nquoted: \"a # b\"\n"))
	want := settings{"beam-size": {"6"}, "normalize": {"0.6"}, "vocabs": {"a.yml", "b#.yml"}, "list": {"1", "2"},
		"quoted": {"a # b"}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

// TestLanguageNames: a name that would be code, or a command to a terminal, is none.
func TestLanguageNames(t *testing.T) {
	for _, name := range []string{"en\"+__import__(\"os\")+\"", "\x1b[31m", "a/b", "..", "", "a b", "ä\n", "-x"} {
		m := &Model{}
		if m.name(name, "de"); m.Text.Source != "source" || m.Text.Target != "target" || len(m.Notes) != 1 {
			t.Errorf("%q names a language: %+v", name, m.Text)
		}
	}
	for _, name := range []string{"en", "zh-Hans", "pt_BR", "deu+nld", "sr@latin", "한국어", "en.2"} {
		m := &Model{}
		if m.name(name, "de"); m.Text.Source != name || len(m.Notes) != 0 {
			t.Errorf("%q names no language", name)
		}
	}
}

// TestSearch: generate() counts the first input of the decoder and the end in max_length, the former in min_length, and
// the end alone in max_new_tokens.
func TestSearch(t *testing.T) {
	for keys, want := range map[string]Search{
		`{}`: {Beam: 1, LengthPenalty: 1, B: 18, Stop: "transformers"},
		`{"max_length": 40, "min_length": 5, "num_beams": 3, "early_stopping": true}`: {Beam: 3, LengthPenalty: 1, B: 38,
			MinLength: 4},
		`{"max_length": 40, "max_new_tokens": 9, "min_new_tokens": 2, "no_repeat_ngram_size": 3, "length_penalty": 0.5}`: {
			Beam: 1, LengthPenalty: 0.5, B: 8, MinLength: 2, NoRepeatNgram: 3, Stop: "transformers"},
		`{"max_length": 9, "bos_token_id": 0, "suppress_tokens": [0, 3]}`: {Beam: 1, LengthPenalty: 1, B: 7, NoUnk: true,
			Stop: "transformers"},
	} {
		var c faceConfig
		if err := json.Unmarshal([]byte(keys), &c); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.search(&Model{}, 3)); diff != "" {
			t.Errorf("%s: %s", keys, diff)
		}
	}
}

// TestLeftOut: settings of generate() that the search here does not have are named, each in a sentence; what bans
// padding and the start alone is none.
func TestLeftOut(t *testing.T) {
	const given = `{"max_length": 40, "pad_token_id": 7, "bos_token_id": 1, "suppress_tokens": [7, 1, %s],
		"begin_suppress_tokens": [%[1]s], "encoder_no_repeat_ngram_size": %[1]s, "diversity_penalty": %[1]s.5,
		"exponential_decay_length_penalty": [5, 1.%[1]s]}`
	for text, want := range map[string][]string{
		fmt.Sprintf(given, "3"): {"begin_suppress_tokens", "diversity_penalty", "encoder_no_repeat_ngram_size",
			"exponential_decay_length_penalty", "suppress_tokens"},
		`{"max_length": 40, "pad_token_id": 7, "bos_token_id": 1, "suppress_tokens": [7, 1], "begin_suppress_tokens": null,
			"exponential_decay_length_penalty": null, "diversity_penalty": 0.0}`: nil,
	} {
		var c faceConfig
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		var m Model
		c.search(&m, 2)
		for i, key := range want {
			want[i] = "its setting " + key + " of generate() is left out"
		}
		if !slices.Equal(m.Notes, want) {
			t.Errorf("%s: %q", text, m.Notes)
		}
	}
}
