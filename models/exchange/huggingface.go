package exchange

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/safetensors"
	"github.com/aperture-ml/aperture/tokenize"
)

// class is a model of transformers that computes what a Transformer of fairseq's form does.
type class struct {
	name, kind string
	// keys are those of config.json that only this class has.
	keys map[string]any
	// names maps names of weights here to names there, each behind "model." unless it begins with a slash.
	names map[string]string
	// positions says that the file has the position tables, which the class would make otherwise.
	positions bool
}

// hiddenActivations are transformers' names of activation functions.
var hiddenActivations = map[string]string{"relu": "relu", "gelu_tanh": "gelu_new", "gelu": "gelu", "swish": "swish"}

// ownActivations are the functions by all names that transformers has for them.
var ownActivations = map[string]string{
	"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish",
	"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu_fast": "gelu_tanh",
}

// class is the one that holds the model exactly:
//
//	FSMT      post-norm, sinusoids whose first position is 2, no bias of the output
//	M2M100    pre-norm with a last LayerNorm, the same sinusoids, no bias, everything tied
//	Marian    post-norm, whatever position tables, a bias; its own sinusoids are others, so the tables are written
func (m *Model) class() (c class, err error) {
	tied := m.output() == decoderEmbedding
	own := map[string]string{decoderEmbedding: "shared.weight"}
	switch {
	case m.Epsilon != normEpsilon:
		return c, refuse("transformers has LayerNorm with an epsilon of 1e-05 in its translators, and this run %g: export "+
			"with -to ctranslate2", m.Epsilon)
	case m.PreNorm && m.ZeroStart: // which may have made a matrix of its own for the output
		return c, noPreNorm("a decoder that begins with a vector of zeros", "model.zero_start = false")
	case m.PreNorm && !m.oneMatrix():
		return c, refuse("transformers has no pre-norm translator with separate word vectors, and this run has " +
			"model.pre_norm = true: train with model.tying = \"all\", or export with -to ctranslate2")
	case m.PreNorm && m.bias() != nil:
		return c, noPreNorm("a bias of the output", "objective.bias = false")
	case m.PreNorm && m.Positions != FairseqPositions:
		return c, noPreNorm("learned positions or other sinusoids than fairseq's", `model.positions = "sinusoidal", `+
			`model.sinusoids = "tensor2tensor" and model.position_offset = 0`)
	case m.PreNorm:
		return class{name: "M2M100ForConditionalGeneration", kind: "m2m_100", names: own, keys: map[string]any{
			"vocab_size": len(m.Target), "tie_word_embeddings": true}}, nil
	case m.bias() == nil && m.Positions == FairseqPositions && !m.ZeroStart:
		return class{name: "FSMTForConditionalGeneration", kind: "fsmt", keys: map[string]any{
			"langs":          []string{m.Text.Source, m.Text.Target},
			"src_vocab_size": len(m.Source), "tgt_vocab_size": len(m.Target),
			"tie_word_embeddings": m.oneMatrix()}}, nil
	case !m.oneMatrix():
		own = map[string]string{outputMatrix: "/lm_head.weight"}
	}
	own[outputBias] = "/final_logits_bias"
	return class{name: "MarianMTModel", kind: "marian", positions: true, names: own, keys: map[string]any{
		"vocab_size": len(m.Source), "decoder_vocab_size": len(m.Target), "tie_word_embeddings": tied,
		"share_encoder_decoder_embeddings": m.oneMatrix()}}, nil
}

func noPreNorm(what, train string) error {
	return refuse("transformers has no pre-norm translator with %s, and this run has model.pre_norm = true: train with "+
		"%s, or export with -to ctranslate2", what, train)
}

// startingAtZero is a model whose decoder may begin with padding in place of a vector of zeros, which transformers has
// no other way to say. Training gives padding a vector where the matrix is the output's too: the output keeps that one.
func (m *Model) startingAtZero() *Model {
	embedding := m.Tensors[decoderEmbedding]
	at := tokenize.Pad * m.Width
	row := embedding.Values[at : at+m.Width]
	if !m.ZeroStart || !slices.ContainsFunc(row, func(x float32) bool { return x != 0 }) {
		return m
	}
	out := *m
	out.Tensors = maps.Clone(m.Tensors)
	out.Tensors[outputMatrix] = m.Tensors[m.output()]
	embedding.Values = slices.Clone(embedding.Values)
	clear(embedding.Values[at : at+m.Width])
	out.Tensors[decoderEmbedding] = embedding
	return &out
}

