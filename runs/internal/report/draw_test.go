package report

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// examples are the records of a made-up run that learns, ever slower, while its spectrum falls.
func examples() []Record {
	var records []Record
	for step := int64(50); step <= 2000; step += 50 {
		progress := math.Exp(-float64(step) / 600)
		records = append(records, Record{Step: step, Split: SplitTrain, Values: map[string]float64{Loss: 3 + 6*progress, Perplexity: math.Exp(3 + 6*progress)}})
		if step%500 != 0 {
			continue
		}
		records = append(records, Record{Step: step, Split: SplitValid, Values: map[string]float64{Loss: 2 + 5*progress, Perplexity: math.Exp(2 + 5*progress), BLEU: 35 * (1 - progress)}})
		values, counts := make([]float64, 64), make([]float64, 100)
		for k := range values {
			values[k] = 10 * math.Pow(float64(k+1), -float64(step)/2000)
		}
		for bin := range counts {
			counts[bin] = math.Round(1000 * math.Exp(-math.Pow((float64(bin)-55)/8, 2)))
		}
		records = append(records, Record{Step: step, Split: SplitOutput, Lists: map[string][]float64{SingularValues: values, CosineHistogram: counts}})
	}
	return records
}

// colours counts the pixels of a picture that have each of the plots' colours.
func colours(t *testing.T, data []byte) (img image.Image, blues, oranges int) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			switch c := img.At(x, y); {
			case sameColour(c.RGBA())(blue.RGBA()):
				blues++
			case sameColour(c.RGBA())(orange.RGBA()):
				oranges++
			}
		}
	}
	return img, blues, oranges
}

func sameColour(r, g, b, a uint32) func(uint32, uint32, uint32, uint32) bool {
	return func(r2, g2, b2, a2 uint32) bool { return r == r2 && g == g2 && b == b2 && a == a2 }
}

func TestDraw(t *testing.T) {
	plots, err := Draw(examples())
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "plots")
	if err := SavePlots(folder, plots); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]image.Point{"training.png": {1280, 1500}, "singular_values.png": {1280, 720}, "cosine_histogram.png": {1280, 640}}
	if len(plots) != len(sizes) {
		t.Fatalf("%d plots", len(plots))
	}
	for name, size := range sizes {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		img, blues, oranges := colours(t, data)
		if img.Bounds().Size() != size {
			t.Errorf("%s has size %v, want %v", name, img.Bounds().Size(), size)
		}
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
		"no curve":  {[]Record{{Step: 1, Split: SplitOutput, Lists: map[string][]float64{SingularValues: {0, 0}, CosineHistogram: {0, 0}}}}, ""},
		"one point": {[]Record{{Step: 1, Split: SplitTrain, Values: map[string]float64{Loss: 3}}}, "training.png"},
		"constant":  {[]Record{{Step: 1, Split: SplitValid, Values: map[string]float64{Perplexity: 5}}, {Step: 2, Split: SplitValid, Values: map[string]float64{Perplexity: 5}}}, "training.png"},
		"negative":  {[]Record{{Step: 1, Split: SplitTrain, Values: map[string]float64{Loss: -3}}, {Step: 2, Split: SplitTrain, Values: map[string]float64{Loss: -4e9}}}, "training.png"},
		"gaps":      {[]Record{{Step: 1, Split: SplitOutput, Lists: map[string][]float64{SingularValues: {2, nan, 0}}}}, "singular_values.png"},
		"one bin":   {[]Record{{Step: 1, Split: SplitOutput, Lists: map[string][]float64{CosineHistogram: {7}}}}, "cosine_histogram.png"},
	} {
		plots, err := Draw(test.records)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var names []string
		for _, p := range plots {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s: drew %q, want %q", name, got, test.want)
		}
	}
}
