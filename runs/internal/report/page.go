package report

import (
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/chart"
)

// Page is report.html: one file that shows a run and needs no other. It opens with what a reader wants to know, the
// scores, the curves and the state of the output matrix; the details follow.
type Page struct {
	Title   string  // as in "multi30k: spectrum"
	Doubt   string  // why the results are none yet, and what to do; empty for a run without reproach
	Run     []Field // what was run: validation BLEU, data, preset, seed, commit
	Scores  Table
	Plots   []chart.Plot // put into the page: the training curves, and pictures of the output matrix
	Matrix  []Field      // measures of the output matrix
	Samples []Sample     // translations or continuations
	Course  []Field      // of training: parameters, updates, time, memory
	Results string       // results.json
	Config  string       // the resolved configuration, as TOML
}

// Field is a name and a value, as the page shows them.
type Field struct{ Name, Value string }

// Sample is one line of text with what the model made of it.
type Sample struct{ Source, Reference, Output string }

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.Must(Shared.Clone()).New("page").
	Funcs(template.FuncMap{"inline": inline, "settings": settings}).Parse(pageText))

// Head is what template "head" needs of a page.
func (p *Page) Head() Head { return Head{Title: p.Title} }

// Pictures are the training curves, or all others.
func (p *Page) Pictures(curves bool) []chart.Plot {
	return slices.DeleteFunc(slices.Clone(p.Plots),
		func(plot chart.Plot) bool { return curves != (plot.Name == CurvesFile) })
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error { return Execute(w, pageTemplate, p) }

// inline returns a picture as an address that holds it.
func inline(png []byte) template.URL {
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png))
}

// settings returns a TOML text without the comments that explain each key.
func settings(toml string) string {
	var kept strings.Builder
	for line := range strings.Lines(toml) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			kept.WriteString(line)
		}
	}
	return strings.TrimSpace(kept.String())
}
