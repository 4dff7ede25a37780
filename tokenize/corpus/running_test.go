package corpus

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// readText reads text as running text of a file.
func readText(t *testing.T, text string, w *Words) ([]int32, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := usual.ReadRunning(path, "-train", w)
	return r.IDs, err
}

func spelled(w *Words, ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = w.Word(id)
	}
	return strings.Join(words, " ")
}

func TestRunningText(t *testing.T) {
	long := strings.Repeat("wort ", 200000)
	for _, c := range []struct{ name, text, want string }{
		{"lines", " a b \n c a\n", "a b <eos> c a <eos>"},
		{"a blank line is a lone end", "a\n\n \nb\n", "a <eos> <eos> <eos> b <eos>"},
		{"no line feed at the end", "a\nb", "a <eos> b <eos>"},
		{"Windows", "\ufeffa\r\nb\r\n", "a <eos> b <eos>"},
		{"white space of Unicode", "a\u00a0b\u2009c\td\u3000\u0085e\u200bf\n", "a b c d e\u200bf <eos>"},
		{"letters of several bytes", "Äpfel zu Öl\n", "Äpfel zu Öl <eos>"},
		{"a line longer than the buffer", long + "\n", strings.TrimSpace(long) + " <eos>"},
		{"one blank line", "\n", "<eos>"},
	} {
		w := NewWords()
		ids, err := readText(t, c.text, w)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := spelled(w, ids); got != c.want {
			t.Errorf("%s: %.80q, want %.80q", c.name, got, c.want)
		}
	}
}

func TestRunningTextRefuses(t *testing.T) {
	closed := NewWords()
	closed.ID("a")
	closed.Close()
	ended := NewWords()
	ended.ID("a")
	ended.ID(EndOfLine)
	ended.Close()
	for _, c := range []struct {
		text  string
		words *Words
		parts []string
	}{
		{"", NewWords(), []string{"text.txt: the file is empty", "-train"}},
		{"a\nb \xff c\n", NewWords(), []string{"text.txt:2: byte 3 (0xff)", "iconv"}},
		{"a a\na new a\n", closed, []string{`text.txt: the word "<eos>" is not in the vocabulary`}},
		{"a a\na new a\n", ended, []string{`text.txt:2: the word "new" is not in the vocabulary`, "<unk>"}},
	} {
		_, err := readText(t, c.text, c.words)
		for _, part := range c.parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%q: the error is %v, want %q", c.text, err, part)
			}
		}
	}
	folder := t.TempDir()
	for path, part := range map[string]string{filepath.Join(folder, "none.txt"): "there is no such file; -valid names " +
		"it", folder: "this is a folder"} {
		if _, err := usual.ReadRunning(path, "-valid", NewWords()); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Ids follow first appearance over all texts; a vocabulary that no longer grows reads new words as unknown ones; and
// what is written is read back.
func TestWords(t *testing.T) {
	w := NewWords()
	train, err := readText(t, "b a <unk> a\nc a\n", w)
	if err != nil {
		t.Fatal(err)
	}
	valid, err := readText(t, "d a\n", w)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"<eos>", "b", "a", "<unk>", "c", "d"}, w.list); diff != "" {
		t.Error(diff)
	}
	path := filepath.Join(t.TempDir(), "words.txt")
	var b bytes.Buffer
	if err := w.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	back, err := ReadWords(path)
	if err != nil || back.Hash() != w.Hash() {
		t.Fatalf("read back otherwise: %v", err)
	}
	again, err := readText(t, "b a strange\n", back)
	if err != nil || spelled(back, again) != "b a <unk> <eos>" || back.Len() != 6 {
		t.Errorf("%q, %v", spelled(back, again), err)
	}

	before := spelled(w, train) + spelled(w, valid)
	w.SortByFrequency(train, train, valid)
	if diff := cmp.Diff([]string{"a", "<eos>", "b", "<unk>", "c", "d"}, w.list); diff != "" {
		t.Error(diff)
	}
	if after := spelled(w, train) + spelled(w, valid); after != before {
		t.Errorf("the texts changed from %q to %q", before, after)
	}
	if id, known := w.ID("b"); id != 2 || !known {
		t.Errorf("b has id %d", id)
	}

	for text, part := range map[string]string{"a\nb\na\n": `:3: "a"`, "": "holds no words", "a b\n": `:1: "a b"`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadWords(path); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The texts of Penn Treebank have the published numbers of tokens and words, and the columns of AWD-LSTM the rows that
// it logs.
func TestPennTreebank(t *testing.T) {
	w := NewWords()
	for _, c := range []struct {
		name   string
		tokens int
	}{{"ptb.train", 929589}, {"ptb.valid", 73760}, {"ptb.test", 82430}} {
		r, err := usual.ReadRunning(fixtures.Path(t, "ptb/"+c.name+".txt"), "-train", w)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.IDs) != c.tokens || len(r.SHA256) != 64 {
			t.Errorf("%s has %d tokens, want %d", c.name, len(r.IDs), c.tokens)
		}
		if c.name != "ptb.train" {
			continue
		}
		columns, err := NewColumns(r.IDs, 20, "text", "key")
		if err != nil || columns.Rows != 46479 {
			t.Errorf("%d rows, %v", columns.Rows, err)
		}
		updates := 0
		for epoch := range 20 {
			updates += len(Lengths{BPTT: 70, Random: true}.Epoch(columns.Rows, 1, epoch))
		}
		if mean := float64(updates) / 20; mean < 680 || mean > 692 {
			t.Errorf("an epoch has %.1f updates on average, want about 686", mean)
		}
	}
	if w.Len() != 10000 {
		t.Errorf("%d words, want 10000", w.Len())
	}
}

