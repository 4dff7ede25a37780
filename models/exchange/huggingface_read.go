package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/safetensors"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
)

// faceConfig is config.json of a folder of transformers, as far as it is read, with generation_config.json laid over
// it.
type faceConfig struct {
	Kind              string   `json:"model_type"`
	Width             int      `json:"d_model"`
	EncoderLayers     int      `json:"encoder_layers"`
	DecoderLayers     int      `json:"decoder_layers"`
	EncoderHeads      int      `json:"encoder_attention_heads"`
	DecoderHeads      int      `json:"decoder_attention_heads"`
	EncoderFFN        int      `json:"encoder_ffn_dim"`
	DecoderFFN        int      `json:"decoder_ffn_dim"`
	MaxPositions      int      `json:"max_position_embeddings"`
	Activation        string   `json:"activation_function"`
	Scaled            *bool    `json:"scale_embedding"`
	Dropout           float64  `json:"dropout"`
	AttentionDropout  float64  `json:"attention_dropout"`
	ActivationDropout float64  `json:"activation_dropout"`
	NormBefore        bool     `json:"normalize_before"`
	NormEmbedding     bool     `json:"normalize_embedding"`
	LastNorm          bool     `json:"add_final_layer_norm"`
	Langs             []string `json:"langs"`
	BOS               *int     `json:"bos_token_id"`
	Pad               *int     `json:"pad_token_id"`
	EOS               *int     `json:"eos_token_id"`
	Start             *int     `json:"decoder_start_token_id"`

	Beams             *int            `json:"num_beams"`
	LengthPenalty     *float64        `json:"length_penalty"`
	MaxLength         *int            `json:"max_length"`
	MaxNew            *int            `json:"max_new_tokens"`
	MinLength         *int            `json:"min_length"`
	MinNew            *int            `json:"min_new_tokens"`
	NoRepeatNgram     *int            `json:"no_repeat_ngram_size"`
	EarlyStopping     json.RawMessage `json:"early_stopping"`
	BadWords          [][]int         `json:"bad_words_ids"`
	Renormalize       bool            `json:"renormalize_logits"`
	Sample            bool            `json:"do_sample"`
	RepetitionPenalty *float64        `json:"repetition_penalty"`
	ForcedBOS         *int            `json:"forced_bos_token_id"`
	Suppress          []int           `json:"suppress_tokens"`
	SuppressFirst     []int           `json:"begin_suppress_tokens"`
	NoSourceNgram     int             `json:"encoder_no_repeat_ngram_size"`
	DiversityPenalty  float64         `json:"diversity_penalty"`
	Decay             json.RawMessage `json:"exponential_decay_length_penalty"`
}

// faceTokenizer is tokenizer_config.json, as far as it is read.
type faceTokenizer struct {
	Class     string   `json:"tokenizer_class"`
	Source    string   `json:"source_lang"`
	Target    string   `json:"target_lang"`
	Langs     []string `json:"langs"`
	Lowercase bool     `json:"do_lower_case"`
}

// readFace reads a folder of transformers.
func (d *directory) readFace(g Given) (*Model, error) {
	var c faceConfig
	if err := d.readJSON("config.json", &c, false); err != nil {
		return nil, err
	}
	if err := d.readJSON("generation_config.json", &c, true); err != nil {
		return nil, err
	}
	var t faceTokenizer
	if err := d.readJSON("tokenizer_config.json", &t, true); err != nil {
		return nil, err
	}
	m, err := c.network()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.path("config.json"), err)
	}
	m.Text = g.Text
	read := d.readMarianText
	if c.Kind != "marian" {
		read = d.readFSMTText
	}
	source, target, err := read(m, t)
	if err != nil {
		return nil, err
	}
	if !g.Languages && t.Source == "" && len(t.Langs)+len(c.Langs) >= 2 {
		langs := append(t.Langs, c.Langs...)
		t.Source, t.Target = langs[0], langs[1]
	}
	if !g.Languages {
		m.name(t.Source, t.Target)
	}
	weights, err := d.faceWeights("AutoModelForSeq2SeqLM")
	if err != nil {
		return nil, err
	}
	if err := m.takeFace(c, weights, source, target); err != nil {
		return nil, fmt.Errorf("%s: %w", d.where, err)
	}
	unk, known := target["<unk>"]
	if !known {
		unk = -1
	}
	m.Search = c.search(m, unk)
	return m, nil
}

// name gives the model its languages, where they make sense as the endings of files.
func (m *Model) name(source, target string) {
	if source == target || !bitext.IsLanguage(source) || !bitext.IsLanguage(target) {
		source, target = "source", "target"
		m.Notes = append(m.Notes, "it names no languages: they are called source and target; -src and -tgt name them")
	}
	m.Text.Source, m.Text.Target = source, target
}

