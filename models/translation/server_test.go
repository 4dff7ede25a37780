package translation_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/torch"
)

// serve serves a run folder until the end of the test, which fails where tensors outlive it.
func serve(t *testing.T, folder string, o translation.ServerOptions) *translation.Server {
	t.Helper()
	before := torch.LiveHandles()
	o.Device, o.Threads = "cpu", 1
	s, err := translation.Serve(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil && !errors.Is(err, models.ErrClosed) {
			t.Error(err)
		}
		if left := torch.LiveHandles() - before; left != 0 {
			t.Errorf("%d tensors outlived the server", left)
		}
	})
	return s
}

func digitsFolder(t *testing.T) string {
	t.Helper()
	folder, err := digits()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// ownWords are lines and the translations that the run itself gives them.
func ownWords(t *testing.T, n int) (source, target []string) {
	t.Helper()
	source, _ = numbers(1, n, 10)
	made := openDigits(t)
	for _, x := range translate(t, made, source, decode.Options{}) {
		target = append(target, x.Text)
	}
	if err := made.Close(); err != nil {
		t.Error(err)
	}
	return source, target
}

// say translates lines with a server and returns the best texts.
func say(t *testing.T, s *translation.Server, lines ...string) (texts []string) {
	t.Helper()
	out, err := s.Translate(t.Context(), asRequests(lines), decode.Options{}, translation.SplitLong)
	if err != nil {
		t.Error(err)
		return make([]string, len(lines))
	}
	for _, list := range out {
		if list[0].Err != nil {
			t.Error(list[0].Err)
		}
		texts = append(texts, list[0].Text)
	}
	return texts
}

// busy keeps the torch thread until the function that it returns is called.
func busy(t *testing.T) (release func()) {
	t.Helper()
	began, end := make(chan bool), make(chan bool)
	go torch.Do(func() {
		close(began)
		<-end
	})
	<-began
	return sync.OnceFunc(func() { close(end) })
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so after 20 s: %s", what)
		}
	}
}

