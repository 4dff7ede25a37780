// Package significance says whether two systems differ by more than chance: on one test text (paired bootstrap and
// approximate randomisation, on sacreBLEU 2.6.0's draws, and a paired test over blocks of tokens), over seeds (a linear
// model of all rows), and over both.
//
// # Basics
//
//	base, err := score.Count(metric, baseline, refs)
//	other, err := score.Count(metric, system, refs)
//	b := significance.Bootstrap(base, other, 0, 0)       // b.P, b.Low, b.High: of other's score less base's
//	p := significance.Randomisation(base, other, 0, 0)
//	t := significance.PairedT(differences)               // one for each block of tokens
//	fit := significance.Linear(scores, control, 0.05)    // scores [rows][seeds]; fit.Contrasts[row].P
//	c := significance.SeedsAndSentences(controls, systems, 0, 0, 0.05)
//
// Pool adds the counts of several seeds up, segment by segment: the tests then draw segments, each with what all seeds
// made of it, because the translations of one sentence by several seeds are not independent.
//
// # Caveats
//
// A test on one text says whether another text of its kind would show the same for these trained models. Only a test
// over seeds says it of the method.
//
// sacreBLEU's p of the bootstrap is one-tailed, although its documents do not say so: between systems that are alike it
// is below 0.05 in about 9 of 100 cases (TestFalseAlarms). Paired.OneTailed is that p, for comparison with other
// papers.
//
// sacreBLEU gives a system that equals the baseline, or differs from it in few segments, the smallest p that its
// samples allow, because no difference exceeds the observed one; here p is 1 for equal systems, and randomisation
// counts equal differences.
package significance
