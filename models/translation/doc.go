// Package translation is a translator: text processing, network, output layer and search, as the configuration of a run
// describes them or its folder holds them.
//
// # Basics
//
//	t, err := translation.Open("experiments/multi30k/mle-quick-seed1", translation.Options{})
//	defer t.Close()
//	out, err := t.Translate(ctx, []string{"Two young men."}, decode.Options{})
//	fmt.Println(out[0].Text)
//
// The zero Options are good: they choose the device, and search as the run's own settings say. Raw text goes in and
// comes out: lower-casing or truecasing, tokenising and byte-pair encoding are the run's.
//
// [Translator.Translate] and its kin may be called from any goroutine, several at once: a process has one torch thread,
// and calls queue for it. A line that cannot be translated has an error of its own ([Translation].Err).
//
// An unknown word is replaced as decode.Options.Alignment says: by the source word that it attended to, or by the
// translation that the run's lexicon has for it (data.lexicon).
//
// [Translator.TranslateRequests] translates lines under demands of their own: a prefix, the terms of a [Glossary],
// parts that stay unchanged. decode.Options.Words and Links ask for the words of translations ([Details]).
//
// A [Server] translates texts of any length for many callers at once: their sentences share batches, its queue is
// bounded, and it changes over to a newer model with nothing lost.
//
// A translator that was opened lays its weights out for search at its first call, and keeps that beside them until
// Close; a call with decode.Options.Int8, which computes with weights of eight bits, lays them out anew once.
//
// Training uses the parts of a translator: [LearnText] makes codes and vocabularies (package bitext), [New] a
// translator with fresh weights, and [Translator.Forward] gives the hidden states that its output layer scores. What
// the values of model.kind stand for is in kinds.go.
//
// # Caveats
//
// New, Load and the methods that are not named above belong on the torch thread (torch.Do). Options.Threads counts for
// the whole process.
package translation
