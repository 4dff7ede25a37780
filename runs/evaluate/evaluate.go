package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

func scored(t language.Text, nll float64, tokens int) record.TextScores {
	return record.TextScores{NLL: record.Num(nll), PPL: record.Num(math.Exp(nll)), Tokens: tokens,
		AnyUnits: record.AnyUnits{PPLWord: record.Num(math.Exp(t.PerWord(nll))), BitsByte: record.Num(t.BitsPerByte(nll))}}
}

func ppl(nll float64) *record.Number {
	n := record.Num(math.Exp(nll))
	return &n
}

// evaluation is an opened run.
type evaluation struct {
	*flags
	model    *language.Model
	texts    *language.Texts
	progress io.Writer
}

func open(f *flags, progress io.Writer) (*evaluation, error) {
	device, err := torch.FindDevice(f.Device)
	if err != nil {
		return nil, &command.UsageError{Err: err}
	}
	torch.SetThreads(f.Threads)
	model, err := language.Load(f.Run, device)
	if err != nil {
		return nil, err
	}
	for _, w := range model.Warnings {
		fmt.Fprintln(progress, w)
	}
	if f.given.Changed("memory") {
		if err := model.SetContext(f.context, f.Rows); err != nil {
			model.Free()
			return nil, &command.UsageError{Err: err}
		}
	}
	if f.given.Changed("stride") {
		if err := model.SetStride(f.Stride); err != nil {
			model.Free()
			return nil, command.Usagef("-stride=%d: %v", f.Stride, err)
		}
	}
	c, err := experiment.ReadConfig(f.Run)
	if err != nil {
		model.Free()
		return nil, err
	}
	d := c.Data
	if f.Data != "" {
		d.Dir, d.Sample = f.Data, false
	}
	if err := f.named(c, d.Sample); err != nil {
		model.Free()
		return nil, err
	}
	if f.given.Changed("valid") {
		d.Valid = f.Valid
	}
	if f.Test != nil {
		d.Test = f.Test
	}
	if f.With != "dynamic" {
		d.Train = "" // nothing is learnt from it
	}
	texts, err := experiment.ReadText(d, f.Run)
	if err != nil {
		model.Free()
		return nil, err
	}
	if f.Save {
		err = ofTheRun(texts, f.Run)
	}
	if err != nil {
		model.Free()
		return nil, err
	}
	return &evaluation{f, model, texts, progress}, nil
}

// named refuses the names of texts where none are read by them: the built-in sample's texts have no names, and an
// imported model has no texts at all.
func (f *flags) named(c experiment.Config, sample bool) error {
	switch {
	case !sample:
		return nil
	case c.Preset == experiment.Imported:
		return command.Usagef("%s was imported, and no text came with it: -data names the folder that holds yours", f.Run)
	case f.Valid != "" && f.given.Changed("valid"):
		return command.Usagef("-valid=%s: %s was trained on the built-in sample; to score a text of yours, -data names its "+
			"folder", f.Valid, f.Run)
	case len(f.Test) > 0:
		return command.Usagef("-test=%s: %s was trained on the built-in sample; to score texts of yours, -data names their "+
			"folder", strings.Join(f.Test, ","), f.Run)
	}
	return nil
}

// ofTheRun refuses texts that are not those that the run has results of: what is kept beside these is compared.
func ofTheRun(texts *language.Texts, folder string) error {
	results, err := record.Read(folder)
	if err != nil {
		return err
	}
	if file := results.Foreign(texts.Sums); file != "" {
		return command.Usagef("-save keeps what is found of the run's own texts, and %s is none of them: leave -save out",
			file)
	}
	return nil
}

