package exchange

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize/bytebpe"
)

// GPT2 is a language model in GPT-2's form: transformers' GPT2LMHeadModel.
type GPT2 struct {
	Width, FFNWidth, Heads, Layers int
	MaxPositions                   int
	Activation                     string  // as in Network
	Epsilon                        float64 // of LayerNorm
	Dropout, Attention             float64
	Vocabulary                     int // units
	// Tensors have the names of a run: encoder.weight [V,D], decoder.weight where the output matrix is another,
	// embed_positions.weight [P,D], layers.0.self_attn.q_proj.weight and so on, and layer_norm.
	Tensors map[string]Tensor
	// Pieces are what text is split into; nil where the vocabulary is of words.
	Pieces *bytebpe.Tokenizer
	Words  []string // by id; nil where it is of pieces
	Card   Card
	Notes  []string // what a reader could not take over, in sentences
}

// The names of a run and of GPT-2. A layer's begin with layers.0. there and h.0. here; those of linear maps are stored
// as [in, out], and q, k and v side by side in attn.c_attn.
var gpt2Whole = map[string]string{
	"encoder.weight": "transformer.wte.weight", "embed_positions.weight": "transformer.wpe.weight",
	"layer_norm.weight": "transformer.ln_f.weight", "layer_norm.bias": "transformer.ln_f.bias",
	"decoder.weight": "lm_head.weight",
}

var gpt2Layer = []struct{ here, there string }{
	{"self_attn_layer_norm", "ln_1"}, {"self_attn.out_proj", "attn.c_proj"}, {"final_layer_norm", "ln_2"},
	{"fc1", "mlp.c_fc"}, {"fc2", "mlp.c_proj"},
}

// joined are tensors one below the other.
func joined(parts ...Tensor) Tensor {
	out := Tensor{Shape: slices.Clone(parts[0].Shape)}
	out.Shape[0] *= len(parts)
	for _, t := range parts {
		out.Values = append(out.Values, t.Values...)
	}
	return out
}

// shapes are those of a model's weights by name.
func (m *GPT2) shapes() map[string][]int {
	d, f := m.Width, m.FFNWidth
	s := map[string][]int{"encoder.weight": {m.Vocabulary, d}, "embed_positions.weight": {m.MaxPositions, d},
		"layer_norm.weight": {d}, "layer_norm.bias": {d}}
	if _, own := m.Tensors["decoder.weight"]; own {
		s["decoder.weight"] = []int{m.Vocabulary, d}
	}
	for i := range m.Layers {
		at := fmt.Sprintf("layers.%d.", i)
		for name, shape := range map[string][]int{
			"self_attn.q_proj": {d, d}, "self_attn.k_proj": {d, d}, "self_attn.v_proj": {d, d},
			"self_attn.out_proj": {d, d}, "fc1": {f, d}, "fc2": {d, f},
		} {
			s[at+name+".weight"], s[at+name+".bias"] = shape, shape[:1]
		}
		for _, name := range []string{"self_attn_layer_norm", "final_layer_norm"} {
			s[at+name+".weight"], s[at+name+".bias"] = []int{d}, []int{d}
		}
	}
	return s
}

// check says which weight is missing, has another shape, holds a number that is none, or has no place in GPT-2.
func (m *GPT2) check(f Format) error {
	shapes := m.shapes()
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		t, found := m.Tensors[name]
		switch {
		case !found:
			return fmt.Errorf("the weight %s is missing", name)
		case !slices.Equal(t.Shape, shapes[name]):
			return fmt.Errorf("the weight %s has the shape %v where the sizes want %v", name, t.Shape, shapes[name])
		}
		if err := t.check(name, f); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tensors)) {
		if shapes[name] == nil {
			return refuse("the weight %s has no place in GPT-2: it has layers of attention and a feed-forward network, "+
				"and an output without a bias", name)
		}
	}
	return nil
}

// WriteGPT2 fills an empty folder as transformers 5 reads it with from_pretrained: model.safetensors, config.json,
// generation_config.json, README.md, the model card, and vocab.json and merges.txt, or, where o leaves the text path
// out, vocabulary.json, which lists pieces or words by id.
func WriteGPT2(folder string, m *GPT2, o Options) error {
	switch {
	case o.Quantise == Int8 || o.Quantise == Int16:
		return refuse("transformers reads float32, float16 and bfloat16, and no %s: quantise to one of these", o.Quantise)
	case m.Pieces == nil && !o.Tokens:
		return &Refusal{Text: true, Sentence: "transformers has no tokenizer for this run's vocabulary of words: train " +
			"with data.units = \"bytes-bpe\""}
	}
	if err := m.check(o.Quantise); err != nil {
		return err
	}
	if err := m.writeText(folder, o); err != nil {
		return err
	}
	end := m.end()
	activation, known := hiddenActivations[m.Activation]
	if !known {
		return fmt.Errorf("transformers has no activation %q", m.Activation)
	}
	_, own := m.Tensors["decoder.weight"]
	err := files.WriteJSON(filepath.Join(folder, "config.json"), map[string]any{
		"architectures": []string{"GPT2LMHeadModel"}, "model_type": "gpt2", "torch_dtype": dtypeName(o.Quantise),
		"vocab_size": m.Vocabulary, "n_positions": m.MaxPositions, "n_ctx": m.MaxPositions, "n_embd": m.Width,
		"n_layer": m.Layers, "n_head": m.Heads, "n_inner": m.FFNWidth, "activation_function": activation,
		"resid_pdrop": m.Dropout, "embd_pdrop": m.Dropout, "attn_pdrop": m.Attention, "layer_norm_epsilon": m.Epsilon,
		"bos_token_id": end, "eos_token_id": end, "tie_word_embeddings": !own,
	})
	if err == nil {
		err = files.WriteJSON(filepath.Join(folder, "generation_config.json"), map[string]any{
			"bos_token_id": end, "eos_token_id": nil, "pad_token_id": end, "do_sample": true,
			"max_length": m.MaxPositions,
		})
	}
	if err == nil {
		err = writeTensors(filepath.Join(folder, "model.safetensors"), m.there(), o.Quantise)
	}
	if err == nil {
		err = write(folder, readmeFile, m.card(o))
	}
	return err
}

