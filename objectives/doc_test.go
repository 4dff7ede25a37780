package objectives

import (
	"bytes"
	"flag"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what README.md and docs/methods.md have of the methods anew")

// docsCommand writes what documents have of the list of methods.
const docsCommand = "go test ./objectives -run TestMethodsDoc -update"

// TestMethodsDoc: README's names of methods and its file of one, and the table and the index of docs/methods.md, are what the
// source says.
func TestMethodsDoc(t *testing.T) {
	for _, doc := range []struct {
		name        string
		first, last func(line string) bool // of what is made
		make        func(lines []string) ([]string, error)
	}{
		{"README.md", hasPrefix("Methods: "), func(line string) bool { return line != "" }, methodNames},
		{"docs/methods.md", is("| method | what it does |"), hasPrefix("|"), methodsTable},
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
		i := slices.IndexFunc(lines, func(line string) bool {
			heading, found := strings.CutPrefix(line, "## ")
			return found && slices.Contains(strings.Fields(strings.ReplaceAll(heading, ",", "")), m.Name)
		})
		if i < 0 {
			return nil, &missingSection{m.Name}
		}
		heading := strings.TrimPrefix(lines[i], "## ")
		if heading == before {
			continue
		}
		before = heading
		anchor := strings.ReplaceAll(strings.ReplaceAll(heading, ",", ""), " ", "-")
		link := "[" + heading + "](#" + anchor + ")"
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
