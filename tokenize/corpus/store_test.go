package corpus

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// texts writes parallel files of the given number of lines, and gives the lines.
func texts(t testing.TB, folder string, lines int) (source, target []string) {
	t.Helper()
	for i := range lines {
		source = append(source, strings.TrimSpace(strings.Repeat(fmt.Sprintf("%d ", i), i%7)))
		target = append(target, strings.TrimSpace(strings.Repeat(fmt.Sprintf("%d é ", i*13), i%5+1)))
	}
	for name, lines := range map[string][]string{"train.en": source, "train.de": target} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return source, target
}

// numbers encodes the numbers of a line as themselves, below a bound, and other words as 3.
func numbers(bound int) func(line string) []int32 {
	return func(line string) []int32 {
		ids := []int32{}
		for _, word := range strings.Fields(line) {
			id, err := strconv.Atoi(word)
			if err != nil {
				id = 3
			}
			ids = append(ids, int32(id%bound))
		}
		return ids
	}
}

func encoding(text Parallel, bound int) Encoding {
	encode := numbers(bound)
	one := func(ids []int32, line string) []int32 { return append(ids, encode(line)...) }
	return Encoding{
		Key:  NewKey("test", text.Source.SHA256, text.Target.SHA256, strconv.Itoa(bound)),
		Text: text, Largest: int32(bound - 1),
		Encoders: func() (Encoder, Encoder, error) { return one, one, nil },
	}
}

// listOf are the pairs of a store or a selection.
func listOf(pairs Pairs) (list List) {
	for i := range pairs.Len() {
		list = append(list, pairs.At(i))
	}
	return list
}

// same is what cmp.Diff takes seconds for.
func same(a, b List) bool {
	return slices.EqualFunc(a, b, func(p, q Pair) bool {
		return p.Line == q.Line && slices.Equal(p.Source, q.Source) && slices.Equal(p.Target, q.Target)
	})
}

// What a store gives is what encoding in memory gives, made, found again, and where it cannot be kept.
func TestStoreGivesThePairs(t *testing.T) {
	folder := t.TempDir()
	source, target := texts(t, folder, 3*blockLines+17)
	for _, bound := range []int{1000, 1 << 16, 1<<16 + 1} {
		want := Encode(source, target, numbers(bound), numbers(bound))
		kept := StoreSettings{Store: filepath.Join(t.TempDir(), "made", "by", "it")}
		for _, c := range []struct {
			name, says string
			settings   StoreSettings
		}{
			{"made", "made in", kept},
			{"found", "from ", kept},
			{"in memory", "in memory", StoreSettings{Store: "none"}},
			{"no folder", "cannot be kept", StoreSettings{Store: filepath.Join(folder, "train.en", "below a file")}},
		} {
			cache := c.settings.Cache()
			text, err := cache.OpenParallel(trainIn(folder), "-train")
			if err != nil {
				t.Fatal(err)
			}
			s, said, err := cache.Encode(encoding(text, bound))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if !strings.Contains(said, c.says) || strings.Contains(said, "\n") {
				t.Errorf("%s: it says %q, want one line with %q", c.name, said, c.says)
			}
			if !same(want, listOf(s)) {
				t.Errorf("%s, %d ids: other pairs", c.name, bound)
			}
			if narrow := s.narrow != nil; narrow != (bound <= 1<<16) {
				t.Errorf("%s: %d ids in 16 bits: %v", c.name, bound, narrow)
			}
			compareBatches(t, want, s)
			s.Close()
		}
	}
}

// compareBatches: order and content of batches are those of a list of pairs.
func compareBatches(t *testing.T, list, other Pairs) {
	t.Helper()
	var all [2][]Update
	for k, pairs := range []Pairs{list, other} {
		kept, _, err := Filter(pairs, Limits{MaxRatio: 3})
		if err != nil {
			t.Fatal(err)
		}
		l, err := NewLoader(kept, Options{BatchSettings: BatchSettings{MaxTokens: 200}, Seed: 5},
			Position{Epoch: 1, Batch: 4})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			update, err := l.Next()
			if err != nil {
				t.Fatal(err)
			}
			all[k] = append(all[k], update)
		}
		l.Close()
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" {
		t.Error(diff)
	}
}

