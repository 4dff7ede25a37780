package exchange

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/aperture-ml/aperture/internal/files"
)

// The numbers of CTranslate2's model.bin, as its version 4.8 reads them: of the format, and of the layout of a
// translator's variables.
const (
	binaryVersion = 6
	specName      = "TransformerSpec"
	specRevision  = 7
)

// The types of variables in model.bin.
const (
	typeFloat32 = iota
	typeInt8
	typeInt16
	typeInt32
	typeFloat16
	typeBFloat16
)

// neverScore is added to the score of what no translation holds.
const neverScore = -1e4

// WriteCTranslate2 fills an empty folder as CTranslate2 4 reads it: model.bin, config.json and vocabularies, and beside
// them README.md and, unless o leaves the text path out, the files of the tokenizer.
//
// Padding and <s> are ordinary words to CTranslate2: the output's bias keeps them out of translations. That takes their
// probability from the sum, which moves scores by less than their digits as a rule.
func WriteCTranslate2(folder string, m *Model, o Options) error {
	if !o.Tokens {
		if err := m.heldByReadme(); err != nil {
			return err
		}
	}
	if err := writeCTranslate2(folder, m, o.Quantise); err != nil {
		return err
	}
	if o.Tokens {
		return write(folder, readmeFile, m.readmeOfTokens())
	}
	contents := map[string][]byte{readmeFile: m.readme()}
	for i, data := range m.SentencePiece {
		if data != nil {
			contents[pieceFiles[i]] = data
		}
	}
	if m.Codes != nil {
		contents["codes."+m.Text.Source] = m.Codes
	}
	if m.Text.VocabularyThreshold > 0 {
		contents["units."+m.Text.Source] = m.Units
	}
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		if err := write(folder, name, contents[name]); err != nil {
			return err
		}
	}
	return nil
}

// writeCTranslate2 writes the model alone.
func writeCTranslate2(folder string, m *Model, f Format) error {
	if err := m.check(Options{Quantise: f}); err != nil {
		return err
	}
	variables, aliases, err := m.variables(f)
	if err != nil {
		return err
	}
	bin, err := os.Create(filepath.Join(folder, "model.bin"))
	if err != nil {
		return err
	}
	defer bin.Close()
	w := bufio.NewWriterSize(bin, 1<<20)
	if err := writeBin(w, variables, aliases); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var epsilon any // null is 1e-5
	if m.Epsilon != normEpsilon {
		epsilon = m.Epsilon
	}
	err = files.WriteJSON(filepath.Join(folder, "config.json"), map[string]any{
		"add_source_bos": false, "add_source_eos": true,
		"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "decoder_start_token": "</s>",
		"layer_norm_epsilon": epsilon, "multi_query_attention": false,
	})
	if err != nil {
		return err
	}
	if slices.Equal(m.Source, m.Target) {
		return files.WriteJSON(filepath.Join(folder, "shared_vocabulary.json"), m.Target)
	}
	if err := files.WriteJSON(filepath.Join(folder, "source_vocabulary.json"), m.Source); err != nil {
		return err
	}
	return files.WriteJSON(filepath.Join(folder, "target_vocabulary.json"), m.Target)
}

// variable is a named array of model.bin.
type variable struct {
	name  string
	shape []int // empty for a scalar
	kind  uint8
	bytes int
	write func(w io.Writer) error
}

// writeBin writes model.bin: both lists sorted by name, little-endian, without alignment.
func writeBin(w io.Writer, variables []variable, aliases map[string]string) error {
	var failed error
	number := func(values ...any) {
		for _, x := range values {
			if failed == nil {
				failed = binary.Write(w, binary.LittleEndian, x)
			}
		}
	}
	text := func(s string) { number(uint16(len(s)+1), []byte(s), uint8(0)) }
	number(uint32(binaryVersion))
	text(specName)
	number(uint32(specRevision), uint32(len(variables)))
	slices.SortFunc(variables, func(a, b variable) int { return cmp.Compare(a.name, b.name) })
	for _, v := range variables {
		if v.bytes > math.MaxUint32 {
			return fmt.Errorf("%s has %d bytes, and CTranslate2 holds less than 4 GiB in one matrix: quantise it", v.name,
				v.bytes)
		}
		text(v.name)
		number(uint8(len(v.shape)))
		for _, n := range v.shape {
			number(uint32(n))
		}
		number(v.kind, uint32(v.bytes))
		if failed == nil {
			failed = v.write(w)
		}
	}
	number(uint32(len(aliases)))
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		text(alias)
		text(aliases[alias])
	}
	return failed
}

// layout collects variables.
type layout struct {
	m      *Model
	format Format
	list   []variable
	failed error
}

// scalar adds a number of a type of integers.
func (l *layout) scalar(name string, kind uint8, value int) {
	raw := []byte{byte(value)}
	if kind == typeInt16 {
		raw = binary.LittleEndian.AppendUint16(nil, uint16(int16(value)))
	}
	l.list = append(l.list, variable{name, nil, kind, len(raw), func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	}})
}

// floats adds an array that is never quantised to integers.
func (l *layout) floats(name string, t Tensor) {
	f, kind := l.format, uint8(typeFloat32)
	switch f {
	case Float16:
		kind = typeFloat16
	case BFloat16:
		kind = typeBFloat16
	default:
		f = Float32
	}
	l.list = append(l.list, variable{name, t.Shape, kind, len(t.Values) * f.size(), func(w io.Writer) error {
		return f.floats(w, t.Values)
	}})
}

