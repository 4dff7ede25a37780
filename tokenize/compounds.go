package tokenize

import "strings"

// compoundMark stands for a hyphen within a word in the files of the first neural translators of English to German.
const compoundMark = " ##AT##-##AT## "

// SplitCompounds splits compounds at hyphens, "rich-text" becomes "rich ##AT##-##AT## text", as published BLEU of
// English to German has them: tensor2tensor's get_ende_bleu.sh and fairseq's compound_split_bleu.sh both run
//
//	perl -ple 's{(\S)-(\S)}{$1 ##AT##-##AT## $2}g'
//
// Perl's matches do not overlap, and it reads bytes: "a-b-c" is split once, "ä-ö-ü" twice, since the second match
// begins within the ö.
func SplitCompounds(line string) string {
	var out strings.Builder
	done := 0
	for i := 1; i+1 < len(line); i++ {
		if line[i] == '-' && i-1 >= done && !perlBlank(line[i-1]) && !perlBlank(line[i+1]) {
			out.WriteString(line[done:i])
			out.WriteString(compoundMark)
			out.WriteByte(line[i+1])
			i++
			done = i + 1
		}
	}
	if done == 0 {
		return line
	}
	out.WriteString(line[done:])
	return out.String()
}

// perlBlank reports whether a byte is white space to Perl.
func perlBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
