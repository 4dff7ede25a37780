package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/bytebpe"
)

// IsGPT2 reports whether a folder has the config.json of a GPT-2.
func IsGPT2(folder string) bool {
	d := &directory{FS: os.DirFS(folder), where: folder}
	var c struct {
		Kind string `json:"model_type"`
	}
	return d.readJSON("config.json", &c, false) == nil && c.Kind == "gpt2"
}

// ReadGPT2 reads a folder of GPT-2: config.json, weights in safetensors, and vocab.json and merges.txt, or the
// tokenizer.json that has both. What network or pieces cannot be is a [*Refusal].
func ReadGPT2(folder string) (*GPT2, error) {
	m, err := readGPT2(folder)
	return m, files.Plain(err)
}

func readGPT2(folder string) (*GPT2, error) {
	d := &directory{FS: os.DirFS(folder), where: folder}
	text, err := d.read("config.json", largestText)
	if err != nil {
		return nil, err
	}
	m, err := gpt2OfConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.path("config.json"), err)
	}
	if err := m.readPieces(d); err != nil {
		return nil, err
	}
	weights, err := d.faceWeights("AutoModelForCausalLM")
	if err != nil {
		return nil, err
	}
	if err = m.here(weights); err == nil {
		err = m.check(Float32)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	if n := m.Pieces.Len(); n < m.Vocabulary {
		m.Notes = append(m.Notes, fmt.Sprintf("the matrix has %d rows without a piece, which are kept as %s and so on",
			m.Vocabulary-n, tokenize.MadeUpWord(0)))
		m.Pieces.Fill(m.Vocabulary) // now that the rows are there
	}
	return m, nil
}

// readPieces reads vocab.json and merges.txt, or, where both are missing, tokenizer.json.
func (m *GPT2) readPieces(d *directory) error {
	var c struct {
		PrefixSpace bool `json:"add_prefix_space"`
	}
	if err := d.readJSON("tokenizer_config.json", &c, true); err != nil {
		return err
	}
	if c.PrefixSpace {
		return refuse("%s has add_prefix_space = true, which is not supported: text is split as it is",
			d.path("tokenizer_config.json"))
	}
	file, read := "vocab.json", m.readVocabulary
	if !d.has(file) && !d.has("merges.txt") && d.has(tokenizerFile) {
		file, read = tokenizerFile, m.readTokenizer
	}
	if err := read(d); err != nil {
		return err
	}
	if m.Pieces.Len() > m.Vocabulary {
		return refuse("%s has ids below %d, and config.json vocab_size = %d: each wants a row of the matrix", d.path(file),
			m.Pieces.Len(), m.Vocabulary)
	}
	return nil
}

// readVocabulary reads vocab.json and merges.txt.
func (m *GPT2) readVocabulary(d *directory) error {
	vocabulary, err := d.read("vocab.json", largestText)
	if err != nil {
		return err
	}
	merges, err := d.read("merges.txt", largestText)
	if err != nil {
		return err
	}
	m.Pieces, err = bytebpe.Read(bytes.NewReader(vocabulary), d.path("vocab.json"), bytes.NewReader(merges),
		d.path("merges.txt"))
	return err
}

