package main

import (
	"bufio"
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// idTools show text as a translator sees it, and stored ids as text.
func idTools() []tool {
	return []tool{
		{name: "encode", summary: "turn raw text into ids as a run's translator reads it",
			usage: "-run FOLDER -l LANGUAGE < raw > ids", options: &encode{}},
		{name: "decode", summary: "turn ids, or a file of encoded training text, into pieces or running text",
			usage: "-run FOLDER -l LANGUAGE [-raw] [-store FILE] [< ids] > text", options: &decode{}},
	}
}

// schema are those keys of a run's configuration that say what becomes of text.
var schema = keys.New[struct {
	Text bitext.TextSettings `toml:"data"`
}]("")

// ofRun is the flag that names a run.
type ofRun struct {
	Run string `flag:"run" needed:"give the folder of a translation run" help:"<FOLDER> of a translation run (required)"`
}

func (f ofRun) sides() (*bitext.Sides, error) {
	tree, err := keys.ReadFolder(f.Run)
	if err != nil {
		return nil, err
	}
	if _, translates := tree.Section("data")["target"]; !translates {
		return nil, fmt.Errorf("%s holds no translator", f.Run)
	}
	s, err := schema.ReadFolder(f.Run)
	if err == nil {
		err = checkpoint.SameRun(schema, &s, "translation", f.Run)
	}
	if err != nil {
		return nil, err
	}
	return bitext.OpenSides(s.Text, filepath.Join(f.Run, bitext.TokenizerFolder))
}

// runLanguage are the flags that choose a language of a run.
type runLanguage struct {
	ofRun
	Language string `flag:"language,l" needed:"give one of the run's two languages" help:"source or target language, as in the run (required)"`
}

func (f runLanguage) open() (p *bitext.Sides, side *bitext.Side, err error) {
	if p, err = f.sides(); err != nil {
		return nil, nil, err
	}
	switch f.Language {
	case p.Source.Language:
		return p, p.Source, nil
	case p.Target.Language:
		return p, p.Target, nil
	}
	return nil, nil, command.Usagef("-l %s: the run translates from %s to %s", f.Language, p.Source.Language,
		p.Target.Language)
}

type encode struct{ runLanguage }

func (f *encode) run(s streams) error {
	_, side, err := f.open()
	if err != nil {
		return err
	}
	first := true
	return s.eachLine(false, sure(func(line string) string {
		if first { // as in the texts of training
			line, first = strings.TrimPrefix(line, "\ufeff"), false
		}
		words := []string{}
		for _, id := range side.Encode(line) {
			words = append(words, strconv.Itoa(int(id)))
		}
		return strings.Join(words, " ")
	}))
}

type decode struct {
	runLanguage
	Store string `flag:"store" help:"<FILE> of encoded training text, which the run's log names, instead of standard input"`
	Raw   bool   `flag:"raw" help:"running text instead of pieces"`
}

func (f *decode) run(s streams) error {
	p, side, err := f.open()
	if err != nil {
		return err
	}
	text := func(ids []int32) (string, error) {
		for _, id := range ids {
			if id < 0 || int(id) >= side.Vocabulary.Len() {
				return "", fmt.Errorf("%d is no id of %s, which has %d", id, f.Run, side.Vocabulary.Len())
			}
		}
		if f.Raw {
			return side.Raw(side.Tokens(ids)), nil
		}
		return strings.Join(side.Vocabulary.Decode(ids), " "), nil
	}
	if f.Store == "" {
		return s.eachLine(false, func(line string) (string, error) {
			ids := []int32{}
			for word := range strings.FieldsSeq(line) {
				id, err := strconv.ParseInt(word, 10, 32)
				if err != nil {
					return "", fmt.Errorf("%q is no id: a line is whole numbers separated by spaces", word)
				}
				ids = append(ids, int32(id))
			}
			return text(ids)
		})
	}
	pairs, err := corpus.OpenStore(f.Store)
	if err != nil {
		return err
	}
	defer pairs.Close()
	w := bufio.NewWriter(s.out)
	err = pairs.Each(func(pair corpus.Pair) error {
		ids := pair.Source
		if side == p.Target {
			ids = pair.Target
		}
		line, err := text(ids)
		if err != nil {
			return fmt.Errorf("%s, pair %d: %w: give the -run that it was made for", f.Store, pair.Line, err)
		}
		_, err = fmt.Fprintln(w, line)
		return err
	})
	return cmp.Or(err, w.Flush())
}
