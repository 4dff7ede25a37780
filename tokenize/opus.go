package tokenize

import (
	"strings"
	"unicode"
)

// opusPunctuation is what OPUS-MT writes in place of full-width and typographic characters.
var opusPunctuation = strings.NewReplacer(
	"，", ",", "。", ". ", "、", ",", "”", `"`, "“", `"`, "∶", ":", "：", ":", "？", "?", "《", `"`, "》", `"`, "）", ")", "！", "!",
	"（", "(", "；", ";", "」", `"`, "「", `"`, "．", ". ", "～", "~", "’", "'", "…", "...", "━", "-", "〈", "<", "〉", ">",
	"【", "[", "】", "]", "％", "%",
	"０", "0", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6", "７", "7", "８", "8", "９", "9",
	"１", `"`, // sic: the models have learnt from such text
)

// NormalizeOPUS prepares a raw line as OPUS-MT's preprocess-spm.sh does before SentencePiece (Tiedemann and
// Thottingal 2020): ASCII in place of full-width punctuation and digits and of typographic quotes, a space in place of
// each character of Unicode's class Other (control, format, unassigned), and single spaces.
func NormalizeOPUS(line string) string {
	line = opusPunctuation.Replace(line)
	line = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.C, r) {
			return ' '
		}
		return r
	}, line)
	return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == ' ' }), " ")
}
