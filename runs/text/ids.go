package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// idCommands show text as a translator sees it, and stored ids as text.
func idCommands() []tool {
	return []tool{
		{"encode", "turn raw text into ids as a run's translator reads it", encode},
		{"decode", "turn ids, or a file of encoded training text, into pieces or running text", decode},
	}
}

// schema are those keys of a run's configuration that say what becomes of text.
var schema = keys.New[struct {
	Text bitext.TextSettings `toml:"data"`
}]("")

// sideFlags are those that choose a run's language.
func sideFlags(fs *pflag.FlagSet) (run, language *string) {
	return fs.String("run", "", "`FOLDER` of a translation run (required)"), fs.StringP("language", "l", "", "source or target language, as in the run (required)")
}

func openSide(run, language string) (p *bitext.Pair, side *bitext.Side, err error) {
	if run == "" || language == "" {
		return nil, nil, usagef("-run FOLDER and -l LANGUAGE are needed: a run's folder, and one of its two languages")
	}
	s, err := schema.ReadFolder(run)
	if err == nil {
		err = checkpoint.SameRun(schema, &s, "translation", run)
	}
	if err != nil {
		return nil, nil, err
	}
	if p, err = bitext.OpenPair(s.Text, filepath.Join(run, bitext.TokenizerFolder)); err != nil {
		return nil, nil, err
	}
	switch language {
	case p.Source.Language:
		return p, p.Source, nil
	case p.Target.Language:
		return p, p.Target, nil
	}
	return nil, nil, usagef("-l %s: the run translates from %s to %s", language, p.Source.Language, p.Target.Language)
}

func encode(args []string, in io.Reader, out, _ io.Writer) error {
	fs := command.Flags("encode")
	run, language := sideFlags(fs)
	if err := parseFilter(fs, "-run FOLDER -l LANGUAGE < raw > ids", args, out); err != nil {
		return err
	}
	_, side, err := openSide(*run, *language)
	if err != nil {
		return err
	}
	return eachLine(in, out, func(line string) (string, error) {
		words := []string{}
		for _, id := range side.Encode(line) {
			words = append(words, strconv.Itoa(int(id)))
		}
		return strings.Join(words, " "), nil
	})
}

func decode(args []string, in io.Reader, out, _ io.Writer) error {
	fs := command.Flags("decode")
	run, language := sideFlags(fs)
	store := fs.String("store", "", "`FILE` of encoded training text, which the run's log names, instead of standard input")
	raw := fs.Bool("raw", false, "running text instead of pieces")
	if err := parseFilter(fs, "-run FOLDER -l LANGUAGE [-raw] [-store FILE] [< ids] > text", args, out); err != nil {
		return err
	}
	p, side, err := openSide(*run, *language)
	if err != nil {
		return err
	}
	text := func(ids []int32) (string, error) {
		for _, id := range ids {
			if id < 0 || int(id) >= side.Vocabulary.Len() {
				return "", fmt.Errorf("%d is no id of %s, which has %d", id, *run, side.Vocabulary.Len())
			}
		}
		if *raw {
			return side.Raw(side.Tokens(ids)), nil
		}
		return strings.Join(side.Vocabulary.Decode(ids), " "), nil
	}
	if *store == "" {
		return eachLine(in, out, func(line string) (string, error) {
			ids := []int32{}
			for _, word := range strings.Fields(line) {
				id, err := strconv.ParseInt(word, 10, 32)
				if err != nil {
					return "", fmt.Errorf("%q is no id: a line is whole numbers separated by spaces", word)
				}
				ids = append(ids, int32(id))
			}
			return text(ids)
		})
	}
	pairs, err := corpus.OpenStore(*store)
	if err != nil {
		return err
	}
	defer pairs.Close()
	w := bufio.NewWriter(out)
	err = pairs.Each(func(pair corpus.Pair) error {
		ids := pair.Source
		if side == p.Target {
			ids = pair.Target
		}
		line, err := text(ids)
		if err != nil {
			return fmt.Errorf("%s, pair %d: %w: give the -run that it was made for", *store, pair.Line, err)
		}
		_, err = fmt.Fprintln(w, line)
		return err
	})
	return cmp.Or(err, w.Flush())
}
