package tokenize

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// endOfWord marks the last symbol of a word inside merges.
const endOfWord = "</w>"

// Merge is one rule of byte-pair encoding: Left followed by Right becomes one symbol.
type Merge struct{ Left, Right string }

// Codes are the merges of a byte-pair encoding, the most important first, as in subword-nmt's codes files.
type Codes struct {
	// Version of the file: "0.2" glues the end-of-word mark to a word's last character; in "0.1", a file without a
	// version line, it is a symbol.
	Version string
	Merges  []Merge
}

// ReadCodes reads a codes file; name stands for it in errors.
func ReadCodes(r io.Reader, name string) (*Codes, error) {
	rows := newTableRows(r, name)
	codes := &Codes{Version: "0.1"}
	blank := 0
	for {
		row, ok := rows.next()
		if !ok {
			break
		}
		if rows.Number() == 1 && strings.HasPrefix(row, "#version:") {
			version, err := codesVersion(row)
			if err != nil {
				return nil, rows.Errorf("%v", err)
			}
			codes.Version = version
			continue
		}
		if row == "" {
			if blank == 0 {
				blank = rows.Number()
			}
			continue
		}
		if blank > 0 {
			return nil, fmt.Errorf("%s:%d: a blank line among the merges; delete it", name, blank)
		}
		left, right, ok := twoFields(row)
		if !ok {
			return nil, rows.Errorf("a merge is two symbols with one space between them, not %.80q", row)
		}
		codes.Merges = append(codes.Merges, Merge{left, right})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if rows.Number() == 0 {
		return nil, fmt.Errorf("%s: the codes file is empty; learn one with bpe-learn", name)
	}
	return codes, nil
}

// codesVersion reads "#version: 0.2"; trailing ".0" parts count for nothing.
func codesVersion(row string) (string, error) {
	fields := strings.Fields(strings.TrimPrefix(row, "#version:"))
	if len(fields) == 2 && fields[1] == "byte" {
		return "", fmt.Errorf("these codes are byte-level; learn codes over characters instead")
	}
	version := ""
	if len(fields) > 0 {
		version = zeroParts.ReplaceAllString(fields[len(fields)-1], "")
	}
	if version != "0.1" && version != "0.2" {
		return "", fmt.Errorf("codes of version %.80q are not known; 0.1 and 0.2 are", version)
	}
	return version, nil
}

// zeroParts end a version without changing it.
var zeroParts = regexp.MustCompile(`(\.0+)+$`)

// Write writes the codes as subword-nmt does: the version, unless 0.1, then one merge a line. 0.1 is written too where
// the first merge ends in a carriage return, which would else be taken for the end of a line.
func (c *Codes) Write(w io.Writer) error {
	returns := len(c.Merges) > 0 && strings.HasSuffix(c.Merges[0].Right, "\r")
	return writeRows(w, func(yield func(string, string) bool) {
		if (c.Version != "0.1" || returns) && !yield("#version:", c.Version) {
			return
		}
		for _, m := range c.Merges {
			if !yield(m.Left, m.Right) {
				return
			}
		}
	})
}

// First returns the codes cut to their first n merges; fewer are left as they are.
func (c *Codes) First(n int) *Codes {
	if n < 0 || n > len(c.Merges) {
		n = len(c.Merges)
	}
	return &Codes{Version: c.Version, Merges: c.Merges[:n]}
}
