// Package language is a language model: vocabulary, network and output layer, as the configuration of a run describes
// them or its folder holds them.
//
// # Basics
//
//	m, err := language.Open("experiments/ptb/mle-small-seed1", language.Options{})
//	defer m.Close()
//	score, err := m.Score(ctx, "the market fell")
//	perplexity := math.Exp(score.NLL / float64(score.Tokens))
//	text, err := m.Sample(ctx, "the market", language.SampleOptions{Temperature: 0.8, Seed: 1})
//
// The zero Options are good; zero SampleOptions take the most probable word each time. [Model.Score] reads lines as the
// training text has them, words separated by spaces, and counts the end of each line as a token. [Model.Score],
// [Model.Predict], [Model.Sample] and [Model.Close] may be called from any goroutine, several at once: a process has
// one torch thread, and calls queue for it.
//
// Training makes a model with fresh weights by [New]. Evaluation reads long texts in columns ([Model.NLL]), with a
// cache of recent words ([Model.ScoreWithCache]), or with weights that follow the text ([Model.Dynamic]). What the
// values of model.kind stand for is in kinds.go.
//
// # Caveats
//
// New, Load and the methods that evaluation has belong on the torch thread (torch.Do). They score a text from a state
// of zeros, and do not predict its very first token; Score predicts it as the beginning of a line. Options.Threads
// counts for the whole process.
package language