// gpt2OfConfig makes the network that config.json describes, with transformers' defaults.
func gpt2OfConfig(text []byte) (*GPT2, error) {
	c := struct {
		Kind       string  `json:"model_type"`
		Vocabulary int     `json:"vocab_size"`
		Positions  int     `json:"n_positions"`
		Width      int     `json:"n_embd"`
		Layers     int     `json:"n_layer"`
		Heads      int     `json:"n_head"`
		Inner      *int    `json:"n_inner"`
		Activation string  `json:"activation_function"`
		Epsilon    float64 `json:"layer_norm_epsilon"`
		Dropout    float64 `json:"resid_pdrop"`
		Embedding  float64 `json:"embd_pdrop"`
		Attention  float64 `json:"attn_pdrop"`
		Scaled     bool    `json:"scale_attn_weights"`
		ByLayer    bool    `json:"scale_attn_by_inverse_layer_idx"`
		Cross      bool    `json:"add_cross_attention"`
	}{Vocabulary: 50257, Positions: 1024, Width: 768, Layers: 12, Heads: 12, Activation: "gelu_new", Epsilon: 1e-5,
		Dropout: 0.1, Embedding: 0.1, Attention: 0.1, Scaled: true}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("it is no JSON of a model's keys: %w", err)
	}
	if c.Kind != "gpt2" {
		return nil, refuse("model_type = %q is not supported: a language model of transformers has to be gpt2", c.Kind)
	}
	m := &GPT2{Width: c.Width, FFNWidth: 4 * c.Width, Heads: c.Heads, Layers: c.Layers, MaxPositions: c.Positions,
		Activation: ownActivations[c.Activation], Epsilon: c.Epsilon, Dropout: c.Dropout, Attention: c.Attention,
		Vocabulary: c.Vocabulary}
	if c.Inner != nil {
		m.FFNWidth = *c.Inner
	}
	switch {
	case m.Activation == "":
		return nil, refuse("activation_function = %q is not supported: gelu_new, gelu, relu and silu are", c.Activation)
	case !c.Scaled || c.ByLayer:
		return nil, refuse("attention without its usual scale is not supported: scale_attn_weights has to be true and " +
			"scale_attn_by_inverse_layer_idx false")
	case c.Cross:
		return nil, refuse("add_cross_attention = true is not supported: the network is a decoder without an encoder")
	case m.Width < 1 || m.Heads < 1 || m.Width%m.Heads != 0 || m.Layers < 1 || m.FFNWidth < 1 || m.MaxPositions < 2 ||
		m.Vocabulary < 256 || max(m.Width, m.FFNWidth, m.MaxPositions, m.Vocabulary) > 1<<20 || m.Layers > 1000:
		return nil, fmt.Errorf("the sizes make no network: n_embd %d, n_head %d, n_layer %d, n_inner %d, n_positions %d, "+
			"vocab_size %d", m.Width, m.Heads, m.Layers, m.FFNWidth, m.MaxPositions, m.Vocabulary)
	case !(m.Epsilon > 0 && m.Epsilon <= 1) || !(c.Dropout >= 0 && c.Dropout < 1) ||
		!(c.Attention >= 0 && c.Attention < 1):
		return nil, fmt.Errorf("layer_norm_epsilon %g, resid_pdrop %g or attn_pdrop %g is out of range", m.Epsilon,
			c.Dropout, c.Attention)
	}
	if c.Embedding != c.Dropout {
		m.Notes = append(m.Notes, fmt.Sprintf("training drops embeddings at resid_pdrop = %g too, in place of "+
			"embd_pdrop = %g", c.Dropout, c.Embedding))
	}
	return m, nil
}

// here are GPT-2's weights with the names of a run. Some files leave out "transformer." and the tied output matrix, and
// some hold masks (attn.bias and attn.masked_bias of each layer), which are no weights.
func (m *GPT2) here(weights map[string]Tensor) error {
	m.Tensors = map[string]Tensor{}
	left := maps.Clone(weights)
	maps.DeleteFunc(left, func(name string, _ Tensor) bool {
		return strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias")
	})
	get := func(name string) (Tensor, bool) {
		if _, found := weights[name]; !found {
			name = strings.TrimPrefix(name, "transformer.")
		}
		t, found := weights[name]
		delete(left, name)
		return t, found
	}
	for here, there := range gpt2Whole {
		if t, found := get(there); found {
			m.Tensors[here] = t
		}
	}
	if slices.Equal(m.Tensors["decoder.weight"].Values, m.Tensors["encoder.weight"].Values) {
		delete(m.Tensors, "decoder.weight")
	}
	for i := range m.Layers {
		here, there := fmt.Sprintf("layers.%d.", i), fmt.Sprintf("transformer.h.%d.", i)
		for _, kind := range []string{"weight", "bias"} {
			rank := map[string]int{"weight": 2, "bias": 1}[kind]
			for _, names := range append(slices.Clone(gpt2Layer), struct{ here, there string }{"", "attn.c_attn"}) {
				t, found := get(there + names.there + "." + kind)
				if !found {
					continue // check says it
				}
				if !strings.HasPrefix(names.there, "ln_") && len(t.Shape) != rank {
					return fmt.Errorf("%s%s.%s has the shape %v, which is that of no %s", there, names.there, kind, t.Shape, kind)
				}
				if len(t.Shape) == 2 {
					t = t.transposed()
				}
				if names.here != "" {
					m.Tensors[here+names.here+"."+kind] = t
					continue
				}
				if t.Shape[0] != 3*m.Width {
					return fmt.Errorf("%sattn.c_attn.%s has %d outputs, and queries, keys and values of width %d want %d", there,
						kind, t.Shape[0], m.Width, 3*m.Width)
				}
				for j, part := range "qkv" {
					m.Tensors[here+"self_attn."+string(part)+"_proj."+kind] = t.part(j)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		return refuse("it has the weight %s, which no GPT-2 of its sizes has", name)
	}
	return nil
}

// part is the i-th third of the rows.
func (t Tensor) part(i int) Tensor {
	rows, n := t.Shape[0]/3, len(t.Values)/3
	return Tensor{append([]int{rows}, t.Shape[1:]...), t.Values[i*n : (i+1)*n]}
}
