package language_test

import (
	"context"
	"fmt"

	"github.com/aperture-ml/aperture/models/language"
)

// A run that has learnt to count is opened and used.
func Example() {
	folder, err := counts() // or the folder of a training run
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := language.Open(folder, language.Options{Device: "cpu", Threads: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	text, err := m.Sample(context.Background(), "three four", language.SampleOptions{Words: 3})
	fmt.Println(text, err)
	// Output: three four five six seven <nil>
}

// The more probable text has the smaller loss for each of its words.
func ExampleModel_Score() {
	folder, err := counts() // or the folder of a training run
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := language.Open(folder, language.Options{Device: "cpu", Threads: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	var losses []float64
	for _, text := range []string{"three four five", "three five four"} {
		score, err := m.Score(context.Background(), text)
		if err != nil {
			fmt.Println(err)
			return
		}
		losses = append(losses, score.NLL/float64(score.Tokens))
	}
	fmt.Println(losses[0] < losses[1])
	// Output: true
}

// Words that are drawn are the same for the same seed.
func ExampleModel_Sample() {
	folder, err := counts() // or the folder of a training run
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := language.Open(folder, language.Options{Device: "cpu", Threads: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	o := language.SampleOptions{Words: 20, Temperature: 0.8, TopP: 0.95, Seed: 1}
	one, err := m.Sample(context.Background(), "", o)
	if err != nil {
		fmt.Println(err)
		return
	}
	other, err := m.Sample(context.Background(), "", o)
	fmt.Println(one == other, err)
	// Output: true <nil>
}
