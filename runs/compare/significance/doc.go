// Package significance says whether two systems differ by more than chance: on one test text (paired bootstrap and
// approximate randomisation, as sacreBLEU 2.6.0 computes them, and a paired test over blocks of tokens), and over
// seeds.
//
// # Basics
//
//	base, err := score.Count(metric, baseline, refs)
//	other, err := score.Count(metric, system, refs)
//	b := significance.Bootstrap(base, other, 0, 0)       // b.P, b.Low, b.High: of other's score less base's
//	p := significance.Randomisation(base, other, 0, 0)
//	t := significance.PairedT(differences)               // one for each seed, or for each block of tokens
//
// Pool adds the counts of several seeds up, segment by segment: the tests then draw segments, each with what all seeds
// made of it, because the translations of one sentence by several seeds are not independent.
//
// # Caveats
//
// A test on one text says whether another text of its kind would show the same for these trained models. Only a test
// over seeds says it of the method.
//
// sacreBLEU gives a system that equals the baseline the smallest p that its samples allow, because no difference
// exceeds none; here p is 1 then.
package significance
