package translation_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
)

// A run that has learnt to translate lines of digits is opened and used. Options may stay at their zero values.
func Example() {
	folder, err := digits() // or the folder of a training run
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := translation.Open(folder, translation.Options{Device: "cpu", Threads: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	out, err := t.Translate(context.Background(), []string{"Three and seven.", "", "One, two and nine."},
		decode.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range out {
		fmt.Printf("%q\n", line.Text)
	}
	// Output:
	// "Drei und sieben."
	// ""
	// "Eins, zwei und neun."
}

// A line that cannot be translated has an error of its own.
func ExampleTranslator_Translate() {
	folder, err := digits() // or the folder of a training run
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := translation.Open(folder, translation.Options{Device: "cpu", Threads: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	o := t.Settings.Decode // the run's own, to change one
	o.Beam = 1
	out, err := t.Translate(context.Background(), []string{"Four and \xff.", "Four and eight."}, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range out {
		if line.Err != nil {
			fmt.Println(line.Err)
			continue
		}
		fmt.Println(line.Text)
	}
	// Output:
	// line 1: it is no valid UTF-8: convert the text, for example with iconv
	// Vier und acht.
}

// A server translates for many goroutines at once: their sentences share batches. Texts may be of any length.
func ExampleServer() {
	folder, err := digits() // or the folder of a training run
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := translation.Serve(folder, translation.ServerOptions{
		Options: translation.Options{Device: "cpu", Threads: 1},
		Queue:   1000,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(context.Background())
	var wait sync.WaitGroup
	texts := []string{"Three and seven.", "One, two and nine.\n\nFour and eight."}
	answers := make([]string, len(texts))
	for i, text := range texts {
		wait.Go(func() {
			out, err := s.Translate(context.Background(), []translation.Request{{Line: text}}, decode.Options{},
				translation.SplitLong)
			if err == nil {
				answers[i] = out[0][0].Text
			}
		})
	}
	wait.Wait()
	for _, answer := range answers {
		fmt.Printf("%q\n", answer)
	}
	// Output:
	// "Drei und sieben."
	// "Eins, zwei und neun.\n\nVier und acht."
}
