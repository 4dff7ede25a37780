package corpus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// madeStore is a cache with the store of the given number of pairs of a test, and the store's file.
func madeStore(t testing.TB, lines, bound int) (cache *Cache, e Encoding, path string) {
	folder := t.TempDir()
	texts(t, folder, lines)
	cache = StoreSettings{Store: filepath.Join(folder, "store")}.Cache()
	text, err := cache.OpenParallel(trainIn(folder), "-train")
	if err != nil {
		t.Fatal(err)
	}
	e = encoding(text, bound)
	s, _, err := cache.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	return cache, e, cache.path(e.Key, ".pairs")
}

// sealed puts the right sums into a store's bytes, as far as their sizes allow it.
func sealed(data []byte) []byte {
	if int64(len(data)) < headerBytes {
		return data
	}
	data = bytes.Clone(data)
	body := min(binary.NativeEndian.Uint64(data[56:])*uint64(entryBytes)+binary.NativeEndian.Uint64(
		data[64:])*binary.NativeEndian.Uint64(data[48:]), uint64(len(data))-uint64(headerBytes))
	sums := data[uint64(headerBytes)+body:]
	for k := range min(segments(int64(body)), int64(len(sums)/4)) {
		segment := data[headerBytes+k*segmentBytes : headerBytes+min((k+1)*segmentBytes, int64(body))]
		binary.NativeEndian.PutUint32(sums[4*k:], crc32.Checksum(segment, castagnoli))
	}
	binary.NativeEndian.PutUint32(data[72:], crc32.Checksum(sums, castagnoli))
	binary.NativeEndian.PutUint32(data[76:], crc32.Checksum(data[:76], castagnoli))
	return data
}

