package exchange

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGPT2Unsupported: what no GPT of Aperture is, is refused by name in one sentence.
func TestGPT2Unsupported(t *testing.T) {
	weights := func(folder string, change func(weights map[string]Tensor)) {
		d := &directory{FS: os.DirFS(folder), where: folder}
		all, err := d.readWeights("model.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		change(all)
		if err := writeTensors(filepath.Join(folder, "model.safetensors"), all, Float32); err != nil {
			t.Fatal(err)
		}
	}
	mask := Tensor{[]int{1}, []float32{0}}
	for says, spoil := range map[string]func(folder string){
		"": func(folder string) {
			weights(folder, func(all map[string]Tensor) {
				all["transformer.h.0.attn.bias"], all["transformer.h.0.attn.masked_bias"] = mask, mask
			})
		},
		"the weight transformer.h.1.ln_1.bias, which no GPT-2": func(folder string) {
			weights(folder, func(all map[string]Tensor) { all["transformer.h.1.ln_1.bias"] = mask })
		},
		"has 13 outputs, and queries": func(folder string) {
			weights(folder, func(all map[string]Tensor) {
				all["transformer.h.0.attn.c_attn.weight"] = Tensor{[]int{4, 13}, make([]float32, 52)}
			})
		},
		"import AutoModelForCausalLM as M": func(folder string) {
			if err := os.Rename(filepath.Join(folder, "model.safetensors"),
				filepath.Join(folder, "pytorch_model.bin")); err != nil {
				t.Fatal(err)
			}
		},
		"add_cross_attention = true is not": func(folder string) {
			change(t, folder, "config.json", `{`, `{"add_cross_attention": true,`)
		},
	} {
		folder := t.TempDir()
		gpt2Face(t, folder)
		spoil(folder)
		_, err := ReadGPT2(folder)
		if (says == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v; it should say %q", err, says)
		}
	}
}

// TestGPT2Filled: rows that belong to no piece stay, through a second folder too.
func TestGPT2Filled(t *testing.T) {
	folder := t.TempDir()
	gpt2Face(t, folder)
	m, err := ReadGPT2(folder)
	if err != nil || len(m.Notes) > 0 {
		t.Fatal(err, m.Notes)
	}
	pieces := m.Vocabulary
	d := &directory{FS: os.DirFS(folder), where: folder}
	all, err := d.readWeights("model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	words := all["transformer.wte.weight"]
	for i := range 3 * m.Width {
		words.Values = append(words.Values, float32(i))
	}
	words.Shape[0] += 3
	all["transformer.wte.weight"] = words
	if err := writeTensors(filepath.Join(folder, "model.safetensors"), all, Float32); err != nil {
		t.Fatal(err)
	}
	change(t, folder, "config.json", `"vocab_size": `, fmt.Sprintf(`"vocab_size": %d, "x": `, pieces+3))
	for again, notes := range []int{1, 0} {
		m, err = ReadGPT2(folder)
		if err != nil {
			t.Fatal(err)
		}
		if m.Pieces.Len() != pieces+3 || m.Pieces.Unit(pieces+2) != "madeupword0002" || len(m.Notes) != notes {
			t.Errorf("%d: %d pieces, the last %q: %q", again, m.Pieces.Len(), m.Pieces.Unit(m.Pieces.Len()-1), m.Notes)
		}
		if rows := m.Tensors["encoder.weight"].Values; rows[len(rows)-1] != float32(3*m.Width-1) {
			t.Errorf("%d: the last row ends in %g", again, rows[len(rows)-1])
		}
		folder = t.TempDir()
		if err := WriteGPT2(folder, m, Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGPT2Tokens: without its text path a model has a list of its pieces, and no tokenizer.
func TestGPT2Tokens(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	gpt2Face(t, from)
	m, err := ReadGPT2(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteGPT2(to, m, Options{Tokens: true}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(to, "vocabulary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil || len(list) != m.Vocabulary || list[m.Pieces.ID("Ġ")] != "Ġ" {
		t.Errorf("%d pieces, %v", len(list), err)
	}
	if text := readText(t, to, "README.md"); !strings.Contains(text, "# Language model\n") || strings.Contains(text, "run ,") {
		t.Errorf("the card of a model that no run has trained:\n%s", text)
	}
	for _, name := range []string{"vocab.json", "merges.txt", "tokenizer_config.json"} {
		if _, err := os.Stat(filepath.Join(to, name)); err == nil {
			t.Errorf("there is %s", name)
		}
	}
}
