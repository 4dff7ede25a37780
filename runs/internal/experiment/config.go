package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Imported is the preset of a run that runs/import made of another program's model, which comes without texts.
const Imported = "imported"

// Config is a whole experiment: with the same data, code and machine it gives the same results. Run and Preset say
// where it came from; every other key stands in a section.
//
// A key is a field with tags (package keys) of the struct that uses it, which Config embeds; here stand those that only
// experiments have. The tag resume says whether a resumed run may change a key: "free": yes; "named": only by hand, not
// by another machine's default; "location": yes, from one path to another; otherwise no. validate.go says what one key
// demands of another.
type Config struct {
	Run    string `toml:"run" help:"the command under runs/ that this is a configuration of"`
	Preset string `toml:"preset" help:"the preset it started from"`

	Data       Data                `toml:"data"`
	Model      models.Settings     `toml:"model" init:"keep"`
	Objective  objectives.Settings `toml:"objective"`
	Train      Train               `toml:"train"`
	Schedule   models.Schedule     `toml:"schedule"`
	Decode     Decode              `toml:"decode" task:"translation" resume:"free"`
	Checkpoint Checkpoint          `toml:"checkpoint" resume:"free"`
	Report     Report              `toml:"report" resume:"free"`
}

// Data says which text is read and how it becomes symbols. Paths are relative to the working directory when they are
// given and absolute once resolved.
type Data struct {
	record.Data
	language.VocabularySettings `task:"language model" init:"keep"`
}

// Train is the optimisation. Updates are optimizer steps: an update may span several accumulated batches.
type Train struct {
	Seed   int `toml:"seed" default:"1" range:"[0,inf)" help:"seed of all random streams"`
	Steps  int `toml:"steps" default:"100000" range:"[0,inf)" resume:"free" help:"updates to train for; 0 is no limit. With epochs, whichever ends first"`
	Epochs int `toml:"epochs" default:"0" range:"[0,100000]" resume:"free" help:"passes over the data to train for; 0 is no limit"`

	corpus.BatchSettings `task:"translation"`
	Accumulate           int `toml:"accumulate" default:"1" range:"[1,100000]" help:"batches whose gradients make one update"`
	parallel.Settings
	Recompute bool   `toml:"recompute" default:"false" resume:"named" help:"keep what goes from one layer of attention to the next alone, and compute each layer once more in the backward pass: less memory, more time"`
	Normalise string `toml:"normalise" task:"translation" default:"tokens" choice:"tokens sentences" help:"what an update's summed loss is divided by"`

	language.TrainSettings `task:"language model"`

	ASGD         string `toml:"asgd" task:"language model" default:"none" choice:"none trigger epoch finetune" help:"when averaging starts. none: never; trigger: when validation stalls; epoch: after asgd_epoch; finetune: at once"`
	ASGDPatience int    `toml:"asgd_patience" task:"language model" default:"5" range:"[1,100000]" help:"validations that trigger and finetune look back over"`
	ASGDEpoch    int    `toml:"asgd_epoch" task:"language model" default:"0" range:"[0,inf)" help:"epochs before averaging begins, where asgd is epoch"`
	ASGDLag      bool   `toml:"asgd_lag" task:"language model" default:"true" help:"scale a step of averaged gradient descent by the length of the update before, as PyTorch's optimizer does"`

	LearningRate     float64 `toml:"learning_rate" default:"0.0005" range:"(0,inf)" help:"learning rate, at the schedule's peak; the noam schedule computes its own"`
	Optimizer        string  `toml:"optimizer" default:"adam" choice:"adam adamw radam coupled-adam sgd" help:"optimizer; radam is rectified Adam (Liu et al. 2020); coupled-adam is adamw whose step of the output matrix takes the mean second moment of all words (Stollenwerk and Stollenwerk 2025)"`
	Beta1            float64 `toml:"beta1" default:"0.9" range:"[0,1)" help:"adam: decay of the gradients' mean"`
	Beta2            float64 `toml:"beta2" default:"0.98" range:"[0,1)" help:"adam: decay of the squared gradients' mean"`
	Epsilon          float64 `toml:"epsilon" default:"1e-8" range:"(0,1]" help:"adam: term that keeps the denominator from zero"`
	EpsilonPlacement string  `toml:"epsilon_placement" default:"pytorch" choice:"pytorch fairseq" help:"adam: add epsilon after (PyTorch's Adam) or before the bias correction (fairseq, and PyTorch's RAdam)"`
	WeightDecay      float64 `toml:"weight_decay" default:"0.0" range:"[0,inf)" help:"weight decay: part of the gradient with sgd and adam, apart from it with the others"`
	ClipNorm         float64 `toml:"clip_norm" default:"0.0" range:"[0,inf)" help:"largest norm of an update's gradient; 0 does not clip"`

	Precision   string  `toml:"precision" default:"float32" choice:"float32 bfloat16 auto" help:"arithmetic of matrix products; auto is bfloat16 where that was measured faster, and the run's config.toml has what it chose"`
	TF32        bool    `toml:"tf32" default:"false" resume:"named" help:"on a GPU, round the operands of float32 products and recurrent layers to TF32: faster, with 10 bits of fraction"`
	EMADecay    float64 `toml:"ema_decay" default:"0.0" range:"[0,1)" help:"decay of an exponential moving average of the weights; 0 keeps none"`
	AverageLast int     `toml:"average_last" default:"0" range:"[0,1000]" help:"at the end average the weights of this many last checkpoints; 0 does not"`

	ValidateEvery int    `toml:"validate_every" default:"0" range:"[0,inf)" help:"updates between validations; 0 validates after each epoch"`
	Patience      int    `toml:"patience" default:"0" range:"[0,inf)" resume:"free" help:"stop after this many validations without a better score; 0 never does"`
	PatienceOn    string `toml:"patience_on" task:"translation" default:"loss" choice:"loss bleu" help:"the validation score that chooses the best checkpoint and is waited for"`

	Device   string `toml:"device" default:"auto" resume:"named" help:"where to compute: cpu, cuda, cuda:N, or auto (a GPU where there is one)"`
	Threads  int    `toml:"threads" default:"0" range:"[0,4096]" resume:"named" help:"CPU threads; 0 uses all that this process may use"`
	Init     string `toml:"init" path:"folder" help:"run folder to train further: its weights, network, tokenizer and vocabulary"`
	LogEvery int    `toml:"log_every" default:"100" range:"[1,inf)" resume:"free" help:"updates between lines of the log and of metrics.jsonl"`
}

