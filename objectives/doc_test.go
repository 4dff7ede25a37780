package objectives

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

var update = flag.Bool("update", false, "write what README.md, docs/methods.md and docs/testbed.md have of the methods anew")

// docsCommand writes what documents have of the list of methods.
const docsCommand = "go test ./objectives -run TestMethodsDoc -update"

// TestMethodsDoc: README's names of methods and its file of one, the table and the index of docs/methods.md, and the
// table of docs/testbed.md, are what the source says.
func TestMethodsDoc(t *testing.T) {
	for _, doc := range []struct {
		name        string
		first, last func(line string) bool // of what is made
		make        func(lines []string) ([]string, error)
	}{
		{"README.md", hasPrefix("Methods: "), func(line string) bool { return line != "" }, methodNames},
		{"docs/methods.md", is("| method | what it does |"), hasPrefix("|"), methodsTable},
		{"docs/testbed.md", hasPrefix("| method | acts on |"), hasPrefix("|"), testbedTable},
		{"README.md", is("```go"), func(line string) bool { return line != "```" }, methodFile},
		{"docs/methods.md", is(indexStart), func(line string) bool { return line != "" }, methodsIndex},
	} {
		path := filepath.Join("..", filepath.FromSlash(doc.name))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		from := slices.IndexFunc(lines, doc.first)
		if from < 0 {
			t.Fatalf("%s has no place for the methods", doc.name)
		}
		to := from
		for doc.last(lines[to]) {
			to++
		}
		want, err := doc.make(lines)
		if err != nil {
			t.Fatalf("%s: %v", doc.name, err)
		}
		if slices.Equal(lines[from:to], want) {
			continue
		}
		if !*update {
			t.Errorf("%s is not what the list of methods says: run %s", doc.name, docsCommand)
			continue
		}
		lines = slices.Replace(lines, from, to, want...)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func is(want string) func(string) bool { return func(line string) bool { return line == want } }

func hasPrefix(want string) func(string) bool {
	return func(line string) bool { return strings.HasPrefix(line, want) }
}

// methodNames is a sentence that names each method.
func methodNames([]string) ([]string, error) {
	lines := []string{"Methods:"}
	for i, m := range methods {
		name := "`" + m.Name + "`,"
		if i == len(methods)-1 {
			name = "`" + m.Name + "`."
		}
		if last := &lines[len(lines)-1]; len(*last)+1+len(name) <= 120 {
			*last += " " + name
		} else {
			lines = append(lines, name)
		}
	}
	return lines, nil
}

// methodsTable has a row for each method.
func methodsTable([]string) ([]string, error) {
	lines := []string{"| method | what it does |", "|---|---|"}
	for _, m := range methods {
		line := "| `" + m.Name + "` | " + m.Summary
		if m.Paper != "" {
			line += " (" + m.Paper + ")"
		}
		lines = append(lines, line+" |")
	}
	return lines, nil
}

// testbedTable has a row for each method: what its pieces act on, what it costs and joins with, and which pages of
// results have a row of it. Coupled Adam, an optimizer that is compared with methods, comes last.
func testbedTable([]string) ([]string, error) {
	lines := []string{"| method | acts on | costs beside mle | joins with | measured in |", "|---|---|---|---|---|"}
	for _, m := range methods {
		pages, err := resultsOf(m.Name)
		if err != nil {
			return nil, err
		}
		anchor, err := methodAnchor(m.Name)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("| [%s](methods.md#%s) | %s | %s | %s | %s |", m.Name, anchor, actsOn(m), m.Cost,
			joinsInWords(m.Name), pages))
	}
	return append(lines, "| [coupled-adam](methods.md#coupled-adam), of `train.optimizer` | optimizer | plain operators "+
		"for the step of W | all with a trained W | – |"), nil
}

// actsOn says what the pieces of a method act on.
func actsOn(m Method) string {
	p := m.Build(Defaults(), false)
	var on []string
	add := func(what string, does bool) {
		if does && !slices.Contains(on, what) {
			on = append(on, what)
		}
	}
	add("W", m.Name != mle.Name && p.Embedding != nil && !m.Needs.WordTargets)
	for _, r := range p.Regularizers {
		_, penalty := r.(Penalty)
		_, constraint := r.(Constraint)
		add("W", penalty || constraint)
		_, transform := r.(GradientTransform)
		add("gradient", transform && !penalty && !constraint)
	}
	var o torch.SoftmaxLossOptions
	for _, t := range p.Terms {
		t.Apply(&o)
	}
	add("gradient", o.WeightGate != nil)
	add("scores", p.Likelihood != nil || p.Perturbation != nil || len(p.Terms) > 0 && o.WeightGate == nil)
	add("states", len(p.States) > 0)
	return strings.Join(on, ", ")
}

// joinsInWords names what a method joins with, or the fewer that it does not.
func joinsInWords(name string) string {
	if name == mle.Name {
		return "–"
	}
	joins := Joins(name)
	var others, aiming []string
	for _, m := range methods[1:] {
		switch {
		case m.Name == name || slices.Contains(joins, m.Name):
		case m.Needs.WordTargets:
			aiming = append(aiming, m.Name)
		default:
			others = append(others, m.Name)
		}
	}
	if len(aiming) > 0 && len(aiming) < len(joins) {
		others = append(others, "those of frozen vectors")
	}
	switch {
	case len(others) == 0:
		return "all"
	case len(joins) == 0:
		return "none"
	case len(others) < len(joins):
		return "all but " + strings.Join(others, ", ")
	}
	return strings.Join(joins, ", ")
}

// resultsOf links the pages of results with a row of a method.
func resultsOf(name string) (string, error) {
	paths, err := filepath.Glob("../docs/results/*.md")
	if err != nil {
		return "", err
	}
	row := regexp.MustCompile("(?m)^\\| *`?" + regexp.QuoteMeta(name) + "`?[ +|]")
	var links []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if page := strings.TrimSuffix(filepath.Base(path), ".md"); row.Match(text) {
			links = append(links, fmt.Sprintf("[%s](results/%s.md)", page, page))
		}
	}
	if links == nil {
		return "–", nil
	}
	return strings.Join(links, ", "), nil
}

