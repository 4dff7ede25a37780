package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Table is a table with a head; the first column names the rows.
type Table struct {
	Head []string
	Rows [][]string
	Best []int // by column: the row that stands out, or -1; nil where none does
}

// Bold says whether a cell stands out.
func (t Table) Bold(row, column int) bool { return t.Best != nil && row == t.Best[column] }

// lines are the head and the rows, their cells as write has them between two texts.
func (t Table) lines(write func(text string, bold bool) string, before, between, after string) (head, rows string) {
	line := func(row int, texts []string) string {
		cells := make([]string, len(texts))
		for column, text := range texts {
			cells[column] = write(text, row >= 0 && t.Bold(row, column))
		}
		return before + strings.Join(cells, between) + after + "\n"
	}
	for row, texts := range t.Rows {
		rows += line(row, texts)
	}
	return line(-1, t.Head), rows
}

// Markdown is the table in Markdown.
func (t Table) Markdown() string {
	head, rows := t.lines(func(text string, bold bool) string {
		text = strings.ReplaceAll(text, "|", `\|`)
		if bold {
			text = "**" + text + "**"
		}
		return text
	}, "| ", " | ", " |")
	return head + strings.Repeat("|---", len(t.Head)) + "|\n" + rows
}

// latexSigns are what LaTeX reads otherwise.
var latexSigns = strings.NewReplacer(`\`, `\textbackslash{}`, "_", `\_`, "%", `\%`, "&", `\&`, "#", `\#`, "$", `\$`,
	"{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "±", `$\pm$`, "−", "$-$",
	"×", `$\times$`,
	"Δ", `$\Delta$`, "–", "--", "<", "$<$", ">", "$>$", "“", "``", "”", "''", "*", "$^{*}$")

// LaTeX is the table in LaTeX, with the rules of the package booktabs.
func (t Table) LaTeX() string {
	head, rows := t.lines(func(text string, bold bool) string {
		if text = latexSigns.Replace(text); bold {
			text = `\textbf{` + text + "}"
		}
		return text
	}, "", " & ", ` \\`)
	return fmt.Sprintf("\\begin{tabular}{l%s}\n\\toprule\n%s\\midrule\n%s\\bottomrule\n\\end{tabular}\n",
		strings.Repeat("r", len(t.Head)-1), head, rows)
}

//go:embed shared.html
var sharedText string

// Head is what stands before a page's body.
type Head struct {
	Title  string
	Script template.JS // the only one that the page runs
}

// Policy forbids a browser to load anything that is not in the page, and to run any script but the page's own, so that
// a text which got past the escaping could do nothing (Content Security Policy, level 2).
func (h Head) Policy() string {
	policy := "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
	if h.Script != "" {
		sum := sha256.Sum256([]byte(h.Script))
		policy += "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return policy
}

// Execute writes a page. Control characters, which HTML forbids and a browser's source view or a terminal may obey,
// become U+FFFD.
func Execute(w io.Writer, page *template.Template, data any) error {
	var text bytes.Buffer
	if err := page.Execute(&text, data); err != nil {
		return err
	}
	_, err := w.Write(bytes.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text.Bytes()))
	return err
}

// Shared are the templates that pages share: "head", of a Head, and "table", of a Table.
var Shared = template.Must(template.New("shared").Funcs(template.FuncMap{"text": func(cell string) bool {
	first, _ := utf8.DecodeRuneInString(cell)
	return unicode.IsLetter(first)
}}).Parse(sharedText))
