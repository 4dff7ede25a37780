package exchange

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
)

// Given is what a reader cannot find in files.
type Given struct {
	// Text has the keys that no file decides, and the languages where Languages says so.
	Text      bitext.TextSettings
	Languages bool
}

// Read reads a translator that another program left: a folder of transformers, or a folder or ZIP archive of OPUS-MT
// with a model of Marian. What is not supported is a [*Refusal].
func Read(from string, g Given) (*Model, error) {
	m, err := read(from, g)
	return m, files.Plain(err)
}

func read(from string, g Given) (*Model, error) {
	d := &directory{where: from}
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		d.FS = os.DirFS(from)
	} else {
		archive, err := zip.OpenReader(from)
		if err != nil {
			return nil, fmt.Errorf("%s is neither a folder nor a ZIP archive (%w): give the folder or the archive that "+
				"holds the model and its vocabularies", from, err)
		}
		defer archive.Close()
		for _, f := range archive.File {
			if f.UncompressedSize64/deflateRatio > uint64(info.Size()) { // memory is taken for it before it is read
				return nil, fmt.Errorf("%s states that its %s has %d bytes, which an archive of %d bytes cannot hold: "+
					"it is damaged, get it again", from, files.Shown(f.Name), f.UncompressedSize64, info.Size())
			}
		}
		d.FS = archive
		if entries, err := fs.ReadDir(archive, "."); err == nil && len(entries) == 1 && entries[0].IsDir() {
			if d.FS, err = fs.Sub(archive, entries[0].Name()); err != nil {
				return nil, err
			}
		}
	}
	var m *Model
	switch {
	case d.has("config.json"):
		m, err = d.readFace(g)
	case len(d.match("*.npz", "decoder.yml")) > 0:
		m, err = d.readMarian(g)
	case len(d.match("*.bin")) > 0:
		err = refuse("%s holds %s and no config.json: a .bin of Marian has weights of eight bits for its own kernels, "+
			"and is not supported: get the .npz that it was made from", from, d.match("*.bin")[0])
	default:
		err = fmt.Errorf("%s holds neither config.json, as a model of transformers has, nor the .npz and decoder.yml of an "+
			"archive of OPUS-MT: give the folder of such a model", from)
	}
	if err != nil {
		return nil, err
	}
	if err := m.checkWhole(); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return m, nil
}

// deflateRatio is the most bytes that Deflate, the method of ZIP archives, makes of one.
const deflateRatio = 1032

// directory is where a model's files are.
type directory struct {
	fs.FS
	where string
}

func (d *directory) path(name string) string { return path.Join(d.where, name) }

func (d *directory) has(name string) bool {
	info, err := fs.Stat(d, name)
	return err == nil && !info.IsDir()
}

// match are the files of some patterns.
func (d *directory) match(patterns ...string) (names []string) {
	for _, pattern := range patterns {
		found, _ := fs.Glob(d, pattern) // the patterns are constants
		names = append(names, found...)
	}
	return names
}

// largestText bounds files of text and of SentencePiece: the largest published ones have a few megabytes.
const largestText = 64 << 20

// read reads a file, which has at most `most` bytes.
func (d *directory) read(name string, most int64) ([]byte, error) {
	f, err := d.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: get the whole model", d.path(name))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.path(name), err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.path(name), err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s has more than %d MiB: it is no such file", d.path(name), most>>20)
	}
	return data, nil
}

// readJSON reads a file's value; with missing, a file that is not there leaves it as it is.
func (d *directory) readJSON(name string, value any, missing bool) error {
	if missing && !d.has(name) {
		return nil
	}
	data, err := d.read(name, largestText)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("%s is not what it should be: %w", d.path(name), err)
	}
	return nil
}

// bannedBias keeps a word out of every translation, and its gradient finite.
const bannedBias = -1e4

// numbering maps ids of Aperture to those of a foreign vocabulary, -1 for a symbol that it does not have.
type numbering struct {
	theirs []int
	tokens []string
}

// newNumbering numbers the tokens of a foreign vocabulary, by their ids, as Aperture does: the special ones first, the
// others in their order. Ids without a token keep their row.
func newNumbering(tokens []string) (n numbering, err error) {
	special := []string{"<s>", "<pad>", "</s>", "<unk>"}
	n.tokens, n.theirs = special, make([]int, len(special))
	for i, token := range special {
		n.theirs[i] = slices.Index(tokens, token)
	}
	for _, must := range []int{tokenize.EOS, tokenize.Unk} {
		if n.theirs[must] < 0 {
			return n, fmt.Errorf("the vocabulary has no %s, which every translator needs", special[must])
		}
	}
	taken := make(map[string]bool, len(tokens))
	for _, token := range tokens {
		taken[token] = true
	}
	unnamed := 0
	for id, token := range tokens {
		switch {
		case slices.Contains(special, token):
			continue
		case strings.ContainsAny(token, " \n"):
			return n, refuse("the vocabulary has the token %q, and tokens with spaces are not supported", token)
		case token == "":
			for token == "" || taken[token] {
				token = tokenize.MadeUpWord(unnamed)
				unnamed++
			}
		}
		n.tokens, n.theirs = append(n.tokens, token), append(n.theirs, id)
	}
	return n, nil
}

// rows puts the rows of a matrix in Aperture's order, with what stands for a row that is not there.
func (n numbering) rows(t Tensor, missing float32) Tensor {
	width := len(t.Values) / max(1, t.Shape[0])
	out := Tensor{Shape: slices.Clone(t.Shape), Values: make([]float32, len(n.theirs)*width)}
	out.Shape[0] = len(n.theirs)
	for i, theirs := range n.theirs {
		row := out.Values[i*width : (i+1)*width]
		if theirs < 0 {
			for k := range row {
				row[k] = missing
			}
			continue
		}
		copy(row, t.Values[theirs*width:])
	}
	return out
}

