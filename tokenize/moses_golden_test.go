package tokenize

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// golden is a line of testdata/moses.jsonl: what a Moses script makes of input.
type golden struct {
	flags         map[string]string
	flagText      string
	input, output json.RawMessage
}

func (g golden) text(t *testing.T, raw json.RawMessage) (s string) {
	t.Helper()
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// readGolden returns the rows of one tool. Words of a flag up to the next one
// that starts with - are its value.
func readGolden(t *testing.T, tool string) (rows []golden) {
	t.Helper()
	file, err := os.Open("testdata/moses.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		var fields [4]json.RawMessage
		if err := json.Unmarshal(scanner.Bytes(), &fields); err != nil {
			t.Fatal(err)
		}
		var name string
		g := golden{flags: make(map[string]string), input: fields[2], output: fields[3]}
		if json.Unmarshal(fields[0], &name); name != tool {
			continue
		}
		if err := json.Unmarshal(fields[1], &g.flagText); err != nil {
			t.Fatal(err)
		}
		flag := ""
		for _, word := range strings.Fields(g.flagText) {
			if strings.HasPrefix(word, "-") {
				flag = word
				g.flags[flag] = ""
			} else {
				g.flags[flag] = strings.TrimSpace(g.flags[flag] + " " + word)
			}
		}
		rows = append(rows, g)
	}
	if len(rows) == 0 {
		t.Fatalf("testdata/moses.jsonl has no rows for %q", tool)
	}
	return rows
}

// checkGolden compares f with the goldens of a tool.
func checkGolden(t *testing.T, tool string, f func(t *testing.T, g golden, line string) string) {
	t.Helper()
	for _, g := range readGolden(t, tool) {
		line := g.text(t, g.input)
		if got, want := f(t, g, line), g.text(t, g.output); got != want {
			t.Errorf("%s %s %q\n got %q\nwant %q", tool, g.flagText, line, got, want)
		}
	}
}

func TestMosesGolden(t *testing.T) {
	tokenizers := make(map[string]*Moses)
	checkGolden(t, "tokenize", func(t *testing.T, g golden, line string) string {
		m := tokenizers[g.flagText]
		if m == nil {
			_, aggressive := g.flags["-a"]
			_, noEscape := g.flags["-no-escape"]
			var err error
			m, err = NewMoses(MosesOptions{
				Language: g.flags["-l"], Aggressive: aggressive, NoEscape: noEscape,
				Version:   MosesVersion(g.flags["-moses"]),
				Protected: strings.Fields(g.flags["-protected"]),
			})
			if err != nil {
				t.Fatal(err)
			}
			tokenizers[g.flagText] = m
		}
		return m.Tokenize(line)
	})
}

func TestNormalizeGolden(t *testing.T) {
	checkGolden(t, "normalize", func(t *testing.T, g golden, line string) string {
		return NewNormalizer(g.flags["-l"], MosesVersion(g.flags["-moses"])).Normalize(line)
	})
}

func TestDetokenizeGolden(t *testing.T) {
	checkGolden(t, "detokenize", func(_ *testing.T, g golden, line string) string {
		return NewDetokenizer(g.flags["-l"]).Detokenize(line)
	})
}

func TestLineFunctionsGolden(t *testing.T) {
	for tool, f := range map[string]func(string) string{
		"lower": Lowercase, "remove-non-printing": RemoveNonPrinting, "detruecase": Detruecase,
	} {
		checkGolden(t, tool, func(_ *testing.T, _ golden, line string) string { return f(line) })
	}
}

// Moses orders equally frequent forms at random, and lines too: a model is
// compared as the set of its forms and counts.
func TestTruecaseGolden(t *testing.T) {
	var corpus, model strings.Builder
	for _, g := range readGolden(t, "truecase-corpus") {
		corpus.WriteString(g.text(t, g.input) + "\n")
	}
	for _, g := range readGolden(t, "truecase-model") {
		model.WriteString(g.text(t, g.input) + "\n")
	}
	trained, err := TrainTruecaser(strings.NewReader(corpus.String()), "corpus")
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	n, err := trained.WriteTo(&written)
	if err != nil || int(n) != written.Len() {
		t.Fatalf("WriteTo returned %d, %v after writing %d bytes", n, err, written.Len())
	}
	got, want := modelForms(written.String()), modelForms(model.String())
	if !slices.Equal(got, want) {
		t.Errorf("the trained model differs\n got %q\nwant %q", got, want)
	}

	moses, err := ReadTruecaser(strings.NewReader(model.String()), "model")
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "truecase", func(_ *testing.T, _ golden, line string) string { return moses.Truecase(line) })
}

// modelForms returns the lines of a model without what Moses leaves to chance:
// the total and the forms with counts, sorted.
func modelForms(model string) []string {
	var lines []string
	for line := range strings.Lines(model) {
		fields := strings.Fields(line)
		_, total, _ := strings.Cut(fields[1], "/")
		fields[1] = strings.Replace(fields[1], "/"+total, ")", 1)
		var forms []string
		for i := 0; i < len(fields); i += 2 {
			forms = append(forms, fields[i]+fields[i+1])
		}
		slices.Sort(forms)
		lines = append(lines, total+strings.Join(forms, " "))
	}
	slices.Sort(lines)
	return lines
}

func TestCleanGolden(t *testing.T) {
	cleaners := make(map[string]*Cleaner)
	for _, g := range readGolden(t, "clean") {
		c := cleaners[g.flagText]
		if c == nil {
			_, lower := g.flags["-lowercase"]
			_, ignore := g.flags["-ignore-xml"]
			options := CleanOptions{Lowercase: lower, IgnoreMarkup: ignore}
			options.Min, _ = strconv.Atoi(g.flags["-min"])
			options.Max, _ = strconv.Atoi(g.flags["-max"])
			options.MaxWordLength, _ = strconv.Atoi(g.flags["-max-word-length"])
			options.Ratio, _ = strconv.ParseFloat(g.flags["-ratio"], 64)
			var err error
			if c, err = NewCleaner(options); err != nil {
				t.Fatal(err)
			}
			cleaners[g.flagText] = c
		}
		var pair, want []string
		if json.Unmarshal(g.input, &pair) != nil || json.Unmarshal(g.output, &want) != nil || len(pair) != 2 {
			t.Fatalf("bad row %s", g.input)
		}
		source, target, reason, err := c.Clean(pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if (reason == Kept) != (want != nil) || want != nil && (source != want[0] || target != want[1]) {
			t.Errorf("clean %s %q: got %q, %q, reason %d; want %q", g.flagText, pair, source, target, reason, want)
		}
	}
}