// network checks that the class is one that a Transformer of Aperture computes.
func (c *faceConfig) network() (*Model, error) {
	m := &Model{Tensors: map[string]Tensor{}, Network: Network{
		Width: c.Width, FFNWidth: c.EncoderFFN, Heads: c.EncoderHeads, EncoderLayers: c.EncoderLayers,
		DecoderLayers: c.DecoderLayers, MaxPositions: c.MaxPositions, Epsilon: normEpsilon, Dropout: c.Dropout,
		Attention: c.AttentionDropout, Activations: c.ActivationDropout, Activation: ownActivations[c.Activation],
	}}
	switch {
	case c.Kind == "marian":
		m.Positions = VaswaniPositions
	case c.Kind == "fsmt" || c.Kind == "m2m_100":
		if c.Pad != nil && *c.Pad != tokenize.Pad {
			return m, refuse("pad_token_id = %d, behind which the positions of %s begin, is not supported; %d is", *c.Pad, c.Kind,
				tokenize.Pad)
		}
		m.Positions, m.PreNorm = FairseqPositions, c.Kind == "m2m_100"
	case c.Kind == "gpt2":
		return m, refuse("model_type = %q is no translator's, and is read from a folder alone: unpack it, and name the "+
			"folder", c.Kind)
	default:
		return m, refuse("model_type = %q is not supported; marian, fsmt, m2m_100 and gpt2 are", c.Kind)
	}
	switch {
	case m.Activation == "":
		return m, refuse("activation_function = %q is not supported; relu, swish, gelu and gelu_new are", c.Activation)
	case c.EncoderHeads != c.DecoderHeads || c.EncoderFFN != c.DecoderFFN:
		return m, refuse("its encoder and decoder differ in heads (%d, %d) or in the width of feed-forward layers "+
			"(%d, %d), which is not supported", c.EncoderHeads, c.DecoderHeads, c.EncoderFFN, c.DecoderFFN)
	case c.Kind == "marian" && (c.NormBefore || c.NormEmbedding || c.LastNorm):
		return m, refuse("normalize_before, normalize_embedding and add_final_layer_norm are not supported")
	}
	for name, p := range map[string]float64{"dropout": c.Dropout, "attention_dropout": c.AttentionDropout,
		"activation_dropout": c.ActivationDropout} {
		if p < 0 || p >= 1 {
			return m, fmt.Errorf("%s = %g should lie from 0 to below 1", name, p)
		}
	}
	return m, nil
}

// faceWeights reads the tensors of floating point of model.safetensors, or of the shards that its index names; class is
// what loads the model in transformers.
func (d *directory) faceWeights(class string) (weights map[string]Tensor, err error) {
	const file = "model.safetensors"
	switch {
	case d.has(file):
		weights, err = d.readWeights(file)
	case d.has(safetensors.IndexFile):
		weights, err = d.readShards(safetensors.IndexFile)
	case d.has("pytorch_model.bin"):
		return nil, refuse("%s has its weights in pytorch_model.bin, which can hold programs and is not read: write "+
			"model.safetensors beside it with python3 -c \"from transformers import %s as M; "+
			"M.from_pretrained('%[1]s').save_pretrained('%[1]s')\"", d.where, class)
	default:
		err = fmt.Errorf("%s is missing: get the whole model", d.path(file))
	}
	maps.DeleteFunc(weights, func(_ string, t Tensor) bool { return t.Values == nil })
	return weights, err
}

// takeFace gives the model the weights of transformers.
func (m *Model) takeFace(c faceConfig, weights map[string]Tensor, source, target map[string]int) error {
	m.dropNames(weights)
	take := func(names ...string) Tensor {
		var found Tensor
		for _, name := range names {
			if t, there := weights[name]; there && found.Values == nil {
				found = t
			}
			delete(weights, name)
		}
		return found
	}
	shared := weights["shared.weight"]
	encoder, decoder := take(encoderEmbedding), take(decoderEmbedding)
	output := take(outputMatrix, "lm_head.weight")
	delete(weights, "shared.weight")
	for _, t := range []*Tensor{&decoder, &encoder, &output} {
		switch {
		case t.Values != nil:
		case shared.Values != nil:
			*t = shared
		default:
			*t = decoder
		}
		if len(t.Shape) != 2 || t.Shape[1] != m.Width {
			return fmt.Errorf("its word vectors have the shape %v, and d_model is %d", t.Shape, m.Width)
		}
	}
	if decoder.Shape[0] != output.Shape[0] {
		return fmt.Errorf("its decoder reads %d words and predicts %d", decoder.Shape[0], output.Shape[0])
	}
	bias := take("final_logits_bias").Values
	if bias != nil && len(bias) != decoder.Shape[0] {
		return fmt.Errorf("final_logits_bias has %d numbers for %d words", len(bias), decoder.Shape[0])
	}
	from, err := c.number(source, encoder.Shape[0])
	if err != nil {
		return err
	}
	to, err := c.number(target, decoder.Shape[0])
	if err != nil {
		return err
	}
	if err := c.start(m, to, decoder); err != nil {
		return err
	}
	if c.Renormalize && to.theirs[tokenize.Pad] >= 0 { // padding is taken from the sum of probabilities
		if bias == nil {
			bias = make([]float32, decoder.Shape[0])
		}
		bias[to.theirs[tokenize.Pad]] = bannedBias
	}
	scaled := c.Kind != "marian" // as in transformers where the file does not say
	if c.Scaled != nil {
		scaled = *c.Scaled
	}
	m.embed(from, to, encoder, decoder, output, bias, scaled)
	if c.Kind == "marian" && weights[encoderPositions].Values != nil && weights[decoderPositions].Values != nil {
		m.Positions = Table
	} else {
		delete(weights, encoderPositions)
		delete(weights, decoderPositions)
	}
	maps.Copy(m.Tensors, weights)
	return nil
}

