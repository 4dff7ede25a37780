package exchange

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/spm"
)

// A model of Marian, as archives of OPUS-MT hold it: decoder.yml names a .npz with the weights and their configuration,
// and one vocabulary or two. Names and semantics: marian-dev, src/models/transformer.h and src/graph; embeddings times
// √D, sinusoids from 0, a decoder that begins with a zero vector, LayerNorm with an epsilon of 1e-9.

// marianEpsilon is that of LayerNorm in Marian.
const marianEpsilon = 1e-9

// readMarian reads an archive of OPUS-MT.
func (d *directory) readMarian(g Given) (*Model, error) {
	c := settings{}
	if d.has("decoder.yml") {
		text, err := d.read("decoder.yml", largestText)
		if err != nil {
			return nil, err
		}
		c = readSettings(text)
	}
	weightsFile, err := d.named(c, "models", "*.npz")
	if err != nil {
		return nil, err
	}
	if len(weightsFile) != 1 {
		return nil, refuse("%s names %d models to be used together, which is not supported: leave one in its decoder.yml",
			d.where, len(weightsFile))
	}
	if !strings.HasSuffix(weightsFile[0], ".npz") {
		return nil, refuse("%s: only .npz is supported; a .bin has weights for Marian's own kernels", d.path(weightsFile[0]))
	}
	vocabularies, err := d.named(c, "vocabs", "*vocab*.yml", "*.vocab")
	if err != nil {
		return nil, err
	}
	arrays, err := d.readNPZ(weightsFile[0])
	if err != nil {
		return nil, err
	}
	wrong := func(err error) error { return fmt.Errorf("%s: %w", d.path(weightsFile[0]), err) }
	m, err := marianNetwork(arrays)
	if err != nil {
		return nil, wrong(err)
	}
	m.Text = g.Text
	source, target, err := d.marianText(m, vocabularies)
	if err != nil {
		return nil, err
	}
	if err := m.takeMarian(arrays, source, target); err != nil {
		return nil, wrong(err)
	}
	if !g.Languages {
		m.name("", "")
	}
	// Marian's own defaults, where decoder.yml says nothing, are a beam of 12 and sums that are not divided.
	m.Search = Search{Beam: c.number("beam-size", 12), LengthPenalty: c.real("normalize", 0),
		A: c.real("max-length-factor", 3), MinLength: 0, NoUnk: c.text("allow-unk", "false") != "true"}
	if c.real("word-penalty", 0) != 0 {
		m.Notes = append(m.Notes, "its setting word-penalty is left out")
	}
	return m, nil
}

