package report

import (
	"bytes"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/chart"
)

// examples are the records of a made-up run that learns, ever slower, while its spectrum falls.
func examples() []Record {
	var records []Record
	for step := int64(50); step <= 2000; step += 50 {
		progress := math.Exp(-float64(step) / 600)
		records = append(records, Record{Step: step, Split: SplitTrain,
			Values: map[string]float64{Loss: 3 + 6*progress, Perplexity: math.Exp(3 + 6*progress)}})
		if step%500 != 0 {
			continue
		}
		records = append(records, Record{Step: step, Split: SplitValid,
			Values: map[string]float64{Loss: 2 + 5*progress, Perplexity: math.Exp(2 + 5*progress),
				BLEU: 35 * (1 - progress)}})
		values, counts := make([]float64, 64), make([]float64, 100)
		for k := range values {
			values[k] = 10 * math.Pow(float64(k+1), -float64(step)/2000)
		}
		for bin := range counts {
			counts[bin] = math.Round(1000 * math.Exp(-math.Pow((float64(bin)-55)/8, 2)))
		}
		records = append(records, Record{Step: step, Split: SplitOutput,
			Lists: map[string][]float64{SingularValues: values, CosineHistogram: counts}})
	}
	return records
}

// pixels counts those of a picture that have a colour.
func pixels(t *testing.T, data []byte, wanted color.RGBA) (n int) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if color.RGBAModel.Convert(img.At(x, y)) == wanted {
				n++
			}
		}
	}
	return n
}

func TestDraw(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "plots")
	if err := chart.Save(folder, Draw(examples())); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"training.png", "singular_values.png", "cosine_histogram.png"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		blues, oranges := pixels(t, data, chart.Hue(0)), pixels(t, data, chart.Hue(1))
		if oranges < 500 || name == "training.png" && blues < 500 {
			t.Errorf("%s shows %d blue and %d orange points: no curves", name, blues, oranges)
		}
	}
}

// Plots without data are not drawn, and odd numbers stop none.
func TestDrawOddRecords(t *testing.T) {
	nan := math.NaN()
	for name, test := range map[string]struct {
		records []Record
		want    string
	}{
		"none":      {nil, ""},
		"undefined": {[]Record{{Step: 1, Split: SplitTrain, Values: map[string]float64{Loss: nan, Perplexity: 0}}}, ""},
		"no curve": {[]Record{{Step: 1, Split: SplitOutput,
			Lists: map[string][]float64{SingularValues: {0, 0}, CosineHistogram: {0, 0}}}}, ""},
		"one point": {[]Record{{Step: 1, Split: SplitTrain, Values: map[string]float64{Loss: 3}}}, "training.png"},
		"constant": {[]Record{{Step: 1, Split: SplitValid, Values: map[string]float64{Perplexity: 5}},
			{Step: 2, Split: SplitValid, Values: map[string]float64{Perplexity: 5}}}, "training.png"},
		"negative": {[]Record{{Step: 1, Split: SplitTrain, Values: map[string]float64{Loss: -3}},
			{Step: 2, Split: SplitTrain, Values: map[string]float64{Loss: -4e9}}}, "training.png"},
		"gaps": {[]Record{{Step: 1, Split: SplitOutput, Lists: map[string][]float64{SingularValues: {2, nan, 0}}}},
			"singular_values.png"},
		"one bin": {[]Record{{Step: 1, Split: SplitOutput, Lists: map[string][]float64{CosineHistogram: {7}}}},
			"cosine_histogram.png"},
	} {
		var names []string
		for _, p := range Draw(test.records) {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s: drew %q, want %q", name, got, test.want)
		}
	}
}

// The pictures of a run whose losses are neighbouring numbers, and whose BLEU stays at zero, are drawn.
func TestDrawNeighbours(t *testing.T) {
	var records []Record
	for i, loss := range []float64{0.9999999999999996, 1} {
		records = append(records, Record{Step: int64(i + 1), Split: SplitValid,
			Values: map[string]float64{Loss: loss, Perplexity: math.Exp(loss), BLEU: 0}})
	}
	if plots := Draw(records); len(plots) != 1 {
		t.Errorf("%d plots", len(plots))
	}
}