// A text of the form of WikiText-103 with its number of words, about a hundredth of its size: what it takes of time and
// memory grows with its tokens, and the whole must load within a minute and 2 GiB.
func TestLargeVocabulary(t *testing.T) {
	const words, tokens, whole = 267735, 1_200_000, 103_000_000
	path := filepath.Join(t.TempDir(), "train.txt")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var line strings.Builder
	for n := 0; n < tokens; {
		line.Reset()
		for range 99 {
			id := random.IntN(random.IntN(random.IntN(random.IntN(words)+1)+1) + 1) // frequent words and rare ones
			if n < words {
				id = n
			}
			fmt.Fprintf(&line, " wort%d", id)
			n++
		}
		line.WriteString(" \n")
		n++
		if _, err := file.WriteString(line.String()); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := fixtures.ProcessorTime()
	w := NewWords()
	r, err := usual.ReadRunning(path, "-train", w)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	w.SortByFrequency(r.IDs, r.IDs)
	first := fixtures.ProcessorTime() - start
	allocated := after.TotalAlloc - before.TotalAlloc
	perToken := float64(cap(r.IDs)*4) / float64(len(r.IDs))
	if perToken > 5.5 {
		t.Errorf("%.2f bytes a token are kept: the whole corpus would not fit into 2 GiB while it grows", perToken)
	}
	if full := uint64(float64(whole)*perToken) + allocated; full > 2<<30 {
		t.Errorf("the whole corpus would allocate %d MiB", full>>20)
	}

	// Reading again finds all words known, as most of a large text does.
	start = fixtures.ProcessorTime()
	if _, err := usual.ReadRunning(path, "-train", w); err != nil {
		t.Fatal(err)
	}
	second := fixtures.ProcessorTime() - start
	minute := (first + second*(whole-time.Duration(len(r.IDs)))/time.Duration(len(r.IDs))).Seconds()
	t.Logf("%d tokens, %d words: %v, then %v; %d MiB allocated, %.2f bytes a token kept; the whole would take %.0f "+
		"seconds of a processor", len(r.IDs), w.Len(), first, second,
		allocated>>20, perToken, minute)
	if minute > 60 {
		t.Errorf("the whole corpus would take %.0f seconds of a processor", minute)
	}
}

func TestColumns(t *testing.T) {
	ids := make([]int32, 23)
	for i := range ids {
		ids[i] = int32(i)
	}
	c, err := NewColumns(ids, 3, "text", "key")
	if err != nil || c.Rows != 7 {
		t.Fatalf("%d rows, %v", c.Rows, err)
	}
	inputs, targets := c.Chunk(2, 4, 1, 3)
	if diff := cmp.Diff([]int64{9, 16, 10, 17, 11, 18, 12, 19}, inputs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{10, 17, 11, 18, 12, 19, 13, 20}, targets); diff != "" {
		t.Error(diff)
	}
	if _, err := NewColumns(ids[:5], 3, "the text", "train.columns"); err == nil ||
		!strings.Contains(err.Error(), "the text has 5 tokens") || !strings.Contains(err.Error(), "train.columns") {
		t.Errorf("the error is %v", err)
	}
	if _, err := NewColumns(ids[:1], 1, "the text", "-chunk"); err == nil || strings.Contains(err.Error(), "-chunk") ||
		!strings.Contains(err.Error(), "the text has 1 of the two tokens") {
		t.Errorf("of one token it says %v", err)
	}
}

// Each column of a partial shuffle is a rotation of itself, drawn anew in each epoch from the text as it is.
func TestPartialShuffle(t *testing.T) {
	ids := make([]int32, 400)
	for i := range ids {
		ids[i] = int32(i)
	}
	original, err := NewColumns(ids, 4, "text", "key")
	if err != nil {
		t.Fatal(err)
	}
	different := 0
	for epoch := range 5 {
		shuffled := original.Shuffled(3, epoch)
		for column := range 4 {
			first := slices.Index(ids, shuffled.At(0, column)) - column*original.Rows
			if first < 0 || first >= original.Rows {
				t.Fatalf("column %d begins in another one", column)
			}
			for row := range original.Rows {
				if got, want := shuffled.At(row, column), original.At((row+first)%original.Rows, column); got != want {
					t.Fatalf("epoch %d, row %d, column %d: %d, want %d", epoch, row, column, got, want)
				}
			}
			if first > 0 {
				different++
			}
		}
		if diff := cmp.Diff(shuffled.starts, original.Shuffled(3, epoch).starts); diff != "" {
			t.Error("an epoch has two orders")
		}
	}
	if different < 15 {
		t.Errorf("only %d of 20 columns were moved", different)
	}
	if original.starts != nil {
		t.Error("the original was changed")
	}
}

// Chunks follow each other by what was drawn, stay within the text and depend on seed and epoch.
func TestLengths(t *testing.T) {
	l := Lengths{BPTT: 70, Random: true}
	total, count, short := 0, 0, 0
	for epoch := range 30 {
		row := 0
		spans := l.Epoch(5003, 4, epoch)
		for i, s := range spans {
			if s.Row != row || s.Drawn < 5 || s.Rows != min(s.Drawn, 5002-s.Row) || s.Rows < 1 {
				t.Fatalf("epoch %d, chunk %d: %+v at %d", epoch, i, s, row)
			}
			row += s.Drawn
			total, count = total+s.Drawn, count+1
			if s.Drawn < 52 {
				short++
			}
		}
		if row < 5001 {
			t.Fatalf("epoch %d ends at row %d", epoch, row)
		}
		if diff := cmp.Diff(spans, l.Epoch(5003, 4, epoch)); diff != "" {
			t.Error("an epoch has two divisions")
		}
	}
	if mean := float64(total) / float64(count); mean < 66.8 || mean > 68.8 {
		t.Errorf("the mean length is %.2f, want about 67.8", mean)
	}
	if part := float64(short) / float64(count); part < 0.03 || part > 0.07 {
		t.Errorf("%.3f of the chunks are round 35, want 0.05", part)
	}
	l.Longest = 68
	for _, s := range l.Epoch(5003, 4, 0) {
		if s.Drawn > 68 {
			t.Errorf("a chunk of %d", s.Drawn)
		}
	}
	fixed := Lengths{BPTT: 4}
	if diff := cmp.Diff([]Span{{0, 4, 4}, {4, 4, 4}, {8, 1, 4}}, fixed.Epoch(10, 0, 7)); diff != "" {
		t.Error(diff)
	}
	for _, l := range []Lengths{fixed, {BPTT: 70, Random: true}} {
		if spans := l.Epoch(2, 0, 0); len(spans) != 1 || spans[0].Rows != 1 {
			t.Errorf("two rows give %v", spans)
		}
	}
}