// named are the files that a list of decoder.yml names, or else those of a pattern.
func (d *directory) named(c settings, key string, patterns ...string) (files []string, err error) {
	for _, file := range c[key] {
		files = append(files, path.Base(strings.ReplaceAll(file, `\`, "/")))
	}
	if len(files) == 0 {
		if files = d.match(patterns...); len(files) > 1 {
			return nil, fmt.Errorf("%s holds %s: name those that belong together in decoder.yml, under %s", d.where,
				strings.Join(files, ", "), key)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no %s, and no decoder.yml that names one under %s: get the whole model", d.where,
			strings.Join(patterns, " or "), key)
	}
	for _, file := range files {
		if !d.has(file) {
			return nil, fmt.Errorf("%s is missing: get the whole model", d.path(file))
		}
	}
	return files, nil
}

// marianText reads the vocabularies of both sides, and what splits text.
func (d *directory) marianText(m *Model, vocabularies []string) (source, target map[string]int, err error) {
	if len(vocabularies) > 2 {
		return nil, nil, refuse("%s has %d vocabularies, and models of several sources are not supported", d.where,
			len(vocabularies))
	}
	pieces := pieceFiles
	var read [2]map[string]int
	for i := range read {
		name := vocabularies[min(i, len(vocabularies)-1)]
		if strings.HasSuffix(name, ".spm") {
			pieces[i] = name
		}
		if read[i], err = d.marianVocabulary(name); err != nil {
			return nil, nil, err
		}
	}
	if !d.has(pieces[0]) {
		return nil, nil, refuse("%s has no source.spm: text that is split otherwise, as by the BPE of older models of "+
			"OPUS-MT, is not supported", d.where)
	}
	m.Text.OPUS = d.has("preprocess.sh")
	return read[0], read[1], d.readPieces(m, pieces)
}

func (d *directory) marianVocabulary(name string) (map[string]int, error) {
	data, err := d.read(name, largestText)
	if err != nil {
		return nil, err
	}
	var ids map[string]int
	if strings.HasSuffix(name, ".spm") {
		model, err := spm.Read(bytes.NewReader(data), d.path(name))
		if err != nil {
			return nil, err
		}
		ids = make(map[string]int, model.Len())
		for i := range model.Len() {
			ids[model.Piece(i)] = i
		}
		return ids, nil
	}
	if ids, err = readYAMLVocabulary(data); err != nil {
		return nil, fmt.Errorf("%s%w", d.path(name), err)
	}
	return ids, nil
}

// marianNetwork reads the configuration within a model.
func marianNetwork(arrays map[string]array) (*Model, error) {
	text, found := arrays["special:model.yml"]
	if !found {
		return nil, fmt.Errorf("it has no special:model.yml, as every model of Marian has")
	}
	delete(arrays, "special:model.yml")
	c := readSettings(bytes.TrimRight(text.bytes, "\x00"))
	m := &Model{Tensors: map[string]Tensor{}, Network: Network{
		Width: c.number("dim-emb", 0), FFNWidth: c.number("transformer-dim-ffn", 2048),
		Heads: c.number("transformer-heads", 8), EncoderLayers: c.number("enc-depth", 1),
		DecoderLayers: c.number("dec-depth", 1), MaxPositions: min(max(512, c.number("max-length", 0)), 4096),
		Positions: MarianPositions, Epsilon: marianEpsilon, ZeroStart: true,
		Activation: c.text("transformer-ffn-activation", "swish"),
		Dropout:    c.real("transformer-dropout", 0), Attention: c.real("transformer-dropout-attention", 0),
		Activations: c.real("transformer-dropout-ffn", 0),
	}}
	if layers := max(m.EncoderLayers, m.DecoderLayers); layers > mostLayers { // each of which has names to look for
		return nil, fmt.Errorf("its enc-depth or dec-depth is %d, and networks have at most %d layers", layers, mostLayers)
	}
	autoregressive := c.text("transformer-decoder-autoreg", "self-attention")
	pre, post := c.text("transformer-preprocess", ""), c.text("transformer-postprocess", "dan")
	top := c.text("transformer-postprocess-top", "")
	without := func(operations string) string { return strings.ReplaceAll(operations, "d", "") } // dropout
	switch {
	case c.text("type", "") != "transformer":
		return nil, refuse("its type %q is not supported; transformer is", c.text("type", ""))
	case autoregressive != "self-attention":
		return nil, refuse("its decoder is autoregressive by %q (SSRU where that is rnn), which is not supported; "+
			"self-attention is", autoregressive)
	case without(pre) == "" && without(post) == "an" && without(top) == "":
	case without(pre) == "n" && without(post) == "a" && without(top) == "n":
		m.PreNorm = true
	default:
		return nil, refuse("transformer-preprocess %q, -postprocess %q and -postprocess-top %q are not supported together; "+
			`"", "dan" and "" are, and "n", "da" and "n"`, pre, post, top)
	}
	if without(c.text("transformer-postprocess-emb", "d")) != "" {
		return nil, refuse("transformer-postprocess-emb %q is not supported; \"d\" is",
			c.text("transformer-postprocess-emb", "d"))
	}
	for _, key := range []string{"transformer-train-position-embeddings", "transformer-no-projection",
		"transformer-no-affine", "transformer-no-bias", "transformer-rnn-projection", "transformer-pool",
		"output-omit-bias", "ulr", "right-left"} {
		if c.text(key, "false") == "true" {
			return nil, refuse("%s: true is not supported", key)
		}
	}
	if c.number("transformer-ffn-depth", 2) != 2 || c.number("transformer-decoder-ffn-depth", 2) > 2 ||
		c.number("transformer-decoder-dim-ffn", 0) > 0 && c.number("transformer-decoder-dim-ffn", 0) != m.FFNWidth {
		return nil, refuse("feed-forward layers of another depth, or of another width in the decoder, are not supported")
	}
	if tied := c["transformer-tied-layers"]; len(tied) > 0 {
		return nil, refuse("transformer-tied-layers is not supported")
	}
	if _, known := hiddenActivations[m.Activation]; !known {
		return nil, refuse("transformer-ffn-activation: %s is not supported; relu, swish and gelu are", m.Activation)
	}
	if m.Activation == "gelu" {
		return nil, refuse("transformer-ffn-activation: gelu of Marian, x sigmoid(1.702 x), is not supported; relu and " +
			"swish are")
	}
	return m, nil
}

// takeMarian gives the model the weights of Marian's arrays.
func (m *Model) takeMarian(arrays map[string]array, source, target map[string]int) error {
	used := map[string]bool{}
	take := func(names ...string) (Tensor, bool) {
		for _, name := range names {
			if a, found := arrays[name]; found && a.values != nil {
				used[name] = true
				return Tensor{slices.Clone(a.shape), a.values}, true
			}
		}
		return Tensor{}, false
	}
	decoder, found := take("decoder_Wemb", "Wemb")
	encoder, second := take("encoder_Wemb", "Wemb")
	if !found || !second {
		return fmt.Errorf("it has no word vectors: Wemb, or encoder_Wemb and decoder_Wemb")
	}
	output := decoder
	if own, there := take("decoder_ff_logit_out_Wt"); there {
		output = own
	} else if own, there := take("decoder_ff_logit_out_W"); there {
		output = own.transposed()
	}
	bias, _ := take("decoder_ff_logit_out_b")
	for _, t := range []Tensor{encoder, decoder, output} {
		if len(t.Shape) != 2 || t.Shape[1] != m.Width {
			return fmt.Errorf("its word vectors have the shape %v, and dim-emb is %d", t.Shape, m.Width)
		}
	}
	rows := decoder.Shape[0]
	if output.Shape[0] != rows || bias.Values != nil && len(bias.Values) != rows {
		return fmt.Errorf("its decoder reads %d words and predicts %d, with %d numbers of bias", rows, output.Shape[0],
			len(bias.Values))
	}
	number := func(ids map[string]int, size int) (numbering, error) {
		ids = maps.Clone(ids)
		maps.DeleteFunc(ids, func(_ string, id int) bool { return id >= size }) // dim-vocabs may cut the list
		tokens, err := byID(ids, size)
		if err != nil {
			return numbering{}, err
		}
		n, err := newNumbering(tokens)
		if err == nil && (n.theirs[tokenize.EOS] != 0 || n.theirs[tokenize.Unk] != 1) {
			err = refuse("its vocabulary has </s> and <unk> as %d and %d, and Marian takes 0 and 1 for them",
				n.theirs[tokenize.EOS], n.theirs[tokenize.Unk])
		}
		return n, err
	}
	from, err := number(source, encoder.Shape[0])
	if err != nil {
		return err
	}
	to, err := number(target, rows)
	if err != nil {
		return err
	}
	m.embed(from, to, encoder, decoder, output, bias.Values, true)
	for name, there := range m.marianNames() {
		t, found := take(there)
		if !found {
			return fmt.Errorf("it has no %s", there)
		}
		if len(t.Shape) == 2 && strings.HasSuffix(name, ".weight") && !strings.Contains(name, "norm") {
			t = t.transposed() // Marian's maps are [in, out]
		} else {
			t.Shape = []int{len(t.Values)} // [1, D]
		}
		m.Tensors[name] = t
	}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if !used[name] && !strings.HasPrefix(name, "special:") && arrays[name].values != nil {
			return refuse("it has the weight %s, which no Transformer of Aperture has", name)
		}
	}
	return nil
}

// transposed is a matrix [m,n] as [n,m].
func (t Tensor) transposed() Tensor {
	if len(t.Shape) != 2 {
		return t
	}
	m, n := t.Shape[0], t.Shape[1]
	out := Tensor{[]int{n, m}, make([]float32, len(t.Values))}
	for i := range m {
		for j := range n {
			out.Values[j*m+i] = t.Values[i*n+j]
		}
	}
	return out
}

// marianNames maps the weights of layers to Marian's names for them.
func (m *Model) marianNames() map[string]string {
	names := map[string]string{}
	suffix := ""
	if m.PreNorm {
		suffix = "_pre"
	}
	norm := func(ours, theirs, suffix string) {
		names[ours+".weight"], names[ours+".bias"] = theirs+"_ln_scale"+suffix, theirs+"_ln_bias"+suffix
	}
	for side, layers := range map[string]int{"encoder": m.EncoderLayers, "decoder": m.DecoderLayers} {
		if m.PreNorm {
			norm(side+".layer_norm", side+"_top", "")
		}
		for i := range layers {
			at, there := fmt.Sprintf("%s.layers.%d.", side, i), side+"_l"+strconv.Itoa(i+1)+"_"
			attentions := map[string]string{"self_attn": "self", "encoder_attn": "context"}
			if side == "encoder" {
				delete(attentions, "encoder_attn")
			}
			for ours, theirs := range attentions {
				for part, letter := range map[string]string{"q_proj": "q", "k_proj": "k", "v_proj": "v", "out_proj": "o"} {
					names[at+ours+"."+part+".weight"] = there + theirs + "_W" + letter
					names[at+ours+"."+part+".bias"] = there + theirs + "_b" + letter
				}
				norm(at+ours+"_layer_norm", there+theirs+"_Wo", suffix)
			}
			for part, number := range map[string]string{"fc1": "1", "fc2": "2"} {
				names[at+part+".weight"], names[at+part+".bias"] = there+"ffn_W"+number, there+"ffn_b"+number
			}
			norm(at+"final_layer_norm", there+"ffn_ffn", suffix)
		}
	}
	return names
}