// matrix adds one that has a place for scales.
func (l *layout) matrix(name string, t Tensor) {
	var scales Tensor
	var scale func(int) float32
	kind := uint8(typeInt8)
	switch l.format {
	case Int8:
		scales = Tensor{[]int{t.Shape[0]}, rowScales(t)}
		scale = func(r int) float32 { return scales.Values[r] }
	case Int16:
		scales, kind = Tensor{nil, []float32{matrixScale(t)}}, typeInt16
		scale = func(int) float32 { return scales.Values[0] }
	default:
		l.floats(name, t)
		return
	}
	l.list = append(l.list, variable{name, t.Shape, kind, len(t.Values) * l.format.size(), func(w io.Writer) error {
		return l.format.integers(w, t, scale)
	}})
	l.floats(name+"_scale", scales)
}

// joined is the weights of that name, put one below the other; each has the given shape.
func (l *layout) joined(format string, names []string, shape ...int) (all Tensor) {
	all.Shape = slices.Clone(shape)
	all.Shape[0] *= len(names)
	for _, name := range names {
		t, err := l.m.tensor(fmt.Sprintf(format, name), shape...)
		if err != nil && l.failed == nil {
			l.failed = err
		}
		if len(names) == 1 {
			return t
		}
		all.Values = append(all.Values, t.Values...)
	}
	return all
}

// linear adds the map to n numbers from k, or several side by side, with its bias.
func (l *layout) linear(name, from string, n, k int, parts ...string) {
	w, b := l.joined(from+".weight", parts, n, k), l.joined(from+".bias", parts, n)
	if l.failed == nil {
		l.matrix(name+"/weight", w)
		l.floats(name+"/bias", b)
	}
}

// norm adds a LayerNorm.
func (l *layout) norm(name, from string) {
	d := l.m.Width
	l.floats(name+"/gamma", l.joined("%s.weight", []string{from}, d))
	l.floats(name+"/beta", l.joined("%s.bias", []string{from}, d))
}

// activations are the numbers that stand for activation functions.
var activations = map[string]int{"relu": 0, "gelu_tanh": 1, "swish": 2, "gelu": 3}

// variables are those of the model, and names that stand for others.
func (m *Model) variables(f Format) ([]variable, map[string]string, error) {
	l := &layout{m: m, format: f}
	activation, known := activations[m.Activation]
	if !known {
		return nil, nil, fmt.Errorf("CTranslate2 has no activation %q", m.Activation)
	}
	one := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	for side, layers := range map[string]int{"encoder": m.EncoderLayers, "decoder": m.DecoderLayers} {
		l.scalar(side+"/scale_embeddings", typeInt8, 1)
		l.scalar(side+"/num_heads", typeInt16, m.Heads)
		l.scalar(side+"/pre_norm", typeInt8, one(m.PreNorm))
		l.scalar(side+"/activation", typeInt8, activation)
		// Without a table CTranslate2 makes sinusoids whose first position is 1, where fairseq's is 2.
		l.floats(side+"/position_encodings/encodings",
			l.joined("%s.embed_positions.weight", []string{side}, m.MaxPositions, m.Width))
		if m.PreNorm {
			l.norm(side+"/layer_norm", side+".layer_norm")
		}
		for i := range layers {
			l.layer(fmt.Sprintf("%s/layer_%d", side, i), fmt.Sprintf("%s.layers.%d", side, i), side == "decoder")
		}
	}
	l.scalar("encoder/embeddings_merge", typeInt8, 0)
	l.scalar("decoder/start_from_zero_embedding", typeInt8, one(m.ZeroStart))
	l.scalar("decoder/alignment_layer", typeInt16, -1) // the last, over which runs/translate looks for <unk>'s word too
	l.scalar("decoder/alignment_heads", typeInt16, 0)  // the mean of all
	l.floats("decoder/projection/bias", Tensor{[]int{len(m.Target)}, m.maskedBias()})
	aliases := map[string]string{}
	l.matrix("decoder/embeddings/weight", m.Tensors[decoderEmbedding])
	for name, from := range map[string]string{
		"encoder/embeddings_0/weight": m.input(), "decoder/projection/weight": m.output(),
	} {
		if from == decoderEmbedding {
			aliases[name] = "decoder/embeddings/weight"
		} else {
			l.matrix(name, m.Tensors[from])
		}
	}
	return l.list, aliases, l.failed
}

func (l *layout) layer(name, from string, cross bool) {
	d, f := l.m.Width, l.m.FFNWidth
	whole := []string{""}
	l.linear(name+"/self_attention/linear_0", from+".self_attn.%s_proj", d, d, "q", "k", "v")
	l.linear(name+"/self_attention/linear_1", from+".self_attn.out_proj%s", d, d, whole...)
	l.norm(name+"/self_attention/layer_norm", from+".self_attn_layer_norm")
	if cross {
		l.linear(name+"/attention/linear_0", from+".encoder_attn.%s_proj", d, d, "q")
		l.linear(name+"/attention/linear_1", from+".encoder_attn.%s_proj", d, d, "k", "v")
		l.linear(name+"/attention/linear_2", from+".encoder_attn.out_proj%s", d, d, whole...)
		l.norm(name+"/attention/layer_norm", from+".encoder_attn_layer_norm")
	}
	l.linear(name+"/ffn/linear_0", from+".fc1%s", f, d, whole...)
	l.linear(name+"/ffn/linear_1", from+".fc2%s", d, f, whole...)
	l.norm(name+"/ffn/layer_norm", from+".final_layer_norm")
}

// maskedBias is the output's bias with which padding and <s> are never the best.
func (m *Model) maskedBias() []float32 {
	bias := make([]float32, len(m.Target))
	copy(bias, m.bias())
	for _, id := range never {
		bias[id] = neverScore
	}
	return bias
}

// write writes a file of a folder that is not yet in place, so that it need not be careful.
func write(folder, name string, data []byte) error {
	return os.WriteFile(filepath.Join(folder, name), data, 0o666)
}