// byID lists tokens by their ids, of which the vocabulary has `size`.
func byID(ids map[string]int, size int) ([]string, error) {
	tokens := make([]string, size)
	for _, token := range slices.Sorted(maps.Keys(ids)) {
		id := ids[token]
		switch {
		case id < 0 || id >= size:
			return nil, fmt.Errorf("the token %q has the id %d, and the model has the ids 0 to %d", token, id, size-1)
		case tokens[id] != "":
			return nil, fmt.Errorf("the tokens %q and %q both have the id %d", tokens[id], token, id)
		}
		tokens[id] = token
	}
	return tokens, nil
}

// embed gives the model its matrices in Aperture's order of ids, as few as hold them. With scale, inputs are multiplied
// by √D there as here; without, they take that back, which costs matrices of their own.
func (m *Model) embed(source, target numbering, encoder, decoder, output Tensor, bias []float32, scaled bool) {
	encoder, decoder, output = source.rows(encoder, 0), target.rows(decoder, 0), target.rows(output, 0)
	if !scaled {
		for _, t := range []Tensor{encoder, decoder} {
			for i := range t.Values {
				t.Values[i] /= float32(math.Sqrt(float64(m.Width)))
			}
		}
	}
	m.Source, m.Target = source.tokens, target.tokens
	m.Tensors[decoderEmbedding] = decoder
	if !slices.Equal(decoder.Values, output.Values) {
		m.Tensors[outputMatrix] = output
	}
	joint := slices.Equal(source.tokens, target.tokens)
	if !joint || m.Tensors[outputMatrix].Values != nil || !slices.Equal(encoder.Values, decoder.Values) {
		m.Tensors[encoderEmbedding] = encoder
	}
	m.Text.Joint = joint
	absent := slices.Contains(target.theirs, -1)
	nonzero := slices.ContainsFunc(bias, func(x float32) bool { return x != 0 })
	if !absent && !nonzero {
		return
	}
	if bias == nil {
		bias = make([]float32, 1+slices.Max(target.theirs))
	}
	m.Tensors[outputBias] = target.rows(Tensor{Shape: []int{len(bias)}, Values: bias}, bannedBias)
}

// mostLayers bounds the layers that a file asks for, in encoder and decoder each.
const mostLayers = 1000

// checkWhole says what is missing or has another shape than the network wants, and what it does not know.
func (m *Model) checkWhole() error {
	const width, numbers = 1 << 16, 1 << 25 // numbers of a position table; published ones have 2^20
	d, f := m.Width, m.FFNWidth
	switch {
	case d < 1 || f < 1 || m.Heads < 1 || m.EncoderLayers < 1 || m.DecoderLayers < 1 || m.MaxPositions < 2 || d > width ||
		f > width || m.EncoderLayers > mostLayers || m.DecoderLayers > mostLayers || m.MaxPositions > numbers/d:
		return fmt.Errorf("its sizes make no network: width %d, %d in feed-forward layers, %d heads, %d and %d layers, "+
			"%d positions", d, f, m.Heads, m.EncoderLayers, m.DecoderLayers, m.MaxPositions)
	case d%m.Heads != 0:
		return fmt.Errorf("its width %d is not a multiple of its %d heads", d, m.Heads)
	case d%2 != 0 && m.Positions != Table:
		return fmt.Errorf("its width %d is odd, and sinusoidal positions want it even", d)
	}
	if err := m.check(Options{}); err != nil {
		return err
	}
	known := map[string]bool{m.input(): true, decoderEmbedding: true, m.output(): true}
	want := func(name string, shape ...int) (err error) {
		known[name] = true
		_, err = m.tensor(name, shape...)
		return err
	}
	shapes := m.shapes()
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		if err := want(name, shapes[name]...); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tensors)) {
		if !known[name] {
			return refuse("it has the weight %s, which no Transformer of Aperture has", name)
		}
	}
	return nil
}

// shapes are those of all weights but the embeddings.
func (m *Model) shapes() map[string][]int {
	d, f := m.Width, m.FFNWidth
	shapes := map[string][]int{}
	linear := func(name string, out, in int) {
		shapes[name+".weight"], shapes[name+".bias"] = []int{out, in}, []int{out}
	}
	norm := func(name string) { shapes[name+".weight"], shapes[name+".bias"] = []int{d}, []int{d} }
	for side, layers := range map[string]int{"encoder": m.EncoderLayers, "decoder": m.DecoderLayers} {
		for i := range layers {
			at := fmt.Sprintf("%s.layers.%d.", side, i)
			attentions := []string{"self_attn", "encoder_attn"}
			if side == "encoder" {
				attentions = attentions[:1]
			}
			for _, attention := range attentions {
				for _, part := range []string{"q_proj", "k_proj", "v_proj", "out_proj"} {
					linear(at+attention+"."+part, d, d)
				}
				norm(at + attention + "_layer_norm")
			}
			linear(at+"fc1", f, d)
			linear(at+"fc2", d, f)
			norm(at + "final_layer_norm")
		}
		if m.PreNorm {
			norm(side + ".layer_norm")
		}
		if m.Positions == Table {
			shapes[side+".embed_positions.weight"] = []int{m.MaxPositions, d}
		}
	}
	if m.bias() != nil {
		shapes[outputBias] = []int{len(m.Target)}
	}
	return shapes
}
