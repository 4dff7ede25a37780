package experiment

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced   = regexp.MustCompile("(?s)```.*?```")
	codes    = regexp.MustCompile("`([^`]+)`")
	goPaths  = regexp.MustCompile(`^(torch|tokenize|objectives|models|runs|internal|examples|docs|third_party)/[A-Za-z0-9_./-]+$`)
	markdown = regexp.MustCompile(`^#+ (.*)$`)
)

// TestDocuments: what README.md, CONTRIBUTING.md and docs/ link to exists, headings included, and so does each path of
// the repository that they name between backticks.
func TestDocuments(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text := fenced.ReplaceAllString(readPage(t, page), "")
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(link[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(name))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, link[1], err)
			} else if anchor != "" && !hasHeading(readPage(t, target), anchor) {
				t.Errorf("%s links to %s, and no heading is called so", page, link[1])
			}
		}
		for _, code := range codes.FindAllStringSubmatch(text, -1) {
			if !goPaths.MatchString(code[1]) || strings.Contains(code[1], "RUN") || strings.Contains(code[1], "NAME") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(code[1]))); err != nil {
				t.Errorf("%s names %s: %v", page, code[1], err)
			}
		}
	}
	if words := len(strings.Fields(readPage(t, pages[0]))); words > 900 {
		t.Errorf("README.md has %d words: move what is over 900 to docs", words)
	}
}

// hasHeading says whether a page has a heading with that anchor: lower case, letters, digits and hyphens.
func hasHeading(page, anchor string) bool {
	for line := range strings.Lines(page) {
		heading := markdown.FindStringSubmatch(strings.TrimSpace(line))
		if heading == nil {
			continue
		}
		made := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, heading[1])
		if made == anchor {
			return true
		}
	}
	return false
}

func readPage(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