// WriteHuggingFace fills an empty folder as transformers 5 reads it with from_pretrained: model.safetensors,
// config.json, generation_config.json and README.md, the model card; and, unless o leaves the text path out, the files
// of FSMT's tokenizer, which prepares text by sacremoses with aggressive splitting of hyphens, or of Marian's, which
// gives raw text to SentencePiece.
func WriteHuggingFace(folder string, m *Model, o Options) error {
	if o.Quantise == Int8 || o.Quantise == Int16 {
		return refuse("transformers reads float32, float16 and bfloat16, and no %s: export with -to ctranslate2", o.Quantise)
	}
	if err := m.check(o); err != nil {
		return err
	}
	m = m.startingAtZero()
	c, err := m.class()
	if err != nil {
		return err
	}
	activation, known := hiddenActivations[m.Activation]
	if !known {
		return fmt.Errorf("transformers has no activation %q", m.Activation)
	}
	if o.Tokens {
		err = m.writeVocabularies(folder)
	} else {
		err = m.writeTokenizer(folder)
	}
	if err != nil {
		return err
	}
	if err := m.writeWeights(filepath.Join(folder, "model.safetensors"), c, o.Quantise); err != nil {
		return err
	}
	start := tokenize.EOS
	if m.ZeroStart {
		start = tokenize.Pad // whose vector startingAtZero has seen to
	}
	config := map[string]any{
		"architectures": []string{c.name}, "model_type": c.kind, "torch_dtype": dtypeName(o.Quantise),
		"d_model": m.Width, "activation_function": activation, "scale_embedding": true, "is_encoder_decoder": true,
		"encoder_layers": m.EncoderLayers, "decoder_layers": m.DecoderLayers, "num_hidden_layers": m.EncoderLayers,
		"encoder_attention_heads": m.Heads, "decoder_attention_heads": m.Heads,
		"encoder_ffn_dim": m.FFNWidth, "decoder_ffn_dim": m.FFNWidth, "max_position_embeddings": m.MaxPositions,
		"dropout": m.Dropout, "attention_dropout": m.Attention, "activation_dropout": m.Activations,
		"encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
		"bos_token_id": tokenize.BOS, "pad_token_id": tokenize.Pad, "eos_token_id": tokenize.EOS,
		"decoder_start_token_id": start, "forced_eos_token_id": tokenize.EOS,
	}
	maps.Copy(config, c.keys)
	if err := files.WriteJSON(filepath.Join(folder, "config.json"), config); err != nil {
		return err
	}
	suppressed := never
	if m.Search.NoUnk {
		suppressed = append(slices.Clip(never), tokenize.Unk)
	}
	err = files.WriteJSON(filepath.Join(folder, "generation_config.json"), map[string]any{
		"bos_token_id": tokenize.BOS, "pad_token_id": tokenize.Pad, "eos_token_id": tokenize.EOS,
		"decoder_start_token_id": start, "forced_eos_token_id": tokenize.EOS,
		"num_beams": m.Search.Beam, "length_penalty": m.Search.LengthPenalty,
		"early_stopping": m.Search.Stop != "transformers", // as fairseq and runs/translate stop
		"max_length":     m.longest(), "min_new_tokens": m.Search.MinLength,
		"no_repeat_ngram_size": m.Search.NoRepeatNgram, "suppress_tokens": suppressed,
	})
	if err != nil {
		return err
	}
	return write(folder, readmeFile, m.card(c, o))
}

// longest is max_length of generate(), which counts the start and the end; that of lengths by the input is 200 words or
// more.
func (m *Model) longest() int {
	words := m.Search.B
	if m.Search.A > 0 {
		words = max(words, 200)
	}
	return min(m.MaxPositions+1, words+2)
}

func dtypeName(f Format) string {
	if f == Float32 {
		return "float32"
	}
	return string(f)
}

// writeWeights writes model.safetensors.
func (m *Model) writeWeights(path string, c class, f Format) error {
	weights := map[string]Tensor{}
	for name, t := range m.Tensors {
		there, renamed := c.names[name]
		switch {
		case !c.positions && (name == encoderPositions || name == decoderPositions):
			continue
		case !renamed:
			there = name
		}
		if name == outputBias {
			t.Shape = []int{1, len(t.Values)}
		}
		if at, whole := strings.CutPrefix(there, "/"); whole {
			weights[at] = t
		} else {
			weights["model."+there] = t
		}
	}
	if c.kind == "fsmt" && !m.oneMatrix() { // it ties all three or none
		weights["model."+encoderEmbedding] = m.Tensors[m.input()]
		weights["model."+outputMatrix] = m.Tensors[m.output()]
	}
	if c.kind == "marian" && !m.oneMatrix() {
		weights["model."+encoderEmbedding] = m.Tensors[m.input()]
	}
	return writeTensors(path, weights, f)
}

// writeTensors writes a safetensors file.
func writeTensors(path string, weights map[string]Tensor, f Format) error {
	var entries []safetensors.Entry
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		t := weights[name]
		e := safetensors.Entry{Name: name, DType: map[Format]string{Float32: "F32", Float16: "F16", BFloat16: "BF16"}[f],
			Bytes: int64(len(t.Values) * f.size())}
		for _, n := range t.Shape {
			e.Shape = append(e.Shape, int64(n))
		}
		entries = append(entries, e)
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<20)
	err = safetensors.WriteHeader(w, entries, map[string]string{"format": "pt"})
	for _, e := range entries {
		if err == nil {
			err = f.floats(w, weights[e.Name].Values)
		}
	}
	if err == nil {
		err = w.Flush()
	}
	return err
}
