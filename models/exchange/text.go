package exchange

import "fmt"

// otherLines is what no program elsewhere does that data.opus_mt asks for.
const otherLines = "prepares lines otherwise"

// unheld makes the refusal of a text path: who prepares text otherwise, which key is in the way, and what would do.
func unheld(who, does, key string, is any, instead string) error {
	return &Refusal{fmt.Sprintf("%s %s, and this run has %s = %v: train with %s", who, does, key, is, instead), true}
}

// heldBySacremoses says which key of the text is in the way of a program that prepares text with sacremoses, byte-pair
// codes of the source and nothing else, with aggressive splitting of hyphens or without.
//
// sacremoses follows Moses's edition of 2017. Of 29,000 lines of Multi30k it splits 4 otherwise than the current one
// (docs/export.md), so data.tokenize = "current" is let pass.
func (m *Model) heldBySacremoses(who string, aggressive bool) error {
	d := m.Text
	splits := "splits no words at hyphens"
	if aggressive {
		splits = "splits words at hyphens"
	}
	switch {
	case d.SentencePiece():
		return unheld(who, "splits text as Moses does", "data.source_units", `"sentencepiece"`, `data.source_units = "bpe"`)
	case d.Truecase:
		return unheld(who, "restores no case", "data.truecase", true, "data.truecase = false")
	case d.OPUS:
		return unheld(who, otherLines, "data.opus_mt", true, "data.opus_mt = false")
	case !d.Normalize:
		return unheld(who, "normalises punctuation", "data.normalize", false, "data.normalize = true")
	case d.Tokenize == "none":
		return unheld(who, "splits text as Moses does", "data.tokenize", `"none"`, `data.tokenize = "2017"`)
	case d.Aggressive != aggressive:
		return unheld(who, splits, "data.aggressive", d.Aggressive, fmt.Sprint("data.aggressive = ", aggressive))
	case !d.Escape:
		return unheld(who, "escapes what Moses escapes", "data.escape", false, "data.escape = true")
	case d.SourceUnits == "word":
		return unheld(who, "splits words into byte-pair pieces", "data.source_units", `"word"`, `data.source_units = "bpe"`)
	case m.Codes == nil:
		return unheld(who, "splits words into byte-pair pieces", "data.merges", 0, "data.merges = 4000 or more")
	case d.VocabularyThreshold > 0:
		return unheld(who, "knows no threshold of pieces", "data.vocabulary_threshold", d.VocabularyThreshold,
			"data.vocabulary_threshold = 0")
	}
	return nil
}

// heldAsRaw says which key is in the way of a program that gives raw text to SentencePiece.
func (m *Model) heldAsRaw(who string) error {
	d := m.Text
	switch {
	case d.Lowercase:
		return unheld(who, "keeps the case of text for SentencePiece", "data.lowercase", true, "data.lowercase = false")
	case d.Normalize:
		return unheld(who, "gives raw text to SentencePiece", "data.normalize", true, "data.normalize = false")
	case d.OPUS:
		return unheld(who, otherLines, "data.opus_mt", true, "data.opus_mt = false")
	}
	return nil
}

// heldByReadme says which key is in the way of the program in the README of CTranslate2's folder.
func (m *Model) heldByReadme() error {
	if m.Text.OPUS {
		return unheld("the program that translates with CTranslate2", otherLines, "data.opus_mt", true,
			"data.opus_mt = false")
	}
	if m.Text.Truecase {
		return unheld("the program that translates with CTranslate2", "restores no case", "data.truecase", true,
			"data.truecase = false")
	}
	return nil
}
