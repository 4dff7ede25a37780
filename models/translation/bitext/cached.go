package bitext

import (
	"archive/zip"
	"bytes"
	"embed"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/align"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/tokenize/spm"
)

// Learn makes both sides from raw training text, which may stay in its files. Files of codes and vocabularies that the
// settings name are used instead of being learnt. What another run has learnt from the same files with the same
// settings, whatever its method and seed, comes from the cache, unless that is nil; target vectors are not kept there:
// each run makes or reads its own.
func Learn(d TextSettings, text corpus.Parallel, cache *corpus.Cache) (*Sides, error) {
	if cache == nil || text.Source.SHA256 == "" {
		return learn(d, text)
	}
	given, err := d.givenFiles()
	if err != nil {
		return nil, err
	}
	keyed := d
	// what they hold counts, not where they are
	keyed.Codes, keyed.SourceVocabulary, keyed.TargetVocabulary = "", "", ""
	key := keyOf("learnt", text, keyed, given)
	if data, found := cache.Get(key); found {
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		packed := func(f *zip.File) bool { return f.Method != zip.Store } // which may be of any size when unpacked
		if err == nil && !slices.ContainsFunc(archive.File, packed) {
			if pair, err := openSides(d, archive, "the cache"); err == nil {
				return pair, nil
			}
		}
	}
	pair, err := learn(d, text)
	if err != nil {
		return nil, err
	}
	contents, err := pair.files()
	if err != nil {
		return nil, err
	}
	if data, err := pack(contents); err == nil {
		_ = cache.Put(key, data) // where it cannot be kept, Encode tells it
	}
	return pair, nil
}

// givenFiles are the contents of the files that stand in for learning, by key.
func (d TextSettings) givenFiles() (map[string][]byte, error) {
	contents := map[string][]byte{}
	for key, path := range map[string]string{"codes": d.Codes, "source_vocabulary": d.SourceVocabulary,
		"target_vocabulary": d.TargetVocabulary} {
		if path == "" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: correct data.%s", path, err, key)
		}
		contents[key] = data
	}
	return contents, nil
}

func pack(contents map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(contents[name]); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return b.Bytes(), err
}

// sources are those of this package that decide what becomes of a line; a key has those of tokenize, tokenize/align,
// tokenize/spm and tokenize/corpus besides.
//
//go:embed encode.go learn.go lexicon.go pieces.go side.go
var sources embed.FS

// keyOf names what is made from text by a program like this one: a change of the program's text processing makes
// another key.
func keyOf(what string, text corpus.Parallel, d TextSettings, contents map[string][]byte) corpus.Key {
	parts := []string{what, text.Source.SHA256, text.Target.SHA256, fmt.Sprintf("%+v", d),
		tokenize.Edition(sources, align.Sources, spm.Sources)}
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		parts = append(parts, name, string(contents[name]))
	}
	return corpus.NewKey(parts...)
}
