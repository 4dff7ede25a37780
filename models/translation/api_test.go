package translation_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// open opens a run folder until the end of the test, which fails where tensors outlive it.
func open(t *testing.T, folder string) *translation.Translator {
	t.Helper()
	before := torch.LiveHandles()
	made, err := translation.Open(folder, translation.Options{Device: "cpu", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		made.Close() // the test may have closed it
		if left := torch.LiveHandles() - before; left != 0 {
			t.Errorf("%d tensors outlived the translator", left)
		}
	})
	return made
}

// openDigits opens the Transformer that has learnt to translate digits.
func openDigits(t *testing.T) *translation.Translator { return openLearnt(t, learntDigits) }

func openLearnt(t *testing.T, run *learntRun) *translation.Translator {
	t.Helper()
	folder, err := run.open()
	if err != nil {
		t.Fatal(err)
	}
	return open(t, folder)
}

// eachNetwork runs a test on a translator of digits of each kind.
func eachNetwork(t *testing.T, f func(t *testing.T, made *translation.Translator)) {
	for name, run := range map[string]*learntRun{"transformer": learntDigits, "attentional": learntAttentional} {
		t.Run(name, func(t *testing.T) { f(t, openLearnt(t, run)) })
	}
}

func translate(t *testing.T, made *translation.Translator, lines []string, o decode.Options) []translation.Translation {
	t.Helper()
	out, err := made.Translate(t.Context(), lines, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != len(lines) {
		t.Fatalf("%d translations of %d lines", len(out), len(lines))
	}
	return out
}

// The run has learnt its language: what follows is about translations, not about noise.
func TestTranslate(t *testing.T) { eachNetwork(t, translatesDigits) }

func translatesDigits(t *testing.T, made *translation.Translator) {
	source, target := numbers(7, 200, 10)
	right := 0
	for i, line := range translate(t, made, source, decode.Options{}) {
		if line.Text == target[i] {
			right++
			if tokenised := made.Text.Target.Tokenize(target[i]); line.Tokenised != tokenised {
				t.Errorf("%q is %q tokenised, want %q", line.Text, line.Tokenised, tokenised)
			}
		}
		if line.Err != nil || !(line.Score < 0) {
			t.Errorf("line %d has score %v, %v", i+1, line.Score, line.Err)
		}
	}
	if right < 180 {
		t.Errorf("%d of %d translations are right", right, len(source))
	}
	if none, err := made.Translate(t.Context(), nil, decode.Options{}); err != nil || len(none) != 0 {
		t.Errorf("no lines gave %v, %v", none, err)
	}
}

// Many goroutines at once get what one call gets.
func TestManyGoroutines(t *testing.T) {
	made := openDigits(t)
	source, _ := numbers(8, 48, 10)
	o := made.Settings.Decode
	o.NBest = 2
	want := translate(t, made, source, decode.Options{})
	wantBest, err := made.TranslateNBest(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, len(want))
	for i, line := range want {
		texts[i] = line.Text
	}
	wantForced, err := made.Force(t.Context(), source, texts, made.Settings.Decode)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for k := range 12 {
		wait.Go(func() {
			first := 4 * k
			lines, last := source[first:first+4], first+4
			switch k % 3 {
			case 0:
				got, err := made.Translate(t.Context(), lines, decode.Options{})
				if diff := cmp.Diff(want[first:last], got, closely); err != nil || diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
			case 1:
				got, err := made.TranslateNBest(t.Context(), lines, o)
				if diff := cmp.Diff(wantBest[first:last], got, closely); err != nil || diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
			case 2:
				got, err := made.Force(t.Context(), lines, texts[first:last], made.Settings.Decode)
				if diff := cmp.Diff(wantForced[first:last], got, closely); err != nil || diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
			}
		})
	}
	wait.Wait()
}

// errorsByText compares errors by what they say, and closely lets scores differ by the rounding of products of other
// shapes too.
var (
	errorsByText = cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
	closely      = cmp.Options{errorsByText, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-5 })}
)

