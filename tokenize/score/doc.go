// Package score measures translations and language models: BLEU as multi-bleu.perl and as sacreBLEU 2.6.0 compute it,
// chrF and chrF++, perplexity, and word F1 by training-set frequency.
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
// BLEUOptions and CHRFOptions are Metrics. Their zero values are sacreBLEU's defaults, and the signature that a Result
// prints states what was computed. Setting Bootstrap adds a 95 % confidence interval; runs/compare/significance says
// whether two systems differ.
//
// BLEU and chrF are for plain, detokenised text. MultiBLEU and WordF1 are for text that is tokenised already; their
// results depend on how it was tokenised.
//
// # Caveats
//
//   - Text is split where Python splits it, which is at U+001C to U+001F too;
//     MultiBLEU splits and lower-cases bytes, as the Perl script does.
//   - Bytes that are not UTF-8 are not refused but scored as U+FFFD or as they
//     are: check the text first.
//   - Resampling draws the indices that NumPy's default_rng(seed).choice draws
//     and adds and divides in single precision, because sacreBLEU does; this is
//     what makes intervals and p values agree to the last printed digit.
//   - sacreBLEU fails to give chrF an interval where some resamples score 0 and
//     some do not; CHRF gives one.
//   - The tokenizers for Chinese, Japanese and Korean, and TER, are not here.
//   - Character classes are those of the Go release: a symbol added to Unicode
//     since then may be split differently by the intl tokenizer.
//   - Where every hypothesis is empty, multi-bleu.perl stops with a division by
//     zero; MultiBLEU gives 0.
package score