// Batches is how many make an update.
func (t Train) Batches() int { return t.Accumulate * t.Processes }

// Decode is how text is produced from a trained model.
type Decode struct {
	decode.Options
	ValidationBeam int `toml:"validation_beam" default:"1" range:"[0,1000]" help:"beam width for BLEU in validation; 0 measures no BLEU there"`
}

// Checkpoint is what is saved while training.
type Checkpoint struct {
	Every int `toml:"every" default:"0" range:"[0,inf)" help:"updates between checkpoints; 0 saves at each validation"`
	Keep  int `toml:"keep" default:"5" range:"[1,100000]" help:"newest checkpoints to keep, or train.average_last where that is more; the best one is kept besides"`
}

// Report is what is measured and drawn beside the log.
type Report struct {
	Every       int  `toml:"every" default:"0" range:"[0,inf)" help:"updates between measures of the output matrix; 0 takes them at each validation"`
	Plots       bool `toml:"plots" default:"true" help:"draw plots and report.html"`
	TensorBoard bool `toml:"tensorboard" default:"true" help:"write an event file for TensorBoard"`
	Test        bool `toml:"test" default:"true" help:"score the test texts when training has ended; with false they are left alone, and resuming the finished run with true scores them, as it does with another test text"`
	Samples     int  `toml:"samples" default:"5" range:"[0,1000]" help:"translations or continuations kept at each validation"`
}

var schema = keys.New[Config]("")

// Default returns the configuration that every key's default makes.
func Default() Config { return schema.Defaults() }

// Task is what a run's model does with text.
type Task string

// The tasks. Translation reads pairs of files, DIR/NAME.SOURCE and DIR/NAME.TARGET; a language model reads
// DIR/NAME.txt.
const (
	Translation   Task = "translation"
	LanguageModel Task = "language model"
)

func (t Task) network() string {
	if t == Translation {
		return "translator"
	}
	return string(t)
}

// Task is what the network learns, and empty where no task has a network of that kind.
func (c *Config) Task() Task {
	switch {
	case slices.Contains(translation.Kinds(), c.Model.Kind):
		return Translation
	case slices.Contains(language.Kinds(), c.Model.Kind):
		return LanguageModel
	}
	return ""
}

func kinds() string { return strings.Join(append(translation.Kinds(), language.Kinds()...), ", ") }

// Translation are the settings of a translator.
func (c *Config) Translation() translation.Settings {
	return translation.Settings{
		Text: c.Data.TextSettings, Lines: c.Data.LineSettings, Model: c.Model, Objective: c.Objective,
		Decode: c.Decode.Options, Seed: uint64(c.Train.Seed), SGD: c.Train.Optimizer == "sgd",
	}
}

// Language are the settings of a language model.
func (c *Config) Language() language.Settings {
	return language.Settings{
		Text: c.Data.VocabularySettings, Model: c.Model, Objective: c.Objective, Train: c.Train.TrainSettings,
		Seed: uint64(c.Train.Seed), SGD: c.Train.Optimizer == "sgd",
	}
}

// TOML is the configuration as text, with a comment for every key that its task reads: -config takes it, and it gives
// the same run.
func (c Config) TOML() string {
	const head = "# The resolved configuration of this run: go run ./runs/%s -config FILE -out FOLDER repeats it.\n"
	return fmt.Sprintf(head, c.Run) + schema.Print(&c, string(c.Task()))
}

// Kept are the keys that decide what the run finds, with their values, as its checkpoints keep them.
func (c Config) Kept() map[string]string { return schema.Kept(&c, string(c.Task())) }
