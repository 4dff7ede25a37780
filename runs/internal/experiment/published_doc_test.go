package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublishedDoc: docs/published.md is what the presets' headers make it. -update writes it anew.
func TestPublishedDoc(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "published.md")
	want := publishedDoc(t)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != want {
		t.Errorf("docs/published.md is not what the presets say (%v): run go test ./runs/internal/experiment -run TestPublishedDoc -update", err)
	}
}

// publishedRuns are the runs with published figures, and what these were measured on.
var publishedRuns = []struct{ run, measured, flags string }{
	{"wmt14", `Text stays cased. The figures are BLEU of tokenised text in which entities such as "&quot;" count as tokens, mostly with
compounds split:

    go run ./runs/translate -run FOLDER < DIR/test.en | go run ./runs/score -ref DIR/test.de -compound-split -moses de

For German to English leave out "-compound-split" and give "-moses en". "bleu_tok" of results.json is of the run's own tokens,
which its tokenizer splits at hyphens ("-a").`, ""},
	{"iwslt14", `Text is lower-cased and escaped, both by the run. The figures are "bleu_tok" of results.json: BLEU of tokenised
text. Files of "runs/prepare" are filtered already, which the flags at the end tell the run.`, " -set data.max_length=0 -set data.max_ratio=0"},
	{"iwslt16", `Text is truecased, not escaped, and split at hyphens by the run. The figures are "bleu" of results.json: cased BLEU of
detokenised text. The commands are those of German to English; the other directions add "-src fr -tgt en" or "-src en -tgt fr".
All rows are of Kumar and Tsvetkov (2019), table 1, and of table 9 with a beam.`, ""},
	{"wmt16", `As IWSLT16; the rows are of table 2, and of table 9 with a beam.`, ""},
	{"multi30k", `Text is lower-cased and escaped by the run. The figure is "bleu_tok" of results.json.`, ""},
	{"ptb", `The corpus is lower-cased and without punctuation as it is published. The figures are perplexities of validation
and test text.`, ""},
	{"wikitext2", `The corpus is cased and tokenised as it is published, with @-@ and @,@ for the marks within words and numbers. The figures are
perplexities of validation and test text.`, ""},
	{"wikitext103", `As WikiText-2.`, ""},
}

const publishedIntroduction = `# Published rows

Each row of the papers' tables, with the command that trains it. The presets give the paper's settings, and their files say what
departs from it; "go run ./runs/RUN -h" lists the same rows. [corpora.md](corpora.md) tells how DIR is made of what the corpora's
pages offer, and [vectors.md](vectors.md) where FILE comes from.

A figure after finetuning needs a second stage, "-preset=NAME-finetune -init FOLDER" with the same "-method", as often as the
header of that preset says. With a cache, or with dynamic evaluation, it is measured afterwards:

    go run ./runs/evaluate -run FOLDER -with cache
    go run ./runs/evaluate -run FOLDER -with dynamic

A row that says "not published" is a control, or a method on another text than its paper's.
`

func publishedDoc(t *testing.T) string {
	var b strings.Builder
	b.WriteString(publishedIntroduction)
	specs := shipped(t)
	for _, p := range publishedRuns {
		s := specs[p.run]
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| published | command |\n|---|---|\n", p.run, p.measured)
		for _, name := range s.presetNames() {
			for _, row := range presetRows(t, s, name) {
				fmt.Fprintf(&b, "| %s | `%s%s` |\n", row.figures, row.command, p.flags)
			}
		}
		delete(specs, p.run)
	}
	for _, s := range specs {
		for _, name := range s.presetNames() {
			if len(presetRows(t, s, name)) > 0 {
				t.Errorf("runs/%s has published rows, and publishedRuns does not say what they were measured on", s.Name)
			}
		}
	}
	return strings.ReplaceAll(b.String(), `"`, "`")
}

type publishedRow struct{ figures, command string }

// presetRows are the published rows of a preset with the commands that train them.
func presetRows(t *testing.T, s *Spec, name string) (rows []publishedRow) {
	p, c, err := resolve(s, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range p.Published {
		method, figures, _ := strings.Cut(row, ": ")
		c.Objective.Method = method
		resolved, err := c.Objective.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		command := fmt.Sprintf("go run ./runs/%s -preset=%s -method=%s -data DIR", s.Name, name, method)
		if resolved.WordTargets {
			command += " -vectors FILE"
		}
		if strings.HasSuffix(name, "-finetune") {
			command += " -init FOLDER"
		}
		rows = append(rows, publishedRow{figures, command})
	}
	return rows
}
