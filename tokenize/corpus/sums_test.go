package corpus

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The sums of text files are remembered while the files stay as they are, and no longer.
func TestSumsOfFiles(t *testing.T) {
	folder := t.TempDir()
	texts(t, folder, 30)
	path := filepath.Join(folder, "train.en")
	cache := StoreSettings{Store: filepath.Join(folder, "store")}.Cache()
	read := func() Text {
		text, err := cache.openText(place{path: path}, "-train")
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := usual.ReadLines(path, "-train")
		if err != nil || text.SHA256 != fresh.SHA256 || text.Len() != fresh.Len() {
			t.Errorf("%s with %d lines, want %s with %d; %v", text.SHA256, text.Len(), fresh.SHA256, fresh.Len(), err)
		}
		return text
	}
	kept := func() int {
		names, _ := filepath.Glob(filepath.Join(folder, "store", "*.sum"))
		return len(names)
	}
	if read(); kept() != 0 {
		t.Error("a file that changed a moment ago is trusted")
	}
	time.Sleep(settled + 100*time.Millisecond)
	if read(); kept() != 1 {
		t.Error("the sum was not kept")
	}
	read()
	note, _ := filepath.Glob(filepath.Join(folder, "store", "*.sum"))
	remembered, _ := os.ReadFile(note[0])
	if err := cache.put(Key(remembered), ".sum",
		bytes.Replace(remembered[2*sha256.Size:], []byte(`"Lines":30`), []byte(`"Lines":31`), 1)); err != nil {
		t.Fatal(err)
	}
	if text, err := cache.openText(place{path: path}, "-train"); err != nil || text.Len() != 31 {
		t.Errorf("%d lines, %v: the file was read again", text.Len(), err)
	}
	// A note that is damaged anywhere is not believed, and is written anew.
	for at := 0; at < len(remembered); at += 3 {
		damaged := bytes.Clone(remembered)
		damaged[at] ^= 1
		os.WriteFile(note[0], damaged, 0o666)
		read()
		if now, _ := os.ReadFile(note[0]); !bytes.Equal(now, remembered) {
			t.Fatalf("a note with another byte %d became %q", at, now)
		}
	}
	for _, damaged := range [][]byte{nil, remembered[:70], make([]byte, len(remembered)),
		remembered[:len(remembered)-1]} {
		os.WriteFile(note[0], damaged, 0o666)
		read()
	}
	os.WriteFile(note[0], remembered, 0o666)
	content, _ := os.ReadFile(path)
	info, _ := os.Stat(path)
	os.WriteFile(path, bytes.Replace(content, []byte("1"), []byte("2"), 1), 0o666)
	os.Chtimes(path, info.ModTime(), info.ModTime()) // as a tool that keeps times
	read()

	// A change between counting and encoding is an error.
	os.WriteFile(path, content, 0o666)
	text := read()
	for _, other := range [][]byte{append(slices.Clone(content), "more\n"...), content[:len(content)/2],
		bytes.Replace(content, []byte("1"), []byte("9"), 1)} {
		os.WriteFile(path, other, 0o666)
		err := Blocks([]Text{text}, func() (func([][]string) (int, error), error) {
			return func([][]string) (int, error) { return 0, nil }, nil
		}, func(int) error { return nil })
		if err == nil || !strings.Contains(err.Error(), path+" changed while it was being read") {
			t.Errorf("a changed file gave %v", err)
		}
	}
}

// What Put keeps Get gives back; a damaged file is none.
func TestPutAndGet(t *testing.T) {
	cache := StoreSettings{Store: filepath.Join(t.TempDir(), "store")}.Cache()
	key := NewKey("a", "b")
	if _, found := cache.Get(key); found {
		t.Error("found before it was put")
	}
	if err := cache.Put(key, []byte("learnt")); err != nil {
		t.Fatal(err)
	}
	if data, found := cache.Get(key); !found || string(data) != "learnt" {
		t.Errorf("got %q, %v", data, found)
	}
	if _, found := cache.Get(NewKey("ab", "")); found {
		t.Error("another key finds it")
	}
	path := cache.path(key, ".learnt")
	whole, _ := os.ReadFile(path)
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at]++
		os.WriteFile(path, damaged, 0o666)
		if _, found := cache.Get(key); found {
			t.Errorf("byte %d may differ", at)
		}
	}

	// Neither a file of a terabyte is read into memory, nor a pipe without a writer waited for.
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, found := cache.Get(key); found {
		t.Error("a terabyte of zeros is found")
	}
	store := cache.path(key, ".pairs")
	for _, name := range []string{path, store} {
		os.Remove(name)
		if err := syscall.Mkfifo(name, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, found := cache.Get(key); found {
		t.Error("a pipe is found")
	}
	if _, err := OpenStore(store); err == nil || !strings.Contains(err.Error(), "this is no file of encoded text") {
		t.Errorf("a pipe as a store: %v", err)
	}
}

// A worker's panic is an error of the caller.
func TestBlocksPanic(t *testing.T) {
	text := Text{Lines: slices.Repeat([]string{"x"}, 5*blockLines)}
	err := Blocks([]Text{text}, func() (func([][]string) (int, error), error) {
		return func([][]string) (int, error) { panic("odd") }, nil
	}, func(int) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "odd") {
		t.Errorf("got %v", err)
	}
}