// there are the weights as GPT-2 has them.
func (m *GPT2) there() map[string]Tensor {
	weights := map[string]Tensor{}
	for here, there := range gpt2Whole {
		if t, found := m.Tensors[here]; found {
			weights[there] = t
		}
	}
	for i := range m.Layers {
		here, there := fmt.Sprintf("layers.%d.", i), fmt.Sprintf("transformer.h.%d.", i)
		for _, names := range gpt2Layer {
			t := m.Tensors[here+names.here+".weight"]
			if len(t.Shape) == 2 {
				t = t.transposed()
			}
			weights[there+names.there+".weight"] = t
			weights[there+names.there+".bias"] = m.Tensors[here+names.here+".bias"]
		}
		of := func(kind string) Tensor {
			at := func(part string) Tensor { return m.Tensors[here+"self_attn."+part+"_proj."+kind] }
			return joined(at("q"), at("k"), at("v"))
		}
		weights[there+"attn.c_attn.weight"], weights[there+"attn.c_attn.bias"] = of("weight").transposed(), of("bias")
	}
	return weights
}

// end is the id that texts begin and end with.
func (m *GPT2) end() int {
	if m.Pieces == nil {
		return max(0, slices.Index(m.Words, "<eos>"))
	}
	if id := m.Pieces.ID(endOfText); id >= 0 {
		return id
	}
	return m.Pieces.ID("Ċ") // a line feed
}

// endOfText is GPT-2's only special token.
const endOfText = "<|endoftext|>"

// writeText writes the vocabulary.
func (m *GPT2) writeText(folder string, o Options) error {
	if o.Tokens {
		tokens := slices.Clone(m.Words)
		for id := len(tokens); id < m.Vocabulary; id++ {
			tokens = append(tokens, m.Pieces.Unit(id))
		}
		return files.WriteJSON(filepath.Join(folder, "vocabulary.json"), tokens)
	}
	var vocabulary, merges bytes.Buffer
	err := m.Pieces.Write(&vocabulary, &merges)
	if err == nil {
		err = write(folder, "vocab.json", vocabulary.Bytes())
	}
	if err == nil {
		err = write(folder, "merges.txt", merges.Bytes())
	}
	if err != nil {
		return err
	}
	special := any(nil) // transformers would add one that the vocabulary lacks
	if m.Pieces.ID(endOfText) >= 0 {
		special = endOfText
	}
	return files.WriteJSON(filepath.Join(folder, "tokenizer_config.json"), map[string]any{
		"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": false, "model_max_length": m.MaxPositions,
		"bos_token": special, "eos_token": special, "unk_token": special, "pad_token": nil,
	})
}

// card is README.md of the folder.
func (m *GPT2) card(o Options) []byte {
	var b bytes.Buffer
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("---\nlicense: unknown\nlibrary_name: transformers\npipeline_tag: text-generation\n---\n")
	title := "Language model"
	if m.Card.Data != "" {
		title += " of " + m.Card.Data
	}
	say("# %s\n", title)
	say("A GPT of %d layers, width %d, %d weights, for the class GPT2LMHeadModel.", m.Layers, m.Width, m.Card.Params)
	m.Card.trained(say)
	say("License: unknown. It depends on that of the texts below; put yours here and into the first lines.\n")
	say("```python")
	if o.Tokens {
		say(`from transformers import AutoModelForCausalLM`)
		say("\nmodel = AutoModelForCausalLM.from_pretrained(\".\")\n```\n")
		say("Text is prepared and restored outside: vocabulary.json lists pieces or words by id.\n")
	} else {
		say("from transformers import AutoModelForCausalLM, AutoTokenizer\n")
		say("tokenizer = AutoTokenizer.from_pretrained(\".\")\nmodel = AutoModelForCausalLM.from_pretrained(\".\")")
		say("pieces = tokenizer(\"\\n The\", return_tensors=\"pt\")")
		say("print(tokenizer.decode(model.generate(**pieces, max_new_tokens=50)[0]))\n```\n")
	}
	m.Card.figures(say)
	return b.Bytes()
}
