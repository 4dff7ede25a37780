package prepare

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
)

// A shape reads the lines of text out of a file; an error of emit ends the reading. Only "\n" ends a line.
type shape func(in *tokenize.Lines, emit func(line string) error) error

// eachLine takes each line as change gives it, unless that drops it.
func eachLine(change func(number int, line string) (changed string, keep bool)) shape {
	return func(in *tokenize.Lines, emit func(string) error) error {
		for in.Next() {
			if line, keep := change(in.Number(), in.Text()); keep {
				if err := emit(line); err != nil {
					return err
				}
			}
		}
		return in.Err()
	}
}

// verbatim takes lines as they are, for files that are to be the published bytes.
var verbatim = eachLine(func(_ int, line string) (string, bool) { return line, true })

// plain takes lines without a byte order mark at the start and a carriage return at the end.
var plain = eachLine(func(number int, line string) (string, bool) {
	return strings.TrimSuffix(unmarked(number, line), "\r"), true
})

// unmarked removes the byte order mark of a first line.
func unmarked(number int, line string) string {
	if number == 1 {
		return strings.TrimPrefix(line, "\ufeff")
	}
	return line
}

// untag removes the tags around text that is kept.
var untag = strings.NewReplacer("<title>", "", "</title>", "", "<description>", "", "</description>", "")

// tagged takes the text of IWSLT's training files: lines about the talks, with one of the marks, are left out; titles
// and descriptions lose their tags.
func tagged(marks ...string) shape {
	return eachLine(func(number int, line string) (string, bool) {
		if strings.Contains(line, "<") {
			if slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(line, mark) }) {
				return "", false
			}
			line = untag.Replace(line)
		}
		return strings.TrimSpace(unmarked(number, line)), true
	})
}

// marked are the tags that matter of a test set in SGML or XML, and the start of one that does not end on its line.
var marked = regexp.MustCompile(`(?i)<(/?)(seg|doc)\b[^>]*(>?)`)

// segments takes the text between <seg> and </seg> of WMT's SGML or IWSLT's XML. Entities such as &amp; stay, as in the
// published scripts. Damage is an error that names the line.
func segments(in *tokenize.Lines, emit func(string) error) error {
	document := 0 // line of the open <doc>
	for in.Next() {
		line, start := in.Text(), -1
		for _, at := range marked.FindAllStringSubmatchIndex(line, -1) {
			closing, name := at[3] > at[2], strings.ToLower(line[at[4]:at[5]])
			switch {
			case at[7] == at[6]:
				return in.Errorf("a tag <%s> is cut off: this is not the published file", name)
			case name == "doc" && !closing && document > 0:
				return in.Errorf("a <doc> begins within the one of line %d: this is not the published file", document)
			case name == "doc" && closing && document == 0:
				return in.Errorf("a </doc> ends no <doc>: this is not the published file")
			case name == "doc" && closing:
				document = 0
			case name == "doc":
				document = in.Number()
			case !closing && start >= 0, closing && start < 0:
				return in.Errorf("<seg> and </seg> do not alternate: this is not the published file")
			case !closing:
				start = at[1]
			default:
				if err := emit(strings.TrimSpace(line[start:at[0]])); err != nil {
					return err
				}
				start = -1
			}
		}
		if start >= 0 {
			return in.Errorf("a <seg> does not end on its line: this is not the published file")
		}
	}
	if in.Err() == nil && document > 0 {
		return in.Errorf("the file ends within the <doc> of line %d: it is cut short", document)
	}
	return in.Err()
}

// straightened replaces the typographic apostrophe, as fairseq's scripts do, in test sets only.
func straightened(line string) string { return strings.ReplaceAll(line, "’", "'") }

// printable removes carriage returns and replaces control and other invisible characters by spaces.
func printable(line string) string {
	return tokenize.RemoveNonPrinting(strings.ReplaceAll(line, "\r", ""))
}