// replace gives a file other contents, as a file of its own.
func replace(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", data, 0o666), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// readAll reads every pair of a file, and holds that it is pairs or one sentence that names the file.
func readAll(t *testing.T, path string) (pairs List, err error) {
	t.Helper()
	s, err := OpenStore(path)
	if err == nil {
		defer s.Close()
		err = s.Each(func(p Pair) error {
			pairs = append(pairs, p)
			return nil
		})
	}
	if err != nil &&
		(!strings.HasPrefix(err.Error(), path+": this is no file of encoded text, or it is damaged: ") ||
			strings.Contains(err.Error(), "\n")) {
		t.Errorf("it says %q", err)
	}
	return pairs, err
}

// TestCraftedStores: a file whose sizes or entries are wrong and whose sums are right is refused by name, and a cache
// makes it anew.
func TestCraftedStores(t *testing.T) {
	const lines, width = 40, 2
	cache, e, path := madeStore(t, lines, 100)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(whole, sealed(whole)) {
		t.Fatal("the test's sums are not those of a store")
	}
	want, err := readAll(t, path)
	if err != nil {
		t.Fatal(err)
	}
	ids := binary.NativeEndian.Uint64(whole[64:])
	entryAt := func(i int) int { return int(headerBytes) + i*int(entryBytes) }
	long := func(at int, value uint64) func(data []byte) []byte {
		return func(data []byte) []byte {
			binary.NativeEndian.PutUint64(data[at:], value)
			return data
		}
	}
	length := func(at int, value uint32) func(data []byte) []byte {
		return func(data []byte) []byte {
			binary.NativeEndian.PutUint32(data[at:], value)
			return data
		}
	}
	crafted := map[string]func(data []byte) []byte{
		"no magic":       func(data []byte) []byte { data[0]++; return data },
		"a header alone": func(data []byte) []byte { return data[:headerBytes] },
		"pairs that multiply to 0 bytes": func(data []byte) []byte {
			data = long(64, 0)(long(56, 1<<60)(data))
			return data[:headerBytes]
		},
		"pairs and ids whose sum wraps": func(data []byte) []byte {
			body := uint64(len(data)) - uint64(headerBytes) - 4
			return long(64, (body-1<<63)/width)(long(56, 1<<59)(data))
		},
		"more pairs, fewer ids": long(56, lines+1),
		"pairs for ids": func(data []byte) []byte { // of the same size
			return long(64, ids-8)(long(56, lines+1)(data))
		},
		"ids for pairs": func(data []byte) []byte {
			return long(64,
				ids+8)(long(56, lines-1)(data))
		},
		"ids of no bytes": func(data []byte) []byte {
			return append(long(48, 0)(data)[:entryAt(lines)],
				0, 0, 0, 0)
		},
		"ids of one byte":                  func(data []byte) []byte { return long(64, 2*ids)(long(48, 1)(data)) },
		"ids that multiply to their bytes": long(64, 1<<63+ids),
		"ids of huge width":                func(data []byte) []byte { return long(64, 2)(long(48, 1<<63+ids)(data)) },
		"an entry begins elsewhere":        long(entryAt(3), 0),
		"an entry far behind":              long(entryAt(3), 1<<62),
		"an entry at the last number":      long(entryAt(lines-1), math.MaxUint64),
		"a source too long":                length(entryAt(3)+8, math.MaxUint32),
		"a target too long":                length(entryAt(lines-1)+12, 1<<31),
		"a last target too short":          length(entryAt(lines-1)+12, 0),
		"zeros":                            func(data []byte) []byte { return make([]byte, len(data)) },
		"zeros behind the header": func(data []byte) []byte {
			clear(data[headerBytes:])
			return data
		},
	}
	for at := 48; at < 72; at += 8 {
		for _, value := range []uint64{0, 1, 3, 5, 8, 1 << 31, 1 << 32, 1 << 59, 1 << 60, 1 << 61, 1 << 62, 1 << 63,
			math.MaxInt64, math.MaxUint64} {
			crafted[fmt.Sprintf("%d at byte %d of the header", value, at)] = long(at, value)
		}
	}
	for name, craft := range crafted {
		replace(t, path, sealed(craft(bytes.Clone(whole))))
		if pairs, err := readAll(t, path); err == nil {
			t.Errorf("%s: it is read as %d pairs", name, len(pairs))
		}
		s, said, err := cache.Encode(e)
		if err != nil || !strings.Contains(said, "made in") || !same(want, listOf(s)) {
			t.Errorf("%s: %q, %v", name, said, err)
		}
		s.Close()
	}

	// Whatever else differs, pairs that are read are those of the file, each id once.
	random := rand.New(rand.NewPCG(7, 7))
	refused := 0
	for range 600 {
		data := bytes.Clone(whole)
		for range 1 + random.IntN(3) {
			at := 48 + random.IntN(entryAt(lines)-48)
			if random.IntN(4) == 0 {
				at = 48 + random.IntN(24)
			}
			data[at] = byte(random.Uint32())
			if random.IntN(8) == 0 {
				data = data[:headerBytes+random.Int64N(int64(len(data))-headerBytes)]
				break
			}
		}
		replace(t, path, sealed(data))
		pairs, err := readAll(t, path)
		if err != nil {
			refused++
			continue
		}
		n := 0
		for _, p := range pairs {
			n += len(p.Source) + len(p.Target)
		}
		if n != int(ids) || len(pairs) != lines {
			t.Errorf("%d pairs with %d ids were read", len(pairs), n)
		}
	}
	if refused < 400 {
		t.Errorf("%d of 600 were refused", refused)
	}

	// An id beyond the vocabulary cannot be seen without reading all ids: it is found when its pair is read.
	data := bytes.Clone(whole)
	binary.NativeEndian.PutUint16(data[entryAt(lines):], 100)
	replace(t, path, sealed(data))
	s, _, err := cache.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const sentence = " has the id 100, and ids end at 99: delete this file, which is then made anew"
	if err := s.Each(func(Pair) error { return nil }); err == nil || !strings.HasPrefix(err.Error(), path+": pair ") ||
		!strings.HasSuffix(err.Error(), sentence) {
		t.Errorf("the error is %v", err)
	}
	loader, err := NewLoader(s, Options{BatchSettings: BatchSettings{MaxTokens: 4000}}, Position{})
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	if _, err := loader.Next(); err == nil || !strings.HasSuffix(err.Error(), sentence) {
		t.Errorf("the loader's error is %v", err)
	}
}

// TestTextsOfACache: texts come back, and not where they are of another number, or hold an id beyond the words.
func TestTextsOfACache(t *testing.T) {
	cache := StoreSettings{Store: filepath.Join(t.TempDir(), "store")}.Cache()
	key, texts := NewKey("texts"), [][]int32{{5, 0, 7}, {}, {70000}}
	if _, found := cache.GetTexts(key, 3, 70000); found {
		t.Error("found before they were put")
	}
	if err := cache.PutTexts(key, texts); err != nil {
		t.Fatal(err)
	}
	if got, found := cache.GetTexts(key, 3, 70000); !found || !slices.EqualFunc(got, texts, slices.Equal) {
		t.Errorf("got %v, %v", got, found)
	}
	for _, c := range []struct {
		n       int
		largest int32
	}{{2, 70000}, {4, 70000}, {3, 69999}} {
		if got, found := cache.GetTexts(key, c.n, c.largest); found {
			t.Errorf("%v: got %v", c, got)
		}
	}
}

// TestStoreCutWhileOpen: a file that is cut short while it is mapped, anywhere, is an error of whatever reads it.
func TestStoreCutWhileOpen(t *testing.T) {
	_, e, path := madeStore(t, 5000, 1000)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{0, 10, headerBytes, 5000, headerBytes + 5000*entryBytes/2, headerBytes +
		5000*entryBytes + 100, int64(len(whole)) / 4096 * 4096, int64(len(whole)) - 5} {
		filed := e.contents()
		open := func() *Store {
			replace(t, path, whole)
			s, err := openStore(path, &filed.wanted)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			return s
		}
		cut := func() {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
		options := Options{BatchSettings: BatchSettings{MaxTokens: 200}}
		for what, read := range map[string]func() error{
			"Each":   func() error { s := open(); cut(); return s.Each(func(Pair) error { return nil }) },
			"Filter": func() error { s := open(); cut(); _, _, err := Filter(s, Limits{MaxLength: 3}); return err },
			"NewLoader": func() error {
				some, _, err := Filter(open(), Limits{MaxLength: 6})
				if err != nil {
					t.Fatal(err)
				}
				cut()
				_, err = NewLoader(some, options, Position{})
				return err
			},
			"Next": func() error {
				loader, err := NewLoader(open(), options, Position{})
				if err != nil {
					t.Fatal(err)
				}
				defer loader.Close()
				cut()
				for range 3 * loader.UpdatesPerEpoch() {
					if _, err := loader.Next(); err != nil {
						return err
					}
				}
				return nil
			},
		} {
			if err := read(); err == nil ||
				!strings.HasPrefix(err.Error(), path+" was cut short or changed while it was in use: ") ||
				errors.As(err, new(*Panic)) {
				t.Errorf("%s, cut at %d: the error is %v", what, size, err)
			}
		}
		if s, err := openStore(path, &filed.wanted); err != errDamaged {
			t.Errorf("cut at %d it opens as %v, %v", size, s, err)
		}
	}
}

// TestPanicsOfReaders: what is no fault of the mapped file passes through.
func TestPanicsOfReaders(t *testing.T) {
	_, _, path := madeStore(t, 10, 100)
	s, err := OpenStore(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, problem := range []func(){func() { panic("odd") }, func() { _ = s.entries[s.Len()] },
		func() { *(*int)(nil) = 1 }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a panic of the reader was taken for the file's")
				}
			}()
			s.Each(func(Pair) error { problem(); return nil })
		}()
	}
}

// FuzzOpenStore: whatever a file holds, with right sums, it opens as pairs that can be read, or is refused.
func FuzzOpenStore(f *testing.F) {
	_, _, path := madeStore(f, 12, 100)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:headerBytes])
	f.Add(whole[:len(whole)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.pairs")
		replace(t, path, sealed(data))
		readAll(t, path)
	})
}
