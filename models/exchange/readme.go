package exchange

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

const readmeFile = "README.md"

// readme is the README of CTranslate2's folder, with a program that translates raw lines as runs/translate does.
func (m *Model) readme() []byte { return fill(readmeTemplate, m) }

// readmeOfTokens is the README of a model without its text path.
func (m *Model) readmeOfTokens() []byte { return fill(tokensTemplate, m) }

func fill(t *template.Template, m *Model) []byte {
	var b bytes.Buffer
	if err := t.Execute(&b, m); err != nil {
		panic(err) // the templates are constants: a mistake of the program
	}
	return b.Bytes()
}

// Prepared is the Python expression that makes pieces of the variable line, for a README.
func (m *Model) Prepared() string {
	d, line := m.Text, "line.strip()"
	if d.Lowercase {
		line += ".lower()"
	}
	if d.Normalize {
		line = "normalise(" + line + ")"
	}
	switch {
	case d.SentencePiece():
		if m.LanguageCodes() {
			return "coded(" + line + ")"
		}
		return "split(" + line + ", out_type=str)"
	case d.Tokenize == "none":
		line += ".split()"
	default:
		line = fmt.Sprintf("tokenise(%s, aggressive_dash_splits=%s, escape=%s)", line, python(d.Aggressive),
			python(d.Escape))
	}
	if m.Codes != nil {
		line = "split(" + line + ")"
	}
	return line
}

// LanguageCodes reports whether the source has symbols such as >>deu<< for the language to translate into, which no
// SentencePiece model gives.
func (m *Model) LanguageCodes() bool {
	return m.Text.SentencePiece() && slices.ContainsFunc(m.Source, func(token string) bool {
		return strings.HasPrefix(token, ">>") && strings.HasSuffix(token, "<<")
	})
}

// Restored is the Python expression that makes a line of the list pieces.
func (m *Model) Restored() string {
	line := `" ".join(pieces)`
	if m.Text.SentencePiece() {
		return `join(pieces).replace("\u2581", " ").strip()`
	}
	if m.Text.TargetUnits == "bpe" { // the last piece too may be the beginning of a word
		line = `(" ".join(pieces) + " ").replace("@@ ", "").strip()`
	}
	if m.Text.Tokenize == "none" {
		return line
	}
	return "detokenise(" + line + ".split())"
}

// Longest is the Python expression of the largest number of pieces in the translation of pieces.
func (m *Model) Longest() string {
	if m.Search.A == 0 {
		return fmt.Sprint(min(m.Search.B, m.MaxPositions-1))
	}
	return fmt.Sprintf("min(%d, int(%g * (len(pieces) + 1) + %d))", m.MaxPositions-1, m.Search.A, m.Search.B)
}

// Penalty is the exponent of the length penalty.
func (m *Model) Penalty() string { return fmt.Sprintf("%g", m.Search.LengthPenalty) }

// Banned are the arguments of translate_batch that keep words out, each behind a comma.
func (m *Model) Banned() (arguments string) {
	if n := m.Search.NoRepeatNgram; n > 0 {
		arguments = fmt.Sprintf(", no_repeat_ngram_size=%d", n)
	}
	if m.Search.NoUnk {
		arguments += `, suppress_sequences=[["<unk>"]]`
	}
	return arguments
}

// Pair names both languages.
func (m *Model) Pair() string { return m.Text.Source + " to " + m.Text.Target }

// Packages are those that the program installs.
func (m *Model) Packages() string {
	packages := []string{"ctranslate2"}
	if m.Text.Tokenize != "none" || m.Text.Normalize {
		packages = append(packages, "sacremoses")
	}
	if m.Text.SentencePiece() {
		packages = append(packages, "sentencepiece")
	}
	if m.Codes != nil {
		packages = append(packages, "subword-nmt")
	}
	return strings.Join(packages, " ")
}

func python(yes bool) string {
	if yes {
		return "True"
	}
	return "False"
}

var readmeTemplate = template.Must(template.New("").Parse(`# Translator from {{.Pair}} for CTranslate2

This program translates standard input line by line. Run it in this folder; it needs

    pip install {{.Packages}}

` + "```python" + `
{{if .LanguageCodes}}import re
{{end}}import sys
import ctranslate2{{with .Text}}{{if or .Normalize (ne .Tokenize "none")}}, sacremoses{{end}}{{end}}
{{- if .Codes}}
from subword_nmt.apply_bpe import BPE{{if .Text.VocabularyThreshold}}, read_vocabulary{{end}}{{end}}
{{- if .Text.SentencePiece}}
from sentencepiece import SentencePieceProcessor
split = SentencePieceProcessor(model_file="source.spm").encode
join = SentencePieceProcessor(model_file="target.spm").decode_pieces{{end}}
{{- if .LanguageCodes}}

def coded(line):
    """Pieces of a line that may begin with the language to translate into, such as >>deu<<."""
    code = re.match(">>[^<]*<<", line)
    return [code[0], *split(line[code.end():], out_type=str)] if code else split(line, out_type=str)
{{end}}
{{- with .Text}}{{if .Normalize}}
normalise = sacremoses.MosesPunctNormalizer("{{.Source}}").normalize{{end}}{{if ne .Tokenize "none"}}
tokenise = sacremoses.MosesTokenizer("{{.Source}}").tokenize
detokenise = sacremoses.MosesDetokenizer("{{.Target}}").detokenize{{end}}{{end}}
{{- if .Codes}}
split = BPE(open("codes.{{.Text.Source}}", encoding="utf-8")
{{- with .Text}}{{if .VocabularyThreshold}}, vocab=read_vocabulary(
    open("units.{{.Source}}", encoding="utf-8"), {{.VocabularyThreshold}}){{end}}{{end}}).segment_tokens{{end}}
translator = ctranslate2.Translator(".")
for line in sys.stdin:
    pieces = {{.Prepared}}
    pieces = translator.translate_batch([pieces], beam_size={{.Search.Beam}}, length_penalty={{.Penalty}},
        max_input_length=0, min_decoding_length={{.Search.MinLength}}, max_decoding_length={{.Longest}}{{.Banned}})[0].hypotheses[0]
    print({{.Restored}})
` + "```" + `
{{if eq .Text.Tokenize "current"}}
sacremoses follows the edition of the Moses tokenizer of 2017, and this translator was trained with the current one: a
line in some thousands is split otherwise.
{{end}}
translate_batch takes many lines at once, and is faster then. A translation never holds padding or <s>: the output's
bias keeps them out.
`))

var tokensTemplate = template.Must(template.New("").Parse(`# Translator from {{.Pair}} for CTranslate2, without its text path

It takes and gives the pieces of its vocabularies; text is prepared and restored outside. A translation never holds
padding or <s>: the output's bias keeps them out.

` + "```python" + `
import ctranslate2
translator = ctranslate2.Translator(".")
pieces = ["pieces", "of", "a", "line"]
found = translator.translate_batch([pieces], beam_size={{.Search.Beam}}, length_penalty={{.Penalty}},
    max_input_length=0, min_decoding_length={{.Search.MinLength}}, max_decoding_length={{.Longest}}{{.Banned}})
print(found[0].hypotheses[0])
` + "```" + `
`))

// readmeOfArgos is the README of a package of Argos Translate.
func (m *Model) readmeOfArgos() []byte { return fill(argosTemplate, m) }

var argosTemplate = template.Must(template.New("").Parse(`# Translator from {{.Pair}} for Argos Translate and LibreTranslate

Install it with argospm install FILE.argosmodel, or in Python with argostranslate.package.install_from_path(FILE).
`))
