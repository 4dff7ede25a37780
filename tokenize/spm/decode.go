package spm

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Decode joins pieces to text. Control pieces vanish, the unknown piece becomes " ⁇ " (or the model's own choice),
// pieces that the model does not have stay as they are, and runs of bytes become characters, U+FFFD for each byte that
// belongs to none.
func (m *Model) Decode(pieces []string) string {
	var out strings.Builder
	var raw []byte // byte pieces that wait for the rest of a character
	flush := func() {
		for len(raw) > 0 {
			r, size := utf8.DecodeRune(raw)
			out.WriteRune(r)
			raw = raw[size:]
		}
	}
	first := true       // no text so far: the space before it is the one that encoding added
	spaceTaken := false // that space was in the piece before
	for _, text := range pieces {
		p := m.pieces[m.ID(text)]
		if p.kind == byteValue {
			b, _ := strconv.ParseUint(text[3:5], 16, 8) // prepare has seen that byte pieces are <0xHH>
			raw = append(raw, byte(b))
			continue
		}
		flush()
		if spaceTaken || out.Len() > 0 {
			first = false
		}
		spaceTaken = false
		switch {
		case p.kind == control:
			continue
		case p.kind == unknown:
			if text == p.text {
				text = m.unkSurface
			}
			out.WriteString(text)
			continue
		}
		if first && (m.dummyPrefix || m.squeeze) {
			trimmed, had := strings.CutPrefix(text, Space)
			text, spaceTaken = trimmed, had && !m.squeeze
		}
		out.WriteString(strings.ReplaceAll(text, Space, " "))
	}
	flush()
	return out.String()
}