// A translation does not depend on what shares its batch, nor on the sizes of batches. A Transformer's with relu and a
// plain softmax does not in the last bit of its score with weights of eight bits, nor with AVX-512; other products, and
// float32's of AVX2, round by their rows.
func TestLinesAreIndependent(t *testing.T) { eachNetwork(t, linesAreIndependent) }

// The same for the published width, whose sums oneDNN cuts into blocks. Its weights mean nothing.
func TestWideLinesAreIndependent(t *testing.T) {
	if device != torch.CPU {
		t.Skip("tests compute on " + string(device) + ", and lines are independent to the last bit on the CPU alone")
	}
	var made *translation.Translator
	torch.Do(func() {
		made = fresh(t, settings(t, smallConfig, func(s *translation.Settings) {
			s.Model.Width, s.Model.FFNWidth, s.Model.Heads = 512, 2048, 8
			s.Model.EncoderLayers, s.Model.DecoderLayers = 1, 1
			s.Decode.MaxLengthA, s.Decode.MaxLengthB, s.Decode.Beam = 0, 6, 2
		}))
	})
	defer torch.Do(func() { made.Free() })
	linesAreIndependent(t, made)
}

func linesAreIndependent(t *testing.T, made *translation.Translator) {
	closely := closely
	source, _ := numbers(9, 40, 10)
	if made.Settings.Model.Kind == "transformer" {
		exactly := cmp.Options{errorsByText}
		o := made.Settings.Decode
		o.Int8 = true
		for i, line := range translate(t, made, source, o) {
			if diff := cmp.Diff(line, translate(t, made, source[i:i+1], o)[0], exactly); diff != "" {
				t.Errorf("%q among others and alone, in eight bits:\n%s", source[i], diff)
			}
		}
		if torch.ISA() == "avx512" {
			closely = exactly
		}
	}
	source = append(source, "Nine.", "One two three four five six seven eight.", "Something else, and nine.", "?")
	together := translate(t, made, source, decode.Options{})
	if len(slices.Compact(slices.Sorted(slices.Values(source)))) < 40 {
		t.Error("there are few different lines")
	}
	for i, line := range source {
		alone := translate(t, made, []string{line}, decode.Options{})
		if diff := cmp.Diff(together[i], alone[0], closely); diff != "" {
			t.Errorf("%q among others and alone:\n%s", line, diff)
		}
	}
	for _, batches := range []decode.Options{{BatchSentences: 1}, {BatchSentences: 7},
		{BatchSentences: 64, BatchTokens: 30}} {
		o := made.Settings.Decode
		o.BatchSentences, o.BatchTokens = batches.BatchSentences, batches.BatchTokens
		backwards := slices.Clone(source)
		slices.Reverse(backwards)
		out := translate(t, made, backwards, o)
		slices.Reverse(out)
		if diff := cmp.Diff(together, out, closely); diff != "" {
			t.Errorf("in batches of %d sentences and %d tokens:\n%s", o.BatchSentences, o.BatchTokens, diff)
		}
	}
}

