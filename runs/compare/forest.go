package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/runs/compare/significance"
	"github.com/aperture-ml/aperture/runs/internal/chart"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// scored are the scores over seeds of one measure, as a file of -csv has them.
type scored struct {
	measure string
	methods []string
	values  [][]float64 // by method, then by seed
}

// readScores reads a file of -csv, and gives its measures in the order of the file.
func readScores(path string) (all []*scored, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, files.Missing(err)
	}
	defer file.Close()
	reader := csv.NewReader(file)
	head, err := reader.Read()
	column := func(name string) int { return slices.Index(head, name) }
	method, measure, values := column("method"), column("measure"), column("values")
	if min(method, measure, values) < 0 && (err == nil || errors.Is(err, io.EOF)) {
		return nil, command.Usagef("%s has no columns method, measure and values: "+
			"-forest and -claims read files that compare wrote with -csv", path)
	}
	for err == nil {
		var line []string
		if line, err = reader.Read(); err != nil {
			break
		}
		at := slices.IndexFunc(all, func(s *scored) bool { return s.measure == line[measure] })
		if at < 0 {
			at, all = len(all), append(all, &scored{measure: line[measure]})
		}
		var seeds []float64
		number, _ := reader.FieldPos(values)
		for field := range strings.SplitSeq(line[values], " ") { // a seed that a row lacks is empty
			x, bad := math.NaN(), error(nil)
			if field != "" {
				x, bad = strconv.ParseFloat(field, 64)
			}
			if bad != nil || math.IsInf(x, 0) {
				return nil, fmt.Errorf("%s:%d: %.80q is no number: write the file anew with -csv", path, number, field)
			}
			seeds = append(seeds, x)
		}
		if before := all[at].values; len(before) > 0 && len(before[0]) != len(seeds) {
			return nil, fmt.Errorf("%s:%d: %d values, and the first method of this measure has %d: write the file anew "+
				"with -csv", path, number, len(seeds), len(before[0]))
		}
		all[at].methods, all[at].values = append(all[at].methods, line[method]), append(all[at].values, seeds)
	}
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w: write the file anew with -csv", path, err)
	}
	return all, nil
}

// against are the methods' differences to the control over seeds; false where the control has no score.
func (s *scored) against(control string) (significance.Fit, bool) {
	at := slices.Index(s.methods, control)
	if at < 0 {
		return significance.Fit{}, false
	}
	return significance.Linear(s.values, at, 0.05), true
}

// lossOfTest is a measure that a forest plot shows: the whole loss of a test text, as it is or by another evaluation.
var lossOfTest = regexp.MustCompile(`^test\.(.+?)(?:\.(` + strings.Join(record.Evaluations, "|") + `))?\.nll$`)

// forest draws, for each test text of files of -csv and each method, the difference of the loss to the control's, with
// the interval of 95 % over seeds, not corrected for the number of methods. A text is named after the file's folder,
// and where a file has several with its own name too.
func forest(paths []string, control string) (*chart.Chart, error) {
	drawing := chart.New("Test loss: difference to "+control+", 95 % over seeds", "nats a token; left of 0 is better", "")
	type line struct {
		name, method string
		contrast     significance.Contrast
	}
	var lines []line
	for _, path := range paths {
		all, err := readScores(path)
		if err != nil {
			return nil, err
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		folder, texts := filepath.Base(filepath.Dir(absolute)), map[string]bool{}
		for _, s := range all {
			if name := lossOfTest.FindStringSubmatch(s.measure); name != nil {
				texts[name[1]] = true
			}
		}
		for _, s := range all {
			name := lossOfTest.FindStringSubmatch(s.measure)
			fit, found := s.against(control)
			if name == nil || !found {
				continue
			}
			for k, method := range s.methods {
				if slices.Contains(s.methods[k+1:], method) {
					return nil, fmt.Errorf("%s: %s has several rows: leave all but one out", path, files.Shown(method))
				}
			}
			text := folder
			if len(texts) > 1 {
				text += " " + name[1]
			}
			if name[2] != "" {
				text += ", " + name[2]
			}
			for k, c := range fit.Contrasts {
				if s.methods[k] != control && !math.IsNaN(c.Low) {
					seeds := len(present(s.values[k]))
					lines = append(lines, line{fmt.Sprintf("%s: %s (%d)", text, s.methods[k], seeds), s.methods[k], c})
				}
			}
		}
	}
	if len(lines) == 0 {
		return nil, command.Usagef("-forest: no file has the loss of a test text for %s and another method, "+
			"with two seeds: name another -control", control)
	}
	slices.Reverse(lines) // places count from below
	drawing.Y.Reach, drawing.X.Reach = []float64{-0.5, float64(len(lines)) - 0.5}, []float64{0}
	drawing.Height = 60 + 17*float64(len(lines))
	drawing.Add(chart.Series{Colour: chart.Hue(methodHue(control)), Kind: chart.Stair, X: []float64{0, 0, 0},
		Y: drawing.Y.Reach})
	for i, l := range lines {
		drawing.Y.Places = append(drawing.Y.Places, l.name)
		colour, y := chart.Hue(methodHue(l.method)), float64(i)
		drawing.Add(chart.Series{Colour: colour, Kind: chart.Stair,
			X: []float64{l.contrast.Low, l.contrast.High}, Y: []float64{y}})
		drawing.Add(chart.Series{Colour: colour, Kind: chart.Dots, X: []float64{l.contrast.Estimate}, Y: []float64{y},
			Size: 3.5})
	}
	return drawing, nil
}