// A file that differs in any byte, or in length, is not used, and is made anew.
func TestDamagedStoreIsMadeAnew(t *testing.T) {
	folder := t.TempDir()
	source, target := texts(t, folder, 50)
	cache := StoreSettings{Store: filepath.Join(folder, "store")}.Cache()
	text, err := cache.OpenParallel(trainIn(folder), "-train")
	if err != nil {
		t.Fatal(err)
	}
	e := encoding(text, 100)
	filed := e.contents()
	open := func() (Pairs, string) {
		s, said, err := cache.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return listOf(s), said
	}
	want := Encode(source, target, numbers(100), numbers(100))
	open()
	path := cache.path(e.Key, ".pairs")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 1 + at/100 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x40
		if err := os.WriteFile(path+".new", damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		os.Rename(path+".new", path)
		if s, err := openStore(path, &filed.wanted); err == nil {
			s.Close()
			t.Fatalf("byte %d of %d may differ", at, len(whole))
		}
	}
	for _, n := range []int{0, 10, 79, 80, 81, len(whole) - 1, len(whole) + 1} {
		if err := os.WriteFile(path+".new", append(bytes.Clone(whole), 0)[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		os.Rename(path+".new", path)
		pairs, said := open()
		if diff := cmp.Diff(Pairs(want), pairs); diff != "" || !strings.Contains(said, "made in") {
			t.Errorf("cut at %d: %s %s", n, said, diff)
		}
		if _, said := open(); !strings.Contains(said, "from ") {
			t.Errorf("after mending: %s", said)
		}
	}
	for what, w := range map[string]wanted{
		"another key": {NewKey("another"), 50, 2, 99}, "another number of pairs": {e.Key, 51, 2, 99},
		"another width": {e.Key, 50, 4, 99},
	} {
		if s, err := openStore(path, &w); err == nil {
			s.Close()
			t.Errorf("%s opens it", what)
		}
	}
	if s, err := OpenStore(path); err != nil {
		t.Error(err)
	} else {
		s.Close()
	}
	if _, err := OpenStore(filepath.Join(folder, "train.en")); err == nil ||
		!strings.Contains(err.Error(), "train.en: this is no file of encoded text") {
		t.Errorf("a text opens as a store: %v", err)
	}
}

// TestKilledWriter: processes that are killed while they write the store, at random moments, leave none or a right one;
// what they leave under temporary names is never read, and is removed in the end. APERTURE_TEST_SEED repeats the
// moments of another time.
func TestKilledWriter(t *testing.T) {
	folder := os.Getenv("APERTURE_TEST_STORE")
	if folder != "" { // the process that is killed
		cache := StoreSettings{Store: filepath.Join(folder, "store")}.Cache()
		text, err := cache.OpenParallel(trainIn(folder), "-train")
		if err != nil {
			t.Fatal(err)
		}
		e := encoding(text, 5000)
		fmt.Println("begins")
		if _, _, err := cache.Encode(e); err != nil {
			t.Fatal(err)
		}
		return
	}
	folder = t.TempDir()
	source, target := texts(t, folder, 40_000)
	want := Encode(source, target, numbers(5000), numbers(5000))
	cache := StoreSettings{Store: filepath.Join(folder, "store")}.Cache()
	text, err := cache.OpenParallel(trainIn(folder), "-train")
	if err != nil {
		t.Fatal(err)
	}
	e := encoding(text, 5000)
	filed := e.contents()
	path := cache.path(e.Key, ".pairs")
	write := func(after time.Duration) (took time.Duration) {
		process := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		process.Env = append(os.Environ(), "APERTURE_TEST_STORE="+folder)
		begins := &waiting{begun: make(chan struct{})}
		process.Stdout = begins
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		<-begins.begun
		start := time.Now()
		if after > 0 {
			time.Sleep(after)
			process.Process.Kill()
		}
		process.Wait()
		return time.Since(start)
	}
	undisturbed := write(0)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	fmt.Sscan(os.Getenv("APERTURE_TEST_SEED"), &seed)
	t.Logf("APERTURE_TEST_SEED=%d", seed)
	moments := rand.New(rand.NewPCG(seed, 0))
	none, right := 0, 0
	for k := range 10 {
		write(1 + time.Duration(moments.Float64()*1.3*float64(undisturbed)))
		if s, err := openStore(path, &filed.wanted); err == nil {
			if !same(want, listOf(s)) {
				t.Fatalf("kill %d left a wrong store", k)
			}
			s.Close()
			right++
			os.Remove(path)
		} else if os.IsNotExist(err) {
			none++
		} else {
			t.Errorf("kill %d left a file that cannot be used: %v", k, err)
		}
	}
	t.Logf("undisturbed %v; 10 kills left %d times nothing and %d times a right store", undisturbed, none, right)
	left, _ := filepath.Glob(filepath.Join(folder, "store", "*"+unfinished))
	t.Logf("%d unfinished files", len(left))
	later := filepath.Join(folder, "store", "later"+unfinished) // of a clock that was set back since
	if err := os.WriteFile(later, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	os.Chtimes(later, time.Time{}, time.Now().Add(time.Hour))
	for _, name := range left {
		os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour))
	}
	s, _, err := cache.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !same(want, listOf(s)) {
		t.Error("the store that was made in the end is wrong")
	}
	if left, _ = filepath.Glob(filepath.Join(folder, "store", "*"+unfinished)); len(left) > 0 {
		t.Errorf("%v were not removed", left)
	}
}

// TestAbandonedInBrackets: what a killed writer left is removed from a folder whose name would be a pattern, too.
func TestAbandonedInBrackets(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "[old] a*")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(folder, "1"+unfinished)
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	os.Chtimes(left, time.Time{}, time.Now().Add(-time.Hour))
	removeAbandoned(folder)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// waiting closes a channel at the first thing that is written.
type waiting struct {
	begun chan struct{}
	once  sync.Once
}

func (w *waiting) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.begun) })
	return len(p), nil
}
