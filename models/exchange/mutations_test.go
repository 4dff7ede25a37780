package exchange

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/tokenize/bytebpe"
)

// importers are the formats of whole models: what fills a folder with one, and what reads it; whole says that all of
// its tensors are there.
var importers = []struct {
	name string
	fill func(t testing.TB, folder string)
	read func(folder string) (whole bool, err error)
}{
	{"Marian of transformers", marianFace, readTranslator},
	{"OPUS-MT", func(t testing.TB, folder string) {
		marianArchive(t, folder, func(y string) string { return y })
	}, readTranslator},
	{"FSMT", written("decoder", false), readTranslator},
	{"M2M100", written("all", true), readTranslator},
	{"GPT-2", gpt2Face, readLanguageModel},
	{"GPT-2 with tokenizer.json, in shards", func(t testing.TB, folder string) {
		gpt2Face(t, folder)
		tokenizerJSON(t, folder, true)
		shard(t, folder)
	}, readLanguageModel},
}

// written fills a folder as WriteHuggingFace does.
func written(tying string, preNorm bool) func(t testing.TB, folder string) {
	return func(t testing.TB, folder string) {
		t.Helper()
		m := fixture(tying, preNorm, false)
		m.Text.Aggressive = true
		if err := WriteHuggingFace(folder, m, Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

func readTranslator(folder string) (whole bool, err error) {
	m, err := Read(folder, anyText)
	return err == nil && m.checkWhole() == nil, err
}

func readLanguageModel(folder string) (whole bool, err error) {
	_, err = ReadGPT2(folder)
	return err == nil, err
}

// TestMutations: a damaged file is refused in a sentence or read, whatever the damage, in bounded time and memory.
// APERTURE_TEST_EVERYTHING=1 tries 2,000 for each importer.
func TestMutations(t *testing.T) {
	count := 40
	if os.Getenv("APERTURE_TEST_EVERYTHING") != "" {
		count = 2000
	}
	for _, importer := range importers {
		folder := t.TempDir()
		importer.fill(t, folder)
		if whole, err := importer.read(folder); !whole || err != nil {
			t.Fatalf("%s: undamaged: %v", importer.name, err)
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(3, 4))
		read := 0
		for i := range count {
			file := entries[i%len(entries)].Name()
			before, err := os.ReadFile(filepath.Join(folder, file))
			if err != nil {
				t.Fatal(err)
			}
			put(t, folder, file, mutated(before, random))
			whole, err := importer.read(folder)
			if err != nil {
				fixtures.Sentence(t, err.Error())
			}
			if whole {
				read++
			}
			put(t, folder, file, before)
		}
		t.Logf("%s: %d of %d mutations are read", importer.name, read, count)
	}
}

// gpt2Face fills a folder with a small GPT-2, whose few pieces FuzzImport reads in half of its executions.
func gpt2Face(t testing.TB, folder string) {
	t.Helper()
	ids := map[string]int32{"<|endoftext|>": 0}
	letters := bytebpe.Learn(&bytebpe.Counts{}, 0) // of no words: the 256 bytes
	for i := range letters.Len() {
		ids[letters.Unit(i)] = int32(len(ids))
	}
	merges := [][2]string{{"i", "n"}, {"Ġ", "a"}, {"e", "n"}, {"in", "g"}}
	for _, m := range merges {
		ids[m[0]+m[1]] = int32(len(ids))
	}
	pieces, err := bytebpe.New(ids, merges)
	if err != nil {
		t.Fatal(err)
	}
	m := &GPT2{Width: 4, FFNWidth: 8, Heads: 2, Layers: 1, MaxPositions: 8, Activation: "gelu_tanh", Epsilon: 1e-5,
		Vocabulary: pieces.Len(), Pieces: pieces, Tensors: map[string]Tensor{}}
	for name, shape := range m.shapes() {
		n := 1
		for _, size := range shape {
			n *= size
		}
		m.Tensors[name] = Tensor{shape, make([]float32, n)}
	}
	if err := WriteGPT2(folder, m, Options{}); err != nil {
		t.Fatal(err)
	}
}

// mutated is data with a few bytes changed, cut, doubled or moved.
func mutated(data []byte, random *rand.Rand) []byte {
	out := slices.Clone(data)
	if len(out) == 0 {
		return []byte{byte(random.Uint32())}
	}
	at := random.IntN(len(out))
	if random.IntN(2) == 0 { // headers are at the beginning
		at = random.IntN(min(len(out), 300))
	}
	switch random.IntN(5) {
	case 0:
		return out[:at]
	case 1:
		out[at] ^= 1 << random.IntN(8)
	case 2:
		for k := range min(8, len(out)-at) {
			out[at+k] = byte(random.Uint32())
		}
	case 3:
		end := min(len(out), at+random.IntN(40))
		return slices.Insert(out, at, slices.Clone(out[at:end])...)
	case 4:
		if out[at] >= '0' && out[at] <= '9' || random.IntN(3) == 0 {
			return slices.Insert(out, at, byte('0'+random.IntN(10)))
		}
		return slices.Delete(out, at, min(len(out), at+1+random.IntN(20)))
	}
	return out
}