// methodAnchor is that of a method's section in docs/methods.md.
func methodAnchor(name string) (string, error) {
	text, err := os.ReadFile("../docs/methods.md")
	if err != nil {
		return "", err
	}
	heading, found := sectionOf(strings.Split(string(text), "\n"), name)
	if !found {
		return "", &missingSection{name}
	}
	return anchorOf(heading), nil
}

// sectionOf is the heading of the second level that names a method.
func sectionOf(lines []string, name string) (heading string, found bool) {
	for _, line := range lines {
		heading, found := strings.CutPrefix(line, "## ")
		if found && slices.Contains(strings.Fields(strings.ReplaceAll(heading, ",", "")), name) {
			return heading, true
		}
	}
	return "", false
}

func anchorOf(heading string) string {
	return strings.ReplaceAll(strings.ReplaceAll(heading, ",", ""), " ", "-")
}

const indexStart = "- [The pieces](#the-pieces) · [What joins with what](#what-joins-with-what)"

// methodFile is zloss.go without its imports and comments, up to the end of the block of code.
func methodFile([]string) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "zloss.go", nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := []string{"```go"}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		var b bytes.Buffer
		if err := format.Node(&b, files, d); err != nil {
			return nil, err
		}
		if len(lines) > 1 {
			lines = append(lines, "")
		}
		lines = append(lines, strings.Split(b.String(), "\n")...)
	}
	return lines, nil
}

// methodsIndex links the section of each method. Several methods may share one, whose heading names them.
func methodsIndex(lines []string) ([]string, error) {
	index, before := []string{indexStart}, ""
	for _, m := range methods {
		heading, found := sectionOf(lines, m.Name)
		if !found {
			return nil, &missingSection{m.Name}
		}
		if heading == before {
			continue
		}
		before = heading
		link := "[" + heading + "](#" + anchorOf(heading) + ")"
		if last := &index[len(index)-1]; len(index) > 1 && len([]rune(*last))+3+len([]rune(link)) <= helpWidth {
			*last += " · " + link
		} else {
			index = append(index, "- "+link)
		}
	}
	return index, nil
}

type missingSection struct{ method string }

func (e *missingSection) Error() string { return "no heading of the second level names " + e.method }
