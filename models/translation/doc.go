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
// The zero Options are good, for the machine as for the search. Raw text goes in and comes out: lower-casing, tokens and
// byte-pair pieces are the run's.
//
// [Translator.Translate] and its kin may be called from any goroutine, several at once: a process has one torch thread, and calls
// queue for it. A line that cannot be translated has an error of its own ([Translation].Err).
//
// Training takes a translator apart: [New] makes one with fresh weights, [LearnText] its codes and vocabularies, and
// [Translator.Forward] gives the states that the output layer scores. What the values of model.kind stand for is in kinds.go.
//
// # Caveats
//
// New, Load and the methods that are not named above belong on the torch thread (torch.Do). Options.Threads counts for the whole
// process. A [Side] is for one goroutine: its byte-pair encoder remembers words. A joint vocabulary is one vocabulary that both
// sides share.
package translation