// What is wrong with a line is reported with its number, and the other lines are translated as ever; an empty line is
// empty.
func TestLineErrors(t *testing.T) {
	made := openDigits(t)
	positions := made.Settings.Model.MaxPositions
	longest := strings.TrimSpace(strings.Repeat("nine ", positions-1))
	good, _ := numbers(11, 3, 10)
	if got, want := made.Settings.Lines.MaxLine, (corpus.LineSettings{}).Limit(); got != want {
		t.Errorf("the key's default is %d, and %d where no key is", got, want)
	}
	limit := strings.Repeat("9 ", made.Settings.Lines.MaxLine/2)
	lines := []string{good[0], "Tw\xff, three.", "", good[1], longest + " nine", " \t ", longest, good[2], limit,
		limit + "9"}
	out := translate(t, made, lines, decode.Options{})
	for i, parts := range map[int][]string{
		1: {"line 2: ", "UTF-8"},
		4: {"line 5: ", "it has 17 symbols", "the model has 16 positions", "model.max_positions"},
		8: {"line 9: ", "it has 500001 symbols or more", "the model has 16 positions"},
		9: {"line 10: ", "it has more than 1000000 bytes (data.max_line)"},
	} {
		var failure *translation.LineError
		if err := out[i].Err; !errors.As(err, &failure) || failure.Line != i+1 || errors.Unwrap(err) == nil {
			t.Errorf("line %d: %v", i+1, out[i].Err)
			continue
		}
		for _, part := range parts {
			if !strings.Contains(out[i].Err.Error(), part) {
				t.Errorf("%q does not say %q", out[i].Err, part)
			}
		}
		if rest := out[i]; rest.Text != "" || rest.Tokenised != "" || rest.Score != 0 {
			t.Errorf("line %d has an error and %+v", i+1, rest)
		}
	}
	for _, i := range []int{2, 5} {
		if !reflect.DeepEqual(out[i], translation.Translation{}) {
			t.Errorf("the empty line %d gave %+v", i+1, out[i])
		}
	}
	for _, i := range []int{0, 3, 6, 7} {
		alone := translate(t, made, lines[i:i+1], decode.Options{})
		if diff := cmp.Diff(alone[0], out[i], closely); diff != "" || out[i].Err != nil || out[i].Text == "" {
			t.Errorf("line %d, %v, beside lines with errors:\n%s", i+1, out[i].Err, diff)
		}
	}
	// So it is where no line is left to search for.
	if out := translate(t, made, []string{"\xff", ""}, decode.Options{}); out[0].Err == nil ||
		!reflect.DeepEqual(out[1], translation.Translation{}) {
		t.Errorf("a bad and an empty line gave %+v", out)
	}
	all, err := made.TranslateNBest(t.Context(), lines, decode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, list := range all {
		if len(list) != 1 || (list[0].Err == nil) != (out[i].Err == nil) {
			t.Errorf("line %d has the translations %+v", i+1, list)
		}
	}
}

// A word that is written as padding is an unknown word. Moses would have escaped it, and byte-pair encoding split it.
func TestPaddingInText(t *testing.T) {
	config := strings.Replace(smallConfig, "merges = 50", "merges = 0\ntokenize = \"none\"", 1)
	var path string
	torch.Do(func() {
		made := fresh(t, settings(t, config, func(*translation.Settings) {}))
		defer made.Free()
		path = folder(t, config, made)
	})
	made := open(t, path)
	out := translate(t, made, []string{"one <pad> two", "one <unk> two"}, decode.Options{})
	if out[0].Err != nil || out[0].Tokenised != out[1].Tokenised || out[0].Score != out[1].Score {
		t.Errorf("padding gave %+v, and an unknown word %+v", out[0], out[1])
	}
}

// The zero options are the run's own, for each way to use a translator; options that make no sense are refused.
func TestOptions(t *testing.T) {
	made := openDigits(t)
	own := made.Settings.Decode
	if own.Beam != 3 || own.Lenpen != 0.6 || own.MaxLengthB != 12 ||
		own.BatchSentences != decode.Defaults().BatchSentences {
		t.Fatalf("the run's own options are %+v", own)
	}
	source, target := numbers(12, 10, 10)
	zero := translate(t, made, source, decode.Options{})
	if diff := cmp.Diff(translate(t, made, source, own), zero, errorsByText); diff != "" {
		t.Errorf("the run's own options and the zero ones:\n%s", diff)
	}
	if cmp.Equal(translate(t, made, source, decode.Defaults()), zero, errorsByText) {
		t.Error("other options than the run's give the same scores")
	}
	short := own
	short.MaxLengthB = 1
	if out := translate(t, made, source[:1], short); strings.Contains(out[0].Tokenised, " ") {
		t.Errorf("at most one word: %+v", out[0])
	}
	tooLong := strings.Repeat("a ", made.Settings.Model.MaxPositions)
	for _, given := range []bool{false, true} {
		pair := map[bool]string{given: tooLong, !given: "a"}
		_, err := made.Force(t.Context(), []string{"a", pair[false]}, []string{"a", pair[true]}, own)
		var bad *translation.LineError
		if !errors.As(err, &bad) || bad.Line != 2 || bad.Given != given || !strings.Contains(err.Error(), "positions") {
			t.Errorf("the second line is too long, given: %v: %v", given, err)
		}
	}
	forced, err := made.Force(t.Context(), source, target, own)
	if err != nil {
		t.Fatal(err)
	}
	again, err := made.Force(t.Context(), source, target, decode.Options{})
	if diff := cmp.Diff(forced, again); err != nil || diff != "" {
		t.Errorf("scores with the run's own options and the zero ones: %v\n%s", err, diff)
	}
	wide := own
	wide.NBest = 4
	if _, err := made.Translate(t.Context(), source, wide); err == nil ||
		!strings.Contains(err.Error(), "raise the beam") {
		t.Errorf("four translations of a beam of three: %v", err)
	}
	if _, err := made.Translate(t.Context(), source, decode.Options{Beam: 2}); err == nil ||
		!strings.Contains(err.Error(), "decode.") {
		t.Errorf("options that are a beam alone: %v", err)
	}
}

// Several translations come best first, and the score of each is that of scoring it by itself.
func TestNBest(t *testing.T) {
	made := openDigits(t)
	source, _ := numbers(13, 6, 10)
	o := made.Settings.Decode
	o.NBest = 3
	all, err := made.TranslateNBest(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	best := translate(t, made, source, decode.Options{})
	scored := 0
	for i, list := range all {
		if len(list) != 3 || !(list[0].Score >= list[1].Score && list[1].Score >= list[2].Score) ||
			list[0].Tokenised == list[1].Tokenised {
			t.Errorf("line %d has the translations %+v", i+1, list)
		}
		if diff := cmp.Diff(best[i], list[0], closely); diff != "" {
			t.Errorf("the best translation of line %d:\n%s", i+1, diff)
		}
		for _, one := range list {
			if made.Text.Target.Tokenize(one.Text) != one.Tokenised {
				continue // as "acht..", which no one writes
			}
			scored++
			forced, err := made.Force(t.Context(), source[i:i+1], []string{one.Text}, o)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, x := range forced[0].TokenLogProbs {
				sum += x
			}
			length := float64(len(strings.Fields(one.Tokenised)) + 1) // whole words, and the end of sentence
			if score := sum / math.Pow(length, o.Lenpen); math.Abs(score-one.Score) > 1e-4 ||
				math.Abs(sum-forced[0].LogProb) > 1e-6 {
				t.Errorf("%q has score %v, and by itself %v", one.Text, one.Score, score)
			}
		}
	}
	if scored < 12 {
		t.Errorf("only %d translations were scored", scored)
	}
	if _, err := made.Force(t.Context(), source, nil, o); err == nil ||
		!strings.Contains(err.Error(), "do not make pairs") {
		t.Errorf("lines without translations: %v", err)
	}
}

// A checkpoint that is damaged is named, and another is taken.
func TestOpenWarns(t *testing.T) {
	var path string
	torch.Do(func() {
		made := fresh(t, small(t))
		defer made.Free()
		path = folder(t, smallConfig, made)
	})
	if made := open(t, path); len(made.Warnings) != 1 ||
		!strings.Contains(made.Warnings[0].String(), "BEST is not there") {
		t.Errorf("warnings %v", made.Warnings)
	}
	store := checkpoint.Store{Dir: filepath.Join(path, checkpoint.Folder)}
	if err := store.MarkBest(3); err != nil {
		t.Fatal(err)
	}
	if made := open(t, path); len(made.Warnings) != 0 {
		t.Errorf("warnings %v", made.Warnings)
	}
}