// dropNames takes "model." from the names of weights.
func (m *Model) dropNames(weights map[string]Tensor) {
	for _, name := range slices.Collect(maps.Keys(weights)) {
		if short, found := strings.CutPrefix(name, "model."); found {
			weights[short] = weights[name]
			delete(weights, name)
		}
	}
}

// number numbers a vocabulary of that size.
func (c *faceConfig) number(ids map[string]int, size int) (numbering, error) {
	if ids = maps.Clone(ids); ids == nil { // the file says null
		ids = map[string]int{}
	}
	if _, named := ids["<pad>"]; !named && c.Pad != nil {
		ids["<pad>"] = *c.Pad
	}
	tokens, err := byID(ids, size)
	if err != nil {
		return numbering{}, err
	}
	n, err := newNumbering(tokens)
	if err == nil && c.EOS != nil && *c.EOS != n.theirs[tokenize.EOS] {
		err = refuse("eos_token_id = %d is not the id of </s>, %d, which is not supported", *c.EOS, n.theirs[tokenize.EOS])
	}
	return n, err
}

// start finds out what the decoder reads first: the end of sentence as in fairseq, or a vector of zeros as in Marian.
func (c *faceConfig) start(m *Model, n numbering, decoder Tensor) error {
	switch {
	case c.Start == nil || *c.Start == n.theirs[tokenize.EOS]:
		return nil
	case *c.Start < 0 || *c.Start >= decoder.Shape[0]:
		return fmt.Errorf("decoder_start_token_id = %d is no id of its %d words", *c.Start, decoder.Shape[0])
	}
	row := decoder.Values[*c.Start*m.Width:][:m.Width]
	if slices.ContainsFunc(row, func(x float32) bool { return x != 0 }) {
		return refuse("decoder_start_token_id = %d has a word vector that is neither zero nor that of </s>, which is not "+
			"supported", *c.Start)
	}
	m.ZeroStart = true
	return nil
}

// search is that of generate(), whose defaults are one beam and 20 symbols. unk is the id of the unknown word.
func (c *faceConfig) search(m *Model, unk int) Search {
	or := func(x *int, otherwise int) int {
		if x == nil {
			return otherwise
		}
		return *x
	}
	const shortest = 20
	s := Search{Beam: max(1, or(c.Beams, 1)), LengthPenalty: 1, B: or(c.MaxLength, shortest) - 2,
		NoRepeatNgram: or(c.NoRepeatNgram, 0), MinLength: max(0, or(c.MinLength, 0)-1), Stop: "transformers",
		NoUnk: slices.Contains(c.Suppress, unk)}
	if c.MaxNew != nil {
		s.B = *c.MaxNew - 1
	} else if c.MaxLength == nil {
		m.Notes = append(m.Notes, fmt.Sprintf("it sets no max_length, and generate() makes %d symbols then: raise "+
			"decode.max_length_b in config.toml for more", shortest-2))
	}
	s.B, s.MinLength = max(1, s.B), max(s.MinLength, or(c.MinNew, 0))
	if c.LengthPenalty != nil {
		s.LengthPenalty = *c.LengthPenalty
	}
	if string(c.EarlyStopping) == "true" {
		s.Stop = ""
	}
	word := func(id int) bool {
		return !slices.ContainsFunc([]*int{c.Pad, c.BOS, &unk}, func(x *int) bool { return x != nil && *x == id })
	}
	otherWord := func(w []int) bool { return len(w) != 1 || c.Pad == nil || w[0] != *c.Pad }
	for key, given := range map[string]bool{
		"do_sample": c.Sample, "forced_bos_token_id": c.ForcedBOS != nil,
		"repetition_penalty": c.RepetitionPenalty != nil && *c.RepetitionPenalty != 1,
		"bad_words_ids":      slices.ContainsFunc(c.BadWords, otherWord),
		"early_stopping":     string(c.EarlyStopping) == `"never"`,
		"suppress_tokens":    slices.ContainsFunc(c.Suppress, word), "begin_suppress_tokens": len(c.SuppressFirst) > 0,
		"encoder_no_repeat_ngram_size":     c.NoSourceNgram > 0,
		"diversity_penalty":                c.DiversityPenalty != 0,
		"exponential_decay_length_penalty": len(c.Decay) > 0 && string(c.Decay) != "null",
		// the mass of what the block takes away stays where it is
		"renormalize_logits": c.Renormalize && s.NoRepeatNgram > 0,
	} {
		if given {
			m.Notes = append(m.Notes, fmt.Sprintf("its setting %s of generate() is left out", key))
		}
	}
	slices.Sort(m.Notes)
	return s
}
