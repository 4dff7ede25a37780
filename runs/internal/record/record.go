package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/aperture-ml/aperture/internal/files"
)

// Names of files and folders in a run's folder.
const (
	File        = "results.json"
	EnvFile     = "env.json"
	MetricsFile = "metrics.jsonl"
	SamplesDir  = "samples"
	PlotsDir    = "plots"
)

// Results is results.json. A Number or Text that was never set is undefined there: null.
type Results struct {
	Run    string      `json:"run"`
	Method string      `json:"method"`
	Preset string      `json:"preset"`
	Seed   int64       `json:"seed"`
	Data   ResultsData `json:"data"`
	// Files are the SHA-256 of files that settings of the method name, by key as in "objective.vectors".
	Files map[string]string `json:"files,omitempty"`

	Params          int64  `json:"params"`
	Updates         int64  `json:"updates"`
	Epochs          Number `json:"epochs"`
	TrainSeconds    Number `json:"train_seconds"`
	TokensPerS      Number `json:"tokens_per_s"` // target tokens without padding, training only
	PeakRSSBytes    Number `json:"peak_rss_bytes"`
	PeakDeviceBytes Number `json:"peak_device_bytes"`

	Valid          ValidScores           `json:"valid"`
	Best           Best                  `json:"best"`
	Test           map[string]TestScores `json:"test"`
	Isotropy       Isotropy              `json:"isotropy"`
	SingularValues []Number              `json:"singular_values"`
	Vectors        *Vectors              `json:"vectors"`               // of a method that aims at vectors, else null
	Postprocess    Text                  `json:"postprocess,omitempty"` // decode.postprocess, if it changed anything
	Checkpoint     Text                  `json:"checkpoint"`
	Code           Code                  `json:"code"`
}

// ResultsData says what was trained on.
type ResultsData struct {
	Name      string            `json:"name"`
	Synthetic bool              `json:"synthetic"`
	SHA256    map[string]string `json:"sha256"` // file name -> hex
}

// Vectors says what target vectors a method aimed at.
type Vectors struct {
	Source string `json:"source"` // "the training text", or the name of a file
	SHA256 Text   `json:"sha256"` // of the file
	Width  int    `json:"width"`
	Words  int    `json:"words"`  // of the vocabulary; all but padding, <s> and an unknown <unk> have one
	Unused int    `json:"unused"` // vectors of the file that stand for no word of the training text
	End    string `json:"end"`    // where the vector of </s> is from
}

// ValidScores are nats per target token, end of sentence included, and its exponential.
type ValidScores struct {
	NLL Number `json:"nll"`
	PPL Number `json:"ppl"`
	AnyUnits
}

// AnyUnits are a language model's scores that compare models of words and of pieces: they spread a text's loss over
// its words, or its bytes, whatever the model's tokens are.
type AnyUnits struct {
	PPLWord  Number `json:"ppl_word,omitzero"`  // a word between white space, with the ends of lines
	BitsByte Number `json:"bits_byte,omitzero"` // a byte of UTF-8
}

// Best is when the validation score was best, which is when the weights that were tested were made.
type Best struct {
	Step    int64  `json:"step"`
	Epoch   Number `json:"epoch"`
	Seconds Number `json:"seconds"` // of training until then, counted as train_seconds
	Loss    Number `json:"loss"`    // clean, of the validation text: valid.nll, or a mean distance
}

// TestScores are the scores of one test text.
type TestScores struct {
	NLL           Number            `json:"nll"`
	PPL           Number            `json:"ppl"`
	BLEU          Number            `json:"bleu"` // sacreBLEU, detokenised
	BLEUSignature Text              `json:"bleu_signature"`
	BLEUTok       Number            `json:"bleu_tok"` // multi-bleu on the tokenised text
	ChrF          Number            `json:"chrf"`
	F1            map[string]Number `json:"f1"` // of words by training frequency, as "5-9"
	AnyUnits
}

// Isotropy are measures of the output matrix.
type Isotropy struct {
	I1          Number `json:"i1"`
	I2          Number `json:"i2"`
	I1BothSigns Number `json:"i1_both_signs"`
	I2BothSigns Number `json:"i2_both_signs"`
	Frobenius   Number `json:"frobenius"`
	MeanCosine  Number `json:"mean_cosine"`
	SigmaRatio  Number `json:"sigma_ratio"`
	MeanShare   Number `json:"mean_share"` // of the squares of the matrix, by its mean row
	IsoScore    Number `json:"iso_score"`
}

// Code is the commit that the program was built from, and whether its tree held other changes.
type Code struct {
	Commit Text  `json:"commit"`
	Dirty  *bool `json:"dirty"`
}

// Env is env.json: what a run ran on.
type Env struct {
	Versions   map[string]string `json:"versions"` // of Aperture, Go and the libraries
	OS         string            `json:"os"`
	Host       string            `json:"host"`
	CPU        string            `json:"cpu"`
	CPUs       int               `json:"cpus"` // that this process may use
	ISA        string            `json:"isa"`  // the instruction set that it computes with
	Device     string            `json:"device"`
	Threads    int               `json:"threads"`
	Started    string            `json:"started"` // RFC 3339, of this process
	Code       Code              `json:"code"`
	Changed    []string          `json:"changed_files,omitempty"` // tracked by git, with changes that are in no commit
	DataSHA256 map[string]string `json:"data_sha256"`             // of the texts, once they have been read
	Files      map[string]string `json:"files,omitempty"`         // SHA-256 of files of the method, by key
}

// Number is a number that may be undefined; the zero Number is. JSON has no infinities: an undefined Number is null
// there.
type Number struct {
	value   float64
	defined bool
}

// Num returns x as a Number, undefined where x is NaN or infinite.
func Num[T int | int64 | float32 | float64](x T) Number {
	value := float64(x)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return Number{}
	}
	return Number{value, true}
}

// Nums returns each of xs as a Number; nil gives nil.
func Nums(xs []float64) []Number {
	if xs == nil {
		return nil
	}
	numbers := make([]Number, len(xs))
	for i, x := range xs {
		numbers[i] = Num(x)
	}
	return numbers
}

// Value returns the number, or NaN where it is undefined.
func (n Number) Value() float64 {
	if !n.defined {
		return math.NaN()
	}
	return n.value
}

// MarshalJSON writes the number, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.defined {
		return []byte("null"), nil
	}
	return json.Marshal(n.value)
}

// UnmarshalJSON reads a number, or null.
func (n *Number) UnmarshalJSON(data []byte) error {
	var value *float64
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	if *n = (Number{}); value != nil {
		*n = Num(*value)
	}
	return nil
}

// Text is a text that may be undefined; the empty Text is, and null in JSON.
type Text string

// MarshalJSON writes the text, or null.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// Read reads the results.json of a run folder.
func Read(folder string) (*Results, error) {
	results := &Results{}
	err := files.ReadJSON(filepath.Join(folder, File), results)
	var where *fs.PathError
	if err != nil && !errors.As(err, &where) {
		err = fmt.Errorf("%w: the file is damaged; delete it, and -resume of the run makes it anew from the checkpoints", err)
	}
	return results, err
}

// Foreign is a file, of those with the given SHA-256, that is none of the run's own texts as it read them; empty where
// there is none.
func (r *Results) Foreign(sums map[string]string) string {
	for _, file := range slices.Sorted(maps.Keys(sums)) {
		if r.Data.SHA256[file] != sums[file] {
			return file
		}
	}
	return ""
}
