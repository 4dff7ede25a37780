// Package text takes raw lines of two languages to vocabulary ids and back.
//
// # Basics
//
// Learn makes both sides from training text as the configuration says: lower
// case, normalised punctuation, Moses tokens, byte-pair units, vocabulary. Save
// and Open keep what was learnt in a run's tokenizer folder.
//
//	pair, err := text.Learn(config.Data, source.Lines, target.Lines)
//	ids := pair.Source.Encode("Zwei junge Männer.")
//	raw := pair.Target.Raw(pair.Target.Tokens(ids))
//
// # Caveats
//
// A Side is for one goroutine: its byte-pair encoder remembers words. A joint
// vocabulary is one vocabulary that both sides share.
package text
