// Package score measures translations: BLEU as multi-bleu.perl and as sacreBLEU 2.6.0 compute it, chrF and chrF++, and
// word F1 by training-set frequency.
//
// # Basics
//
// Every measure takes the hypotheses, one string a line, and streams of references: refs[k][i] is the k-th reference of
// hyps[i].
//
//	bleu, err := score.BLEUOptions{}.Corpus(hyps, [][]string{refs})
//	fmt.Println(bleu.Format(1))
//	// BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 41.0 71.0/47.5/34.3/24.5 (BP = ...)
//
// BLEUOptions and CHRFOptions are Metrics. Their zero values are sacreBLEU's defaults; a Result's signature states what
// was computed. Bootstrap adds a 95 % confidence interval; runs/compare/significance says whether two systems differ.
//
// BLEU and chrF are for detokenised text. MultiBLEU and WordF1 are for tokenised text, and depend on the tokenizer.
//
// # Caveats
//
//   - Text is split where Python splits it, at U+001C to U+001F too; MultiBLEU splits and lower-cases bytes, as Perl.
//   - Bytes that are not UTF-8 are not refused but scored as U+FFFD or as they are: check the text first.
//   - Resampling draws the indices of NumPy's default_rng(seed).choice, and adds and divides in single precision, as
//     sacreBLEU does: intervals and p values agree to the last printed digit.
//   - sacreBLEU gives chrF no interval if some resamples score 0; CHRFOptions gives one.
//   - The tokenizers for Chinese, Japanese and Korean, and TER, are not here.
//   - Character classes are Go's: the intl tokenizer may split symbols that are new in Unicode differently.
//   - If every hypothesis is empty, multi-bleu.perl divides by zero; MultiBLEU gives 0.
package score
