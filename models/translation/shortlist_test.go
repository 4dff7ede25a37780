package translation_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/torch"
)

// writeList writes the short list that a text teaches, and returns its path.
func writeList(t *testing.T, p *bitext.Sides, folder string, frequent, best int) string {
	t.Helper()
	source, target := numbers(1, 300, 10)
	list, err := p.LearnShortlist(bitext.InMemory(source, target), frequent, best)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "list")
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(list.Write(f), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func readList(t *testing.T, made *translation.Translator, path string) *decode.Shortlist {
	t.Helper()
	list, err := made.ReadShortlist(path)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestShortlist: a list of the whole vocabulary changes nothing, neither in float32 nor in eight bits; one of the best
// translations leaves what was learnt as good; one that lacks words keeps to the others, and to terms.
func TestShortlist(t *testing.T) {
	eachNetwork(t, func(t *testing.T, made *translation.Translator) {
		source, target := numbers(11, 60, 10)
		o := made.Settings.Decode
		// fairseq's rule stops when the beam is full of ended translations: among few words these can be poor.
		o.NBest, o.LengthPenalty = 2, "gnmt"
		for _, int8 := range []bool{false, true} {
			o.Int8 = int8
			o.Shortlist = nil
			want := translate(t, made, source, o)
			whole := &decode.Shortlist{}
			for id := range int32(made.Text.Target.Vocabulary.Len()) {
				whole.Always = append(whole.Always, id)
			}
			o.Shortlist = whole
			if diff := cmp.Diff(want, translate(t, made, source, o)); diff != "" {
				t.Errorf("a list of all words, eight bits %v:\n%s", int8, diff)
			}
			o.Shortlist = readList(t, made, writeList(t, made.Text, t.TempDir(), 4, 8))
			right, before := 0, 0
			for i, line := range translate(t, made, source, o) {
				if line.Text == target[i] {
					right++
				}
				if want[i].Text == target[i] {
					before++
				}
			}
			if right < before-1 {
				t.Errorf("eight bits %v: %d translations are right, and %d without the list", int8, right, before)
			}
		}
		o = made.Settings.Decode
		path := filepath.Join(t.TempDir(), "two")
		marks := slices.DeleteFunc(made.Text.Target.Units(made.Text.Target.Tokenize(target[0])), func(piece string) bool {
			return piece != "."
		})
		if err := os.WriteFile(path, []byte("\t"+strings.Join(marks, " ")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		o.Shortlist = readList(t, made, path)
		found := request(t, made, o, translation.Request{Line: source[0]},
			translation.Request{Line: "One and three.", Terms: glossary(t, made, "three", "sieben")})
		if text := found[0][0].Tokenised; strings.Trim(text, " .") != "" {
			t.Errorf("a list of a full stop gives %q", text)
		}
		if text := strings.ToLower(found[1][0].Text); !strings.Contains(text, "sieben") || strings.Contains(text, "drei") {
			t.Errorf("with a term it gives %q", text)
		}
	})
}

// TestShortlistRefuses lists of other runs, and output layers without a matrix to take rows of.
func TestShortlistRefuses(t *testing.T) {
	torch.Test(t, func() {
		made := fresh(t, small(t))
		defer made.Free()
		path := filepath.Join(t.TempDir(), "list")
		for content, says := range map[string]string{
			"\tzwölfzwanzig\n": `"zwölfzwanzig" is no piece of the run: make the list with`,
			"\t\nqqq\t\n":      `"qqq" is no piece of the run`,
			"":                 "is empty",
		} {
			if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := made.ReadShortlist(path); err == nil || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v", content, err)
			}
		}
		mixed := fresh(t, settings(t, smallConfig, func(s *translation.Settings) { s.Objective.Method = "mos" }))
		defer mixed.Free()
		if _, err := mixed.ReadShortlist(path); !errors.Is(err, decode.ErrNoShortlist) {
			t.Errorf("a mixture: %v", err)
		}
		o := decode.Defaults()
		o.Shortlist = &decode.Shortlist{}
		if _, err := mixed.Translate(t.Context(), []string{"one"}, o); !errors.Is(err, decode.ErrNoShortlist) {
			t.Errorf("a mixture: %v", err)
		}
	})
}

// TestShortlistServed: a server reads the list of its run's folder, and translates as a translator with that list does.
func TestShortlistServed(t *testing.T) {
	made := openLearnt(t, learntDigits)
	folder := digitsFolder(t)
	path := writeList(t, made.Text, folder, 0, 1)
	o := made.Settings.Decode
	o.Shortlist = readList(t, made, path)
	source, _ := numbers(11, 20, 10)
	want := translate(t, made, source, o)
	s := serve(t, folder, translation.ServerOptions{Shortlist: "list"})
	for i, line := range source {
		got, err := s.Translate(context.Background(), []translation.Request{{Line: line}}, decode.Options{},
			translation.SplitLong)
		if err != nil || got[0][0].Text != want[i].Text {
			t.Errorf("%q is %v (%v), want %q", line, got, err, want[i].Text)
		}
	}
	if _, err := translation.Serve(folder, translation.ServerOptions{Shortlist: "none"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a list that is not there: %v", err)
	}
}