// each scores the validation text, if there is one, and the test texts, with settings of which some were searched for.
func (e *evaluation) each(settings map[string]any, searched []string,
	score func(t language.Text, validation bool) (record.TextScores, error)) (*record.Evaluation, error) {
	run, err := filepath.Abs(e.Run)
	if err != nil {
		return nil, err
	}
	if own := e.own(); settings == nil && len(own) > 0 {
		settings = own
	} else {
		maps.Copy(settings, own)
	}
	out := &record.Evaluation{Run: run, With: e.With, Settings: settings, Searched: searched,
		Test: map[string]record.TextScores{}}
	if name := e.texts.Valid.Name; name != "" {
		if out.Valid, err = score(e.texts.Valid, true); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, t := range e.texts.Tests {
		if out.Test[t.Name], err = score(t, false); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	return out, nil
}

// static scores texts in the columns that training used, so that the numbers are those of results.json.
func (e *evaluation) static() (*record.Evaluation, error) {
	c := e.model.Settings.Train
	return e.each(nil, nil, func(t language.Text, validation bool) (record.TextScores, error) {
		count, key := c.TestColumns, "train.test_columns"
		if validation {
			count, key = c.ValidColumns, "" // a finished run keeps train.valid_columns
		}
		text, err := corpus.NewColumns(t.IDs, count, "the text", key)
		if err != nil {
			return record.TextScores{}, err
		}
		sum, tokens := e.model.NLL(text)
		s := scored(t, sum/float64(tokens), tokens)
		s.Legacy = ppl(text.Legacy(sum / float64(tokens)))
		return s, nil
	})
}

// beginning is the part of the validation text that a search reads.
func (e *evaluation) beginning() []int32 {
	ids := e.texts.Valid.IDs
	if e.Search > 0 && e.Search < len(ids) {
		ids = ids[:e.Search]
	}
	return ids
}

func (e *evaluation) cache() (*record.Evaluation, error) {
	chosen := e.pointer
	searched := e.searched()
	if len(searched) > 0 {
		var err error
		if chosen, _, err = e.model.SearchCache(e.beginning(), e.pointer); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		fmt.Fprintf(e.progress, "search: theta %g, lambda %g\n", chosen.Theta, chosen.Lambda)
	}
	settings := map[string]any{"theta": chosen.Theta, "lambda": chosen.Lambda, "window": chosen.Window}
	return e.each(settings, searched, func(t language.Text, _ bool) (record.TextScores, error) {
		cached, err := e.model.ScoreWithCache(t.IDs, []float64{chosen.Theta}, chosen.Window)
		if err != nil {
			return record.TextScores{}, err
		}
		nll := cached.NLL(0, chosen.Lambda)
		if math.IsInf(nll, 1) {
			return record.TextScores{}, language.ZeroProbability(chosen.Lambda)
		}
		s := scored(t, nll, len(cached.LogVocabulary))
		s.Static = ppl(cached.NLL(0, 0))
		return s, nil
	})
}

// readBySearch is the SHA-256 of what a search for the settings of dynamic evaluation reads.
func (e *evaluation) readBySearch() string {
	hash := sha256.New()
	for _, ids := range [][]int32{e.texts.Train.IDs, e.beginning()} {
		binary.Write(hash, binary.LittleEndian, int64(len(ids))) // a hash takes all
		binary.Write(hash, binary.LittleEndian, ids)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// searching gives losses on the beginning of the validation text, those that were found before without computing. The
// first that it computes says how long a search takes.
func (e *evaluation) searching(moving *language.DynamicModel) (func(language.Dynamic) (float64, error), error) {
	kept, err := record.KeptSearch(e.Run, record.Conditions{Texts: e.readBySearch(), Statistics: e.Statistics,
		Epsilon: e.following.Epsilon, Chunk: e.following.Chunk, Context: fmt.Sprint(e.own())})
	if err != nil {
		return nil, err
	}
	told, unkept := false, false
	return func(d language.Dynamic) (float64, error) {
		nll, known := kept.Known(d.Rate, d.Decay)
		before := ", found before"
		if !known {
			began := time.Now()
			var err error
			if nll, err = moving.NLL(e.beginning(), d); err != nil {
				return 0, err
			}
			if err := kept.Add(d.Rate, d.Decay, nll); err != nil && !unkept { // a folder of another's, or a full disk
				unkept = true
				fmt.Fprintf(e.progress, "search: goes on, and cannot keep what it finds: %v\n", err)
			}
			if before = ""; !told {
				told = true
				took := time.Since(began)
				fmt.Fprintf(e.progress, "search: a pass takes %s, all of it up to %d passes or %s\n", took.Round(time.Second/10),
					language.MostPasses, (language.MostPasses * took).Round(time.Second))
			}
		}
		fmt.Fprintf(e.progress, "search: rate %.3g, decay %.3g: ppl %.3f%s\n", d.Rate, d.Decay, math.Exp(nll), before)
		return nll, nil
	}, nil
}

// own are settings of the network that the command changes.
func (e *evaluation) own() (settings map[string]any) {
	settings = map[string]any{}
	if e.given.Changed("memory") {
		settings["memory"], settings["clamp"], settings["same_length"], settings["target_length"] = e.context.Memory,
			e.context.Clamp, e.context.SameLength, e.model.Settings.Train.BPTT
	}
	if e.given.Changed("stride") {
		settings["stride"] = e.Stride
	}
	return settings
}

func (e *evaluation) dynamic() (*record.Evaluation, error) {
	fmt.Fprintln(e.progress, "collecting the statistics of gradients on the training text")
	moving, err := e.model.Dynamic(e.texts.Train.IDs, e.following.Chunk, e.Statistics)
	if err != nil {
		return nil, err
	}
	defer moving.Free()
	chosen := e.following
	searched := e.searched()
	if len(searched) > 0 {
		score, err := e.searching(moving)
		if err != nil {
			return nil, err
		}
		if chosen, err = language.SearchDynamic(chosen, !slices.Contains(searched, "decay"), score); err != nil {
			return nil, err
		}
	}
	settings := map[string]any{"rate": chosen.Rate, "decay": chosen.Decay, "epsilon": chosen.Epsilon,
		"chunk": chosen.Chunk}
	if e.Statistics > 0 {
		settings["statistics"] = e.Statistics
	}
	if stride := moving.Stride(chosen.Chunk); stride > 0 {
		settings["stride"], e.model.Settings.Train.Stride = stride, stride // of both figures
	}
	if length := moving.TargetLength(chosen.Chunk); length > 0 {
		settings["target_length"], e.model.Settings.Train.BPTT = length, length
	}
	return e.each(settings, searched, func(t language.Text, _ bool) (record.TextScores, error) {
		nll, err := moving.NLL(t.IDs, chosen)
		if err != nil {
			return record.TextScores{}, err
		}
		if math.IsNaN(nll) || math.IsInf(math.Exp(nll), 1) {
			then := "give a lower -rate or -decay"
			if len(searched) == 0 {
				then += ", or none to have them searched for"
			}
			return record.TextScores{}, fmt.Errorf("the weights diverge at the rate %.3g with the decay %.3g: %s",
				chosen.Rate, chosen.Decay, then)
		}
		text, err := corpus.NewColumns(t.IDs, 1, "the text", "-test")
		if err != nil {
			return record.TextScores{}, err
		}
		sum, tokens := e.model.NLL(text)
		s := scored(t, nll, tokens)
		s.Static = ppl(sum / float64(tokens))
		return s, nil
	})
}
