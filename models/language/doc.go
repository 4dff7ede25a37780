// Package language puts a language model together: vocabulary, network and output
// layer, fresh or from a run folder. It reads texts, scores them and continues them.
//
// # Basics
//
//	texts, err := language.ReadTexts(config, folder)
//	model, err := language.New(config, texts.Words, device)
//	model, warnings, err := language.Open(folder, device)
//	sum, tokens := model.NLL(columns)
//	ids := model.Continue(prompt, 50, language.Sampling{Temperature: 1}, random)
//
// # Caveats
//
// Everything but reading belongs on the torch thread. A text is scored from a state
// of zeros, and its very first token is not predicted.
package language
