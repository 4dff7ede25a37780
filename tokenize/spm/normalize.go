package spm

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"
)

// normaliser prepares text for splitting (NormalizerSpec).
type normaliser struct {
	units        []uint32 // the compiled map: a Darts double array over texts that are replaced
	replacements string   // replacements, each ended by NUL
	dummyPrefix  bool     // put a space before the text
	squeeze      bool     // remove spaces at both ends, and join those within
	escape       bool     // write spaces as U+2581
	suffix       bool     // the space of dummyPrefix stands at the end
	symbols      *trie    // texts that are left alone
}

// What a map replaces, and what it puts there, has at most this number of bytes: the longest of the published maps has
// 33 (U+FDFA, which stands for four words). Without a limit a small file could make a text thousands of times as long.
const maxReplacement = 256

// parseNormaliser reads a NormalizerSpec.
func (n *normaliser) parseNormaliser(message []byte) error {
	for f, err := range fields(message) {
		switch {
		case err != nil:
			return err
		case f.is(2, wireBytes):
			if err := n.parseMap(f.bytes); err != nil {
				return err
			}
		case f.is(3, wireVarint):
			n.dummyPrefix = f.value != 0
		case f.is(4, wireVarint):
			n.squeeze = f.value != 0
		case f.is(5, wireVarint):
			n.escape = f.value != 0
		}
	}
	return nil
}

// parseMap reads precompiled_charsmap: the size of the double array in bytes, the array, the replacements.
func (n *normaliser) parseMap(data []byte) error {
	n.units, n.replacements = nil, ""
	if len(data) == 0 {
		return nil
	}
	damaged := fmt.Errorf("its normalisation (precompiled_charsmap) does not hold together: %w", errDamaged)
	if len(data) < 4 {
		return damaged
	}
	size, data := binary.LittleEndian.Uint32(data), data[4:]
	if size%4 != 0 || size == 0 || uint64(size) > uint64(len(data)) {
		return damaged
	}
	n.units = make([]uint32, size/4)
	for i := range n.units {
		n.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	n.replacements = string(data[size:])
	if !utf8.ValidString(n.replacements) || !strings.HasSuffix(n.replacements, "\x00") {
		return damaged
	}
	for with := range strings.SplitSeq(n.replacements, "\x00") {
		if len(with) > maxReplacement {
			return damaged
		}
	}
	for _, u := range n.units {
		// A leaf's value is in the low 31 bits; those of other units are offsets, which lookup checks.
		if u>>31 == 1 && int(u&0x7FFFFFFF) >= len(n.replacements) {
			return damaged
		}
	}
	return nil
}

// offset is the distance from a unit of a Darts double array to its children.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & 512 >> 6) }

// replacement finds the longest text with a replacement that begins text; length 0 without one.
func (n *normaliser) replacement(text string) (with string, length int) {
	if len(n.units) == 0 {
		return "", 0
	}
	value := uint32(0)
	p := offset(n.units[0])
	for i := range min(len(text), maxReplacement) {
		p ^= uint32(text[i])
		if int(p) >= len(n.units) {
			break
		}
		unit := n.units[p]
		if unit&0x800000FF != uint32(text[i]) { // the label, which a leaf never equals
			break
		}
		p ^= offset(unit)
		if int(p) >= len(n.units) {
			break
		}
		if unit>>8&1 == 1 {
			value, length = n.units[p]&0x7FFFFFFF, i+1
		}
	}
	if length == 0 || int(value) >= len(n.replacements) {
		return "", 0
	}
	with, _, _ = strings.Cut(n.replacements[value:], "\x00")
	return with, length
}

// prefix is the normal form of the beginning of a text, and how much of it that replaces.
func (n *normaliser) prefix(text string) (normal string, length int) {
	if length := n.symbols.longest(text); length > 0 {
		return text[:length], length
	}
	if with, length := n.replacement(text); length > 0 {
		return with, length
	}
	r, length := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && length == 1 {
		return "\uFFFD", 1
	}
	return text[:length], length
}

// Normalize is the text that Encode splits: characters replaced, spaces squeezed and written as U+2581.
func (n *normaliser) Normalize(text string) string {
	if n.squeeze {
		for text != "" {
			normal, length := n.prefix(text)
			if normal != " " {
				break
			}
			text = text[length:]
		}
	}
	if text == "" {
		return ""
	}
	gap := " "
	if n.escape {
		gap = Space
	}
	var out strings.Builder
	out.Grow(len(text) + len(text)/2)
	if n.dummyPrefix && !n.suffix {
		out.WriteString(gap)
	}
	afterSpace := n.squeeze
	for text != "" {
		normal, length := n.prefix(text)
		text = text[length:]
		if afterSpace {
			normal = strings.TrimLeft(normal, " ")
		}
		if normal == "" {
			continue
		}
		afterSpace = n.squeeze && normal[len(normal)-1] == ' '
		if n.escape {
			normal = strings.ReplaceAll(normal, " ", Space)
		}
		out.WriteString(normal)
	}
	result := out.String()
	if n.squeeze {
		for strings.HasSuffix(result, gap) {
			result = result[:len(result)-len(gap)]
		}
	}
	if n.dummyPrefix && n.suffix {
		result += gap
	}
	return result
}