// TestServer: what many callers get at once, each with lines and a search of its own, is what the translator gives to
// each alone; what arrives while a batch computes shares the next one.
func TestServer(t *testing.T) {
	made := openDigits(t)
	translate(t, made, []string{"Nine."}, decode.Options{}) // its weights are laid out
	var batches, sentences atomic.Int64
	s := serve(t, digitsFolder(t), translation.ServerOptions{Observe: func(b translation.BatchStats) {
		batches.Add(1)
		sentences.Add(int64(b.Sentences))
		if b.Err != nil || b.Padded < b.Tokens || b.Symbols < b.Sentences || b.Took <= 0 {
			t.Errorf("a batch is said to be %+v", b)
		}
	}})
	source, _ := numbers(21, 96, 10)
	wide := made.Settings.Decode
	wide.Beam, wide.NBest, wide.Links = 5, 2, true
	release := busy(t)
	var wait sync.WaitGroup
	for k := range 32 {
		lines := source[3*k : 3*k+3]
		o := decode.Options{}
		if k%2 == 1 {
			o = wide
		}
		wait.Go(func() {
			got, err := s.Translate(t.Context(), asRequests(lines), o, translation.SplitLong)
			if err != nil {
				t.Error(err)
				return
			}
			want, err := made.TranslateRequests(t.Context(), asRequests(lines), o)
			if diff := cmp.Diff(want, got, closely); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	eventually(t, "all sentences wait", func() bool { return s.Waiting() == 96 })
	release()
	wait.Wait()
	if batches.Load() > 4 || sentences.Load() != 96 {
		t.Errorf("%d sentences in %d batches: 48 of each search fit into one", sentences.Load(), batches.Load())
	}
}

// TestServerTexts: a text comes back with the translations of its sentences in place of them, and its white space.
func TestServerTexts(t *testing.T) {
	s := serve(t, digitsFolder(t), translation.ServerOptions{})
	long := strings.TrimSpace(strings.Repeat("One, two and nine. ", 20))
	for text, want := range map[string]string{
		"":                 "",
		" \n\t ":           " \n\t ",
		"Three and seven.": "Drei und sieben.",
		"  Three and nine.\r\n\r\n\tFour and eight.  \n": "  Drei und neun.\r\n\r\n\tVier und acht.  \n",
		long: strings.TrimSpace(strings.Repeat("Eins, zwei und neun. ", 20)),
	} {
		if got := say(t, s, text); got[0] != want {
			t.Errorf("%q became %q, want %q", text, got[0], want)
		}
	}
	// Two short sentences are a line, unless they are to be split; a text without stops is cut where it is too long.
	two := []translation.Request{{Line: "One and two.  Four and six."}}
	out, err := s.Translate(t.Context(), two, decode.Options{}, translation.SplitAlways)
	if err != nil || out[0][0].Text != "Eins und zwei.  Vier und sechs." {
		t.Errorf("split: %+v, %v", out, err)
	}
	// The line break of a line is none of its 250 characters; one that is not split loses the spaces within.
	line := "One and two." + strings.Repeat(" ", 250-25) + "Four and six."
	if got := say(t, s, line, line+"\n", line+"\r\n", " "+line); strings.Contains(got[0], "  ") || got[1] != got[0]+"\n" ||
		got[2] != got[0]+"\r\n" || !strings.Contains(got[3], "  ") {
		t.Errorf("lines of 250 and 251 characters: %q", got)
	}
	words := strings.TrimSpace(strings.Repeat("nine ", 60))
	for how, fails := range map[translation.Splitting]bool{translation.SplitLong: false, translation.SplitNever: true} {
		out, err = s.Translate(t.Context(), []translation.Request{{Line: words}, two[0]}, decode.Options{}, how)
		var line *translation.LineError
		if err != nil || errors.As(out[0][0].Err, &line) != fails || fails && line.Line != 1 || out[1][0].Err != nil {
			t.Errorf("a sentence of 60 words, split %v: %+v, %v", how, out, err)
		}
	}
}

// TestServerDetails: words of a text count through its sentences; a prefix is that of the text, terms are met in each.
func TestServerDetails(t *testing.T) {
	s := serve(t, digitsFolder(t), translation.ServerOptions{})
	terms, err := s.Glossary(t.Context(), []translation.Term{{Source: "two", Target: "Größe"}})
	if err != nil {
		t.Fatal(err)
	}
	o := s.Settings().Decode
	o.Links, o.Words = true, true
	text := "One and {a. B} six.\nTwo, two and nine. Four and two.\nOne。Four and two." // a word of the text in two sentences
	out, err := s.Translate(t.Context(), []translation.Request{{Line: text, Prefix: "Eins, zwei", Terms: terms,
		Keep: []*regexp.Regexp{regexp.MustCompile(`\{.*?\}`)}}}, o, translation.SplitAlways)
	if err != nil || out[0][0].Err != nil {
		t.Fatal(err, out)
	}
	x := out[0][0]
	lines := strings.Split(x.Text, "\n")
	if !strings.HasPrefix(lines[0], "Eins, zwei") || !strings.Contains(lines[0], "{a. B}") ||
		strings.Count(lines[1], "Größe") != 2 {
		t.Errorf("%q", x.Text)
	}
	last := x.Details.Words[len(x.Details.Words)-1]
	if n := len(strings.Fields(text)); len(last.Source) != 1 || last.Source[0] < n-3 || last.Source[0] >= n {
		t.Errorf("the last word is %+v, and the text has %d", last, n)
	}
	if !(x.Details.Confidence > 0 && x.Details.Confidence <= 1) {
		t.Errorf("the confidence is %v", x.Details.Confidence)
	}
}

// TestServerBorders: a prefix stands once, at the first word; sentences without a space between them get one; what is
// kept is kept where it stands, over a line break too.
func TestServerBorders(t *testing.T) {
	s := serve(t, digitsFolder(t), translation.ServerOptions{})
	o := s.Settings().Decode
	o.Links, o.Words = true, true
	for _, test := range []struct {
		request translation.Request
		want    string
	}{
		{translation.Request{Line: " One and two.", Prefix: "Eins"}, " Eins und zwei."},
		{translation.Request{Line: "\n\n One and two.\nOne and two.", Prefix: "Eins"}, "\n\n Eins und zwei.\nEins und zwei."},
		{translation.Request{Line: " \n", Prefix: "Eins"}, "Eins \n"},
		{translation.Request{Prefix: "Eins"}, "Eins"},
		{translation.Request{Line: "\x01\nOne and two.", Prefix: "Eins zwei"}, "Eins zwei\nEins und zwei."},
		{translation.Request{Line: "One and two.！Four and six."}, "Eins und ANY. Vier und sechs."},
		{translation.Request{Line: "One, foo\nbar and nine.", Keep: []*regexp.Regexp{regexp.MustCompile(`o\sb`),
			regexp.MustCompile(`\sfoo\nbar\s`)}}, "Eins, foo\nbar und neun."},
	} {
		out, err := s.Translate(t.Context(), []translation.Request{test.request}, o, translation.SplitAlways)
		if err != nil || out[0][0].Err != nil {
			t.Fatal(err, out)
		}
		x := out[0][0]
		// What the model makes of a word with a stop that it does not know is any.
		want := strings.ReplaceAll(regexp.QuoteMeta(test.want), "ANY", `\S+`)
		if !regexp.MustCompile("^" + want + "$").MatchString(x.Text) {
			t.Errorf("%+v became %q, want %q", test.request, x.Text, test.want)
		}
		var words []string
		for _, word := range x.Details.Words {
			words = append(words, word.Text)
		}
		if strings.Join(words, " ") != strings.Join(strings.Fields(x.Text), " ") ||
			!(x.Details.Confidence > 0 && x.Details.Confidence <= 1) {
			t.Errorf("%q has the details %+v", x.Text, x.Details)
		}
	}
	// A word is kept at one of its two places alone.
	for i, want := range []int{1, 2} {
		r := translation.Request{Line: "One and two.\nOne, nine and nine.", KeepAt: [][2]int{{18, 22}, {27, 31}}[:want]}
		out, err := s.Translate(t.Context(), []translation.Request{r}, o, translation.SplitLong)
		if err != nil || strings.Count(out[0][0].Text, "nine") != want {
			t.Errorf("%d: %+v, %v", i, out, err)
		}
	}
	for _, span := range [][2]int{{-1, 1}, {2, 1}, {0, 4}} {
		out, err := s.Translate(t.Context(), []translation.Request{{Line: "One", KeepAt: [][2]int{span}}}, o, translation.SplitLong)
		if err != nil || out[0][0].Err == nil || !strings.Contains(out[0][0].Err.Error(), "are to be kept, and it has 3") {
			t.Errorf("bytes %v are kept: %+v, %v", span, out, err)
		}
	}
}

// TestServerQueue: a full queue is an error that says how long it lasts; cancelled and expired calls leave it at once,
// and the rest is translated.
func TestServerQueue(t *testing.T) {
	source, target := ownWords(t, 4)
	s := serve(t, digitsFolder(t), translation.ServerOptions{Queue: 4})
	release := busy(t)
	defer release()
	ctx, cancel := context.WithCancelCause(t.Context())
	first := make(chan error)
	go func() {
		_, err := s.Translate(ctx, asRequests(source), decode.Options{}, translation.SplitLong)
		first <- err
	}()
	eventually(t, "four wait", func() bool { return s.Waiting() == 4 })
	_, err := s.Translate(t.Context(), asRequests(source[:1]), decode.Options{}, translation.SplitLong)
	var full *translation.BusyError
	if !errors.As(err, &full) || full.Waiting != 4 || full.After < time.Second || s.Waiting() != 4 {
		t.Errorf("a fifth sentence: %v", err)
	}
	cancel(errStop)
	if err := <-first; err != errStop || s.Waiting() != 0 {
		t.Errorf("%v, and %d wait", err, s.Waiting())
	}
	expired, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := s.Translate(expired, asRequests(source), decode.Options{}, translation.SplitLong); err !=
		context.DeadlineExceeded || s.Waiting() != 0 {
		t.Errorf("%v, and %d wait", err, s.Waiting())
	}
	var wait sync.WaitGroup
	for i := range source {
		wait.Go(func() {
			if got := say(t, s, source[i]); got[0] != target[i] {
				t.Errorf("%q is %q", source[i], got[0])
			}
		})
	}
	eventually(t, "four wait again", func() bool { return s.Waiting() == 4 })
	release()
	wait.Wait()
	if _, err := s.Translate(t.Context(), asRequests(source), decode.Options{Beam: -1}, translation.SplitLong); err == nil {
		t.Error("a beam of -1 is taken")
	}
}

// TestServerReload: calls that run while the model changes are whole, by either model, and none is lost; a folder that
// cannot be opened leaves the old model.
func TestServerReload(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(digitsFolder(t))); err != nil {
		t.Fatal(err)
	}
	source, target := ownWords(t, 40)
	s := serve(t, folder, translation.ServerOptions{})
	terms, err := s.Glossary(t.Context(), []translation.Term{{Source: "two", Target: "Größe"}})
	if err != nil {
		t.Fatal(err)
	}
	quit := make(chan bool)
	var wait sync.WaitGroup
	var calls atomic.Int64
	for k := range 8 {
		wait.Go(func() {
			for i := k; ; i++ {
				select {
				case <-quit:
					return
				default:
				}
				if got := say(t, s, source[i%40]); got[0] != target[i%40] {
					t.Errorf("%q is %q", source[i%40], got[0])
				}
				calls.Add(1)
			}
		})
	}
	for range 3 {
		before := calls.Load()
		if err := s.Reload(); err != nil {
			t.Error(err)
		}
		eventually(t, "calls go on", func() bool { return calls.Load() > before+16 })
	}
	config := filepath.Join(folder, "config.toml")
	if err := os.Rename(config, config+".away"); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil {
		t.Error("a folder without a configuration was opened")
	}
	close(quit)
	wait.Wait()
	out, err := s.Translate(t.Context(), []translation.Request{{Line: "One and two.", Terms: terms}}, decode.Options{},
		translation.SplitLong)
	if err != nil || !strings.Contains(out[0][0].Text, "Größe") {
		t.Errorf("terms from before the reload: %+v, %v", out, err)
	}
}

// TestServerClose: what has been taken is answered, later calls are refused; where the time is over, the rest fails.
func TestServerClose(t *testing.T) {
	for _, forced := range []bool{false, true} {
		t.Run(fmt.Sprintf("forced %v", forced), func(t *testing.T) {
			source, target := ownWords(t, 70)
			s := serve(t, digitsFolder(t), translation.ServerOptions{})
			release := busy(t)
			defer release()
			var wait sync.WaitGroup
			for i := range source {
				wait.Go(func() {
					out, err := s.Translate(t.Context(), asRequests(source[i:i+1]), decode.Options{}, translation.SplitLong)
					switch {
					case forced && !errors.Is(err, models.ErrClosed):
						t.Errorf("a call that was cut off: %v", err)
					case !forced && (err != nil || out[0][0].Text != target[i]):
						t.Errorf("%q is %+v, %v", source[i], out, err)
					}
				})
			}
			eventually(t, "all wait", func() bool { return s.Waiting() == 70 })
			ctx, cancel := context.WithCancel(t.Context())
			closed := make(chan error)
			go func() { closed <- s.Close(ctx) }()
			eventually(t, "calls are refused", func() bool {
				short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer stop()
				_, err := s.Translate(short, asRequests(source[:1]), decode.Options{}, translation.SplitLong)
				return errors.Is(err, models.ErrClosed)
			})
			if forced {
				cancel()
				wait.Wait()
			}
			release()
			if err := <-closed; forced != errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			cancel()
			wait.Wait()
			if err := s.Reload(); err == nil {
				t.Error("a closed server was loaded anew")
			}
			var again sync.WaitGroup
			for range 4 { // closing it again, and at once, frees nothing twice
				again.Go(func() {
					if err := s.Close(t.Context()); err != models.ErrClosed {
						t.Errorf("closed again: %v", err)
					}
				})
			}
			again.Wait()
		})
	}
}
