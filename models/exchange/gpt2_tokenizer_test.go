package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// tokenizerJSON puts a tokenizer.json in the place of vocab.json and merges.txt, with merges as lists or as texts.
func tokenizerJSON(t testing.TB, folder string, lists bool) {
	t.Helper()
	var merges []any
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = os.Remove(filepath.Join(folder, name))
		}
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for line := range strings.Lines(string(read("merges.txt"))) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "#version") {
			continue
		}
		if merges = append(merges, line); lists {
			merges[len(merges)-1] = strings.Split(line, " ")
		}
	}
	text, err := json.Marshal(merges)
	if err != nil {
		t.Fatal(err)
	}
	put(t, folder, tokenizerFile, fmt.Appendf(nil, `{"version":"1.0","truncation":null,"padding":null,
"added_tokens":[{"id":0,"content":"<|endoftext|>","single_word":false,"lstrip":false,"rstrip":false,"special":true}],
"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],"special_tokens":{}},
"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},"model":{"type":"BPE",
"dropout":null,"unk_token":null,"continuing_subword_prefix":"","end_of_word_suffix":"","fuse_unk":false,
"byte_fallback":false,"ignore_merges":false,"vocab":%s,"merges":%s}}`, read("vocab.json"), text))
}

// TestTokenizerJSON: tokenizer.json has the pieces of vocab.json and merges.txt.
func TestTokenizerJSON(t *testing.T) {
	const byteLevel = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`
	sequence := func(stages string) func(folder string) {
		return func(folder string) {
			change(t, folder, tokenizerFile, `"pre_tokenizer":`+byteLevel,
				`"pre_tokenizer":{"type":"Sequence","pretokenizers":[`+stages+`]}`)
		}
	}
	pattern, err := json.Marshal(gpt2Patterns[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, alter := range map[string]func(folder string){
		"as transformers 5 writes it": func(string) {},
		"as the first versions wrote it": func(folder string) {
			change(t, folder, tokenizerFile, "\"model\":{\"type\":\"BPE\",", `"model":{`)
			change(t, folder, tokenizerFile, `,"use_regex":true`, "")
		},
		"Sequence": sequence(byteLevel),
		"Split": sequence(`{"type":"Split","pattern":{"Regex":` + string(pattern) + `},"behavior":"Isolated",` +
			`"invert":false},` + strings.Replace(byteLevel, "regex\":true", "regex\":false", 1)),
		"an added token of the vocabulary": func(folder string) {
			change(t, folder, tokenizerFile, `"content":"<|endoftext|>"`, `"content":"!"`)
			change(t, folder, tokenizerFile, `"added_tokens":[{"id":0`, `"added_tokens":[{"id":`+id(t, folder, "!"))
		},
	} {
		for _, lists := range []bool{false, true} {
			folder := t.TempDir()
			gpt2Face(t, folder)
			want, err := ReadGPT2(folder)
			if err != nil {
				t.Fatal(err)
			}
			tokenizerJSON(t, folder, lists)
			alter(folder)
			got, err := ReadGPT2(folder)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			var wanted, found [2]bytes.Buffer
			if err := want.Pieces.Write(&wanted[0], &wanted[1]); err != nil {
				t.Fatal(err)
			}
			if err := got.Pieces.Write(&found[0], &found[1]); err != nil {
				t.Fatal(err)
			}
			if wanted[0].String() != found[0].String() || wanted[1].String() != found[1].String() {
				t.Errorf("%s: other pieces", name)
			}
			const line = "Ein Mann schläft.\n  Two dogs' 12½"
			if !slices.Equal(got.Pieces.Encode(line), want.Pieces.Encode(line)) {
				t.Errorf("%s: %v", name, got.Pieces.Encode(line))
			}
		}
	}
}

// id is the id of a piece, as vocab.json or tokenizer.json writes it.
func id(t *testing.T, folder, piece string) string {
	t.Helper()
	_, rest, found := strings.Cut(readText(t, folder, tokenizerFile), fmt.Sprintf("%q:", piece))
	if !found {
		t.Fatalf("%s is missing", piece)
	}
	return rest[:strings.IndexAny(rest, ",}")]
}

// TestAddedTokens: those behind the vocabulary have their ids, and what is not done with them is said.
func TestAddedTokens(t *testing.T) {
	folder := t.TempDir()
	gpt2Face(t, folder)
	before, err := ReadGPT2(folder)
	if err != nil {
		t.Fatal(err)
	}
	tokenizerJSON(t, folder, true)
	n := before.Pieces.Len()
	change(t, folder, tokenizerFile, `"added_tokens":[`,
		fmt.Sprintf(`"added_tokens":[{"id":%d,"content":"<b c>"},{"id":%d,"content":"<a>"},`, n+1, n))
	change(t, folder, tokenizerFile, `"special_tokens":{}`, `"special_tokens":{"<a>":{}}`)
	m := &GPT2{Vocabulary: n + 2}
	if err := m.readPieces(&directory{FS: os.DirFS(folder), where: folder}); err != nil {
		t.Fatal(err)
	}
	if m.Pieces.ID("<a>") != n || m.Pieces.Unit(n+1) != "<b c>" || m.Pieces.ID(endOfText) != before.Pieces.ID(endOfText) {
		t.Errorf("<a> is %d and %d %q", m.Pieces.ID("<a>"), n+1, m.Pieces.Unit(n+1))
	}
	if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, `such as "<a>", are not looked for`) ||
		!strings.Contains(notes, `its post_processor, "TemplateProcessing", is left out`) {
		t.Errorf("the notes are %q", m.Notes)
	}
}

// TestUnsupportedTokenizer: what is no tokenizer of GPT-2 is refused in a sentence that names the file and what it has.
func TestUnsupportedTokenizer(t *testing.T) {
	type changed struct{ name, from, to string }
	of := func(from, to string) changed { return changed{tokenizerFile, from, to} }
	stage := func(value string) changed { return of(`"pre_tokenizer":`, `"pre_tokenizer":`+value+`,"x":`) }
	stages := func(list string) changed { return stage(`{"type":"Sequence","pretokenizers":[` + list + `]}`) }
	added := func(token string) changed { return of(`"added_tokens":[`, `"added_tokens":[`+token+`,`) }
	merge := func(first string) changed { return of(`"merges":[`, `"merges":[`+first+`,`) }
	for says, c := range map[string]changed{
		`model.type = "Unigram"`:                of(`"type":"BPE"`, `"type":"Unigram"`),
		`model.dropout = 0.1`:                   of(`"dropout":null`, `"dropout":0.1`),
		`continuing_subword_prefix = "##"`:      of(`subword_prefix":""`, `subword_prefix":"##"`),
		`model.end_of_word_suffix = "</w>"`:     of(`word_suffix":""`, `word_suffix":"</w>"`),
		`model.byte_fallback = true`:            of(`"byte_fallback":false`, `"byte_fallback":true`),
		`model.ignore_merges = true`:            of(`"ignore_merges":false`, `"ignore_merges":true`),
		`normalizer.type = "NF\x1bC"`:           of(`"normalizer":null`, `"normalizer":{"type":"NF\u001bC"}`),
		"tokenizer.json is not what it should":  of(`"normalizer":null`, `"normalizer":[]`),
		"pre_tokenizer = null":                  stage("null"),
		`pre_tokenizer.type = "Metaspace"`:      stage(`{"type":"Metaspace"}`),
		"add_prefix_space = true in its":        stage(`{"type":"ByteLevel","add_prefix_space":true}`),
		"use_regex = false in its":              stage(`{"type":"ByteLevel","use_regex":false}`),
		`pretokenizers of "Digits, ByteLevel"`:  stages(`{"type":"Digits"},{"type":"ByteLevel"}`),
		`pre_tokenizer.pretokenizers of ""`:     stages(""),
		`pretokenizers of "Sequence"`:           stages(`{"type":"Sequence"}`),
		`pretokenizers of "?"`:                  stages(`[]`),
		`a pre_tokenizer that splits by "a"`:    stages(`{"type":"Split","pattern":{"Regex":"a"}},{"type":"ByteLevel"}`),
		"model.vocab should be an object":       of(`"vocab":{`, `"vocab":[],"x":{`),
		"the byte 0x21, written !, is missing":  of(`"!":`, `"!!!!":`),
		"model.merges should be a list":         of(`"merges":[`, `"merges":{},"x":[`),
		"merge 1 has 3 pieces":                  merge(`["a","b","c"]`),
		"tokenizer.json: merge 1: the units":    merge(`["a "," b"]`),
		`merge 1: the vocabulary has no unit`:   merge(`["qqq","b"]`),
		`"<x>" has the id 90000, and the next`:  added(`{"id":90000,"content":"<x>"}`),
		`"!" has the id 90000, and 1 in model`:  added(`{"id":90000,"content":"!"}`),
		"tokenizer.json has ids below":          {"config.json", `"vocab_size": `, `"vocab_size": 256, "x": `},
		"tokenizer_config.json has add_prefix_": {"tokenizer_config.json", `prefix_space": false`, `prefix_space": true`},
	} {
		folder := t.TempDir()
		gpt2Face(t, folder)
		tokenizerJSON(t, folder, true)
		change(t, folder, c.name, c.from, c.to)
		_, err := ReadGPT2(folder)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; it should say %s", err, says)
			continue
		}
		fixtures.Sentence(t, err.Error())
	}
}
