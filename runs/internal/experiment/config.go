package experiment

// Config is a whole experiment: with the same data, code and machine it gives the same results. Run and Preset say where
// it came from; every other key stands in a section.
//
// A field's tags are all there is to know about its key, and the only place that changes when a key is added: toml is its
// name, default its value where no preset says otherwise, range or choice what it may be, resume whether a resumed run may
// change it ("free": yes; "named": only by hand, not by another machine's default; "location": yes, from one path to
// another; otherwise no), task the only task that reads it, where there is one, and help its meaning and unit, which the
// written config.toml repeats as a comment. What one key demands of another is in validate.go.
type Config struct {
	Run    string `toml:"run" help:"the command under runs/ that this is a configuration of"`
	Preset string `toml:"preset" help:"the preset it started from"`

	Data       Data       `toml:"data"`
	Model      Model      `toml:"model"`
	Objective  Objective  `toml:"objective"`
	Train      Train      `toml:"train"`
	Schedule   Schedule   `toml:"schedule"`
	Decode     Decode     `toml:"decode"`
	Checkpoint Checkpoint `toml:"checkpoint"`
	Report     Report     `toml:"report"`
}

// Data says which text is read and how it becomes symbols. Paths are relative to the working directory when they are
// given and absolute once resolved.
type Data struct {
	Name string `toml:"name" help:"name of the corpus, as results.json shows it"`
	Dir  string `toml:"dir" resume:"location" help:"folder that holds the texts; empty for the built-in sample"`

	Sample     bool `toml:"sample" default:"false" help:"train on the built-in sample, a corpus generated from sample_seed, instead of files"`
	SampleSeed int  `toml:"sample_seed" default:"1" range:"[0,inf)" help:"seed of the built-in sample"`
	SampleSize int  `toml:"sample_size" default:"2000" range:"[10,10000000]" help:"lines of training text in the built-in sample"`

	Source string   `toml:"source" task:"translation" default:"en" help:"language translated from, the ending of its files"`
	Target string   `toml:"target" task:"translation" default:"de" help:"language translated into, the ending of its files"`
	Train  string   `toml:"train" default:"train" help:"name of the training text, without folder and ending"`
	Valid  string   `toml:"valid" default:"valid" help:"name of the validation text"`
	Test   []string `toml:"test" default:"[\"test\"]" resume:"free" help:"names of the test texts"`

	Lowercase  bool   `toml:"lowercase" task:"translation" default:"false" help:"lower-case all text; BLEU is then lower-cased as well"`
	Normalize  bool   `toml:"normalize" task:"translation" default:"false" help:"normalise punctuation before tokenising (Moses normalize-punctuation)"`
	Tokenize   string `toml:"tokenize" task:"translation" default:"current" choice:"none 2017 current" help:"edition of the Moses tokenizer; none leaves words as spaces part them"`
	Aggressive bool   `toml:"aggressive" task:"translation" default:"false" help:"split hyphens as well (Moses tokenizer -a)"`
	Escape     bool   `toml:"escape" task:"translation" default:"true" help:"escape characters special to Moses, such as & and |"`

	TargetUnits string `toml:"target_units" task:"translation" default:"bpe" choice:"bpe word" help:"what the model predicts: byte-pair pieces or whole words"`
	Merges      int    `toml:"merges" task:"translation" default:"10000" range:"[0,1000000]" help:"byte-pair merges to learn; 0 keeps whole words"`
	Joint       bool   `toml:"joint" task:"translation" default:"true" help:"one vocabulary and one list of merges for both languages"`
	JointCodes  bool   `toml:"joint_codes" task:"translation" default:"true" help:"one list of merges for both languages even where the vocabularies are apart"`
	Codes       string `toml:"codes" task:"translation" resume:"location" help:"file of byte-pair merges to use instead of learning them"`

	SourceVocabulary    string `toml:"source_vocabulary" task:"translation" resume:"location" help:"vocabulary file of the source language to use instead of counting"`
	TargetVocabulary    string `toml:"target_vocabulary" task:"translation" resume:"location" help:"vocabulary file of the target language to use instead of counting"`
	VocabularyThreshold int    `toml:"vocabulary_threshold" task:"translation" default:"0" range:"[0,inf)" help:"byte-pair pieces seen less often than this in their language are split again; 0 keeps all"`
	MinCount            int    `toml:"min_count" task:"translation" default:"1" range:"[1,inf)" help:"types seen less often than this become the unknown word"`

	VocabularyOrder string `toml:"vocabulary_order" task:"language model" default:"appearance" choice:"appearance frequency" help:"ids follow the words' first appearance in the texts, or their frequency in the training text, which adaptive softmax wants"`

	MaxLength int     `toml:"max_length" task:"translation" default:"0" range:"[0,inf)" help:"training pairs with more symbols than this on either side are dropped; 0 is no limit"`
	MaxRatio  float64 `toml:"max_ratio" task:"translation" default:"0.0" range:"[0,inf)" help:"training pairs whose longer side exceeds the shorter by this factor are dropped; 0 is no limit"`
}

// Model is the network up to its hidden states.
type Model struct {
	Kind          string `toml:"kind" default:"transformer" choice:"transformer awd-lstm qrnn transformer-xl" help:"the network: a translator (transformer) or a language model (the others)"`
	EncoderLayers int    `toml:"encoder_layers" task:"translation" default:"6" range:"[1,1000]" help:"layers of the encoder"`
	DecoderLayers int    `toml:"decoder_layers" task:"translation" default:"6" range:"[1,1000]" help:"layers of the decoder"`
	Width         int    `toml:"width" default:"512" range:"[1,65536]" help:"width of embeddings and hidden states (d_model)"`
	FFNWidth      int    `toml:"ffn_width" default:"2048" range:"[1,1048576]" help:"width of the feed-forward layers (d_ff)"`
	Heads         int    `toml:"heads" default:"8" range:"[1,1024]" help:"attention heads; they divide width"`

	Dropout           float64 `toml:"dropout" default:"0.1" range:"[0,1)" help:"dropout on embeddings and on what each sub-layer adds; locked dropout of the last layer's output in a recurrent language model"`
	AttentionDropout  float64 `toml:"attention_dropout" default:"0.0" range:"[0,1)" help:"dropout on attention weights"`
	ActivationDropout float64 `toml:"activation_dropout" task:"translation" default:"0.0" range:"[0,1)" help:"dropout after the feed-forward layers' ReLU"`

	Layers     int `toml:"layers" task:"language model" default:"3" range:"[1,1000]" help:"layers of the network"`
	Hidden     int `toml:"hidden" task:"language model" default:"1150" range:"[1,65536]" help:"units of each recurrent layer but the last"`
	LastHidden int `toml:"last_hidden" task:"language model" default:"0" range:"[0,65536]" help:"units of the last recurrent layer; 0 is width, which an output layer that reads them as they are wants"`

	Memory     int  `toml:"memory" task:"language model" default:"150" range:"[0,100000]" help:"transformer-xl: steps before a chunk that it sees"`
	Clamp      int  `toml:"clamp" task:"language model" default:"0" range:"[0,100000]" help:"transformer-xl: larger distances count as this one; 0 is no limit"`
	SameLength bool `toml:"same_length" task:"language model" default:"false" help:"transformer-xl: let every step see as many steps as memory says"`

	DropoutEmbedding float64 `toml:"dropout_embedding" task:"language model" default:"0.1" range:"[0,1)" help:"dropout of whole words on the input side"`
	DropoutInput     float64 `toml:"dropout_input" task:"language model" default:"0.4" range:"[0,1)" help:"locked dropout of word vectors"`
	DropoutHidden    float64 `toml:"dropout_hidden" task:"language model" default:"0.25" range:"[0,1)" help:"locked dropout between recurrent layers"`
	WeightDrop       float64 `toml:"weight_drop" task:"language model" default:"0.5" range:"[0,1)" help:"dropout of the recurrent weights' elements"`
	InputNoise       float64 `toml:"input_noise" default:"0.0" range:"[0,inf)" help:"standard deviation of Gaussian noise on word vectors at the start of training"`
	InputNoiseEnd    float64 `toml:"input_noise_end" default:"0.0" range:"[0,inf)" help:"the same at the end of training; in between it changes in equal steps, an epoch each"`

	PreNorm      bool   `toml:"pre_norm" task:"translation" default:"false" help:"normalise the input of each sub-layer instead of its output"`
	Positions    string `toml:"positions" task:"translation" default:"sinusoidal" choice:"sinusoidal learned" help:"position vectors"`
	MaxPositions int    `toml:"max_positions" task:"translation" default:"1024" range:"[2,1048576]" help:"longest sequence, in symbols with the end of sentence"`

	Tying          string `toml:"tying" default:"all" choice:"all decoder none" help:"which matrices are one: both inputs and the output, the decoder's input and the output, or none"`
	Initialisation string `toml:"initialisation" task:"translation" default:"fairseq" choice:"fairseq glorot" help:"how weights start: fairseq's mixture, or Glorot uniform throughout"`
}

// Objective is the output layer: the method, and the constants of all methods.
type Objective struct {
	Method         string  `toml:"method" default:"mle" help:"the method, or several joined by a plus; -method=help prints them"`
	LabelSmoothing float64 `toml:"label_smoothing" default:"0.1" range:"[0,1)" help:"probability taken from the target and shared among the others"`
	Smoothing      string  `toml:"smoothing" default:"fairseq" choice:"fairseq pytorch t2t" help:"whose definition of label smoothing; they share the mass differently"`
	Bias           bool    `toml:"bias" default:"false" help:"add a trained bias to the scores"`

	Vectors       string `toml:"vectors" resume:"location" help:"file of target vectors for methods that aim at vectors: .vec text, or .bin of word2vec; empty makes them from the training text"`
	VectorsWidth  int    `toml:"vectors_width" default:"300" range:"[1,65536]" help:"numbers of a vector that is made from the training text"`
	VectorsWindow int    `toml:"vectors_window" default:"2" range:"[1,1000]" help:"words to either side that a vector from the training text is made of"`

	VMFForm        string  `toml:"vmf_form" default:"both" choice:"nll reg1 reg2 both log1p" help:"vmf: the loss: plain, with either regularisation, with both, or that of the authors' code"`
	VMFLambda1     float64 `toml:"vmf_lambda1" default:"0.02" range:"[0,inf)" help:"vmf: weight of the output's length, in reg1 and both"`
	VMFLambda2     float64 `toml:"vmf_lambda2" default:"0.1" range:"[0,inf)" help:"vmf: factor on the product with the target, in reg2 and both"`
	VMFLambdaLog1p float64 `toml:"vmf_lambda_log1p" default:"0.2" range:"[0,inf)" help:"vmf: the cosine that log1p is content with"`
	MapNorm        bool    `toml:"map_norm" default:"true" help:"vmf, powerspherical: layer normalisation behind the map to the vectors' space"`
	L2Form         string  `toml:"l2_form" default:"squared" choice:"squared rooted" help:"l2: the squared distance, as the authors' code, or the distance, as their text"`
	Margin         float64 `toml:"margin" default:"0.5" range:"[0,inf)" help:"maxmargin: by how much the target's cosine should exceed the wrong word's"`

	Gamma float64 `toml:"gamma" default:"1.0" range:"[0,inf)" help:"cosreg: weight of the mean cosine"`

	Alpha                float64 `toml:"alpha" default:"0.005" range:"[0,inf)" help:"adversarial: radius of the perturbation relative to the target's norm"`
	AdversarialMode      string  `toml:"adversarial_mode" default:"code" choice:"code paper full" help:"adversarial: what is differentiated, as the authors' code, their text, or everything"`
	AdversarialRadius    string  `toml:"adversarial_radius" default:"adaptive" choice:"adaptive fixed" help:"adversarial: whether alpha is relative to the target's norm, or the radius itself"`
	AdversarialGate      bool    `toml:"adversarial_gate" default:"false" help:"adversarial: leave positions alone whose hidden state points away from the target"`
	AdversarialSmoothing bool    `toml:"adversarial_smoothing" default:"false" help:"adversarial: let the mass that label smoothing shares out see the perturbation; else it sees clean scores"`

	MixtureComponents int     `toml:"mixture_components" default:"15" range:"[1,1000]" help:"mos: softmaxes in the mixture"`
	MixtureDropout    float64 `toml:"mixture_dropout" default:"0.29" range:"[0,1)" help:"mos: dropout of latent states, one mask for each column of a batch and softmax"`

	AdaptiveCutoffs string  `toml:"adaptive_cutoffs" help:"adaptive: ranks where clusters of rarer words begin, parted by commas; none is one softmax, empty chooses three"`
	AdaptiveDivisor float64 `toml:"adaptive_divisor" default:"1.0" range:"[1,1000]" help:"adaptive: each cluster is narrower than the one before by this factor; 1 shares the output matrix"`

	LambdaU         float64 `toml:"lambda_u" default:"1.0" range:"[0,inf)" help:"spectrum: weight of the Frobenius penalty that keeps U orthonormal"`
	LambdaV         float64 `toml:"lambda_v" default:"1.0" range:"[0,inf)" help:"spectrum: weight of the Frobenius penalty that keeps V orthonormal"`
	LambdaUSpectral float64 `toml:"lambda_u_spectral" default:"0.0" range:"[0,inf)" help:"spectrum: weight of the spectral-norm penalty that keeps U orthonormal"`
	LambdaVSpectral float64 `toml:"lambda_v_spectral" default:"0.0" range:"[0,inf)" help:"spectrum: weight of the spectral-norm penalty that keeps V orthonormal"`

	Prior        string  `toml:"prior" default:"exponential" choice:"exponential polynomial none" help:"spectrum: how the singular values should fall with their rank k"`
	LambdaPrior  float64 `toml:"lambda_prior" default:"1.0" range:"[0,inf)" help:"spectrum: weight of the squared distance to the prior"`
	PriorScale   float64 `toml:"prior_scale" default:"0.0" range:"[0,inf)" help:"spectrum: c1, the prior's scale; 0 goes by prior_norm"`
	PriorNorm    float64 `toml:"prior_norm" default:"1.0" range:"(0,inf)" help:"spectrum: the prior's Frobenius norm, over that of a dense matrix at its start, where prior_scale is 0"`
	PriorRate    float64 `toml:"prior_rate" default:"0.0" range:"[0,inf)" help:"spectrum: c2, the exponential prior's rate; 0 derives it from prior_ratio"`
	PriorPower   float64 `toml:"prior_power" default:"0.75" range:"(0,10]" help:"spectrum: the power of k in the prior"`
	PriorRatio   float64 `toml:"prior_ratio" default:"0.5" range:"(0,1]" help:"spectrum: smallest over largest singular value of the exponential prior, where prior_rate is 0"`
	SpectrumInit string  `toml:"spectrum_init" default:"prior" choice:"svd prior flat" help:"spectrum: singular values at the start, those of a dense matrix, the prior's, or all 1"`

	SpectrumHold   string  `toml:"spectrum_hold" default:"penalty" choice:"penalty proximal retraction group" help:"spectrum: penalties alone, s by proximal steps (with sgd U and V too), s so and U and V by retractions, or penalties with U, s and V clipped apart"`
	RetractEvery   int     `toml:"retract_every" default:"1" range:"[1,inf)" help:"spectrum: updates between retractions of U and V, or their proximal steps"`
	LambdaDOptimal float64 `toml:"lambda_d_optimal" default:"0.1" range:"[0,inf)" help:"sn-doptimal: weight of minus the mean logarithm of the singular values"`
	SNGain         bool    `toml:"sn_gain" default:"false" help:"sn: multiply the output matrix, whose largest singular value is 1, by a trained number"`
}

// Train is the optimisation. Updates are optimizer steps: an update may span several accumulated batches.
type Train struct {
	Seed   int `toml:"seed" default:"1" range:"[0,inf)" help:"seed of all random streams"`
	Steps  int `toml:"steps" default:"100000" range:"[0,inf)" resume:"free" help:"updates to train for; 0 is no limit. With epochs, whichever ends first"`
	Epochs int `toml:"epochs" default:"0" range:"[0,inf)" resume:"free" help:"passes over the data to train for; 0 is no limit"`

	MaxTokens    int    `toml:"max_tokens" task:"translation" default:"4096" range:"[1,inf)" help:"size of a batch: sentences times the longest of them, in symbols"`
	MaxSentences int    `toml:"max_sentences" task:"translation" default:"0" range:"[0,inf)" help:"most sentences in a batch; 0 is no limit"`
	Accumulate   int    `toml:"accumulate" default:"1" range:"[1,100000]" help:"batches whose gradients make one update"`
	Normalise    string `toml:"normalise" task:"translation" default:"tokens" choice:"tokens sentences" help:"what an update's summed loss is divided by"`

	Columns        int  `toml:"columns" task:"language model" default:"20" range:"[1,100000]" help:"columns that the training text is cut into, the size of a batch; accumulate cuts them into as many batches"`
	BPTT           int  `toml:"bptt" task:"language model" default:"70" range:"[1,100000]" help:"time steps of an update, which gradients go back through"`
	BPTTRandom     bool `toml:"bptt_random" task:"language model" default:"true" help:"draw the length of each update round bptt, or round half of it in one case of twenty, and scale the learning rate with it"`
	BPTTLongest    int  `toml:"bptt_longest" task:"language model" default:"0" range:"[0,100000]" help:"longest drawn length; 0 is no limit"`
	PartialShuffle bool `toml:"partial_shuffle" task:"language model" default:"false" help:"begin each column at another of its places in every epoch"`
	ValidColumns   int  `toml:"valid_columns" task:"language model" default:"10" range:"[1,100000]" help:"columns that the validation text is cut into; what does not fill a row is left out"`
	TestColumns    int  `toml:"test_columns" task:"language model" default:"1" range:"[1,100000]" resume:"free" help:"the same for the test texts: 1 leaves out nothing, more is quicker"`

	AR  float64 `toml:"ar" task:"language model" default:"0.0" range:"[0,inf)" help:"weight of the mean square of the last layer's dropped output, activation regularisation"`
	TAR float64 `toml:"tar" task:"language model" default:"0.0" range:"[0,inf)" help:"weight of the mean square of the changes of its output over time, temporal activation regularisation"`

	ASGD         string `toml:"asgd" task:"language model" default:"none" choice:"none trigger epoch finetune" help:"sgd: when to begin averaging, with the rate at its start: never, once validation has not improved for asgd_patience epochs, after asgd_epoch epochs, or at once, ending when validation has not improved"`
	ASGDPatience int    `toml:"asgd_patience" task:"language model" default:"5" range:"[1,100000]" help:"validations that trigger and finetune look back over"`
	ASGDEpoch    int    `toml:"asgd_epoch" task:"language model" default:"0" range:"[0,inf)" help:"epochs before averaging begins, where asgd is epoch"`
	ASGDLag      bool   `toml:"asgd_lag" task:"language model" default:"true" help:"scale a step of averaged gradient descent by the length of the update before, as PyTorch's optimizer does"`

	LearningRate     float64 `toml:"learning_rate" default:"0.0005" range:"(0,inf)" help:"learning rate, at the schedule's peak; the noam schedule computes its own"`
	Optimizer        string  `toml:"optimizer" default:"adam" choice:"adam adamw sgd" help:"optimizer"`
	Beta1            float64 `toml:"beta1" default:"0.9" range:"[0,1)" help:"adam: decay of the gradients' mean"`
	Beta2            float64 `toml:"beta2" default:"0.98" range:"[0,1)" help:"adam: decay of the squared gradients' mean"`
	Epsilon          float64 `toml:"epsilon" default:"1e-8" range:"(0,1]" help:"adam: term that keeps the denominator from zero"`
	EpsilonPlacement string  `toml:"epsilon_placement" default:"pytorch" choice:"pytorch fairseq" help:"adam: add epsilon after or before the bias correction"`
	WeightDecay      float64 `toml:"weight_decay" default:"0.0" range:"[0,inf)" help:"weight decay: part of the gradient with sgd and adam, apart from it with adamw"`
	ClipNorm         float64 `toml:"clip_norm" default:"0.0" range:"[0,inf)" help:"largest norm of an update's gradient; 0 does not clip"`

	Precision   string  `toml:"precision" default:"float32" choice:"float32 bfloat16" help:"arithmetic of matrix products"`
	EMADecay    float64 `toml:"ema_decay" default:"0.0" range:"[0,1)" help:"decay of an exponential moving average of the weights; 0 keeps none"`
	AverageLast int     `toml:"average_last" default:"0" range:"[0,1000]" help:"at the end average the weights of this many last checkpoints; 0 does not"`

	ValidateEvery int    `toml:"validate_every" default:"0" range:"[0,inf)" help:"updates between validations; 0 validates after each epoch"`
	Patience      int    `toml:"patience" default:"0" range:"[0,inf)" resume:"free" help:"stop after this many validations without a better score; 0 never does"`
	PatienceOn    string `toml:"patience_on" task:"translation" default:"loss" choice:"loss bleu" help:"the validation score that chooses the best checkpoint and is waited for"`

	Device   string `toml:"device" default:"auto" resume:"named" help:"where to compute: cpu, cuda, cuda:N, or auto (a GPU where there is one)"`
	Threads  int    `toml:"threads" default:"0" range:"[0,4096]" resume:"named" help:"CPU threads; 0 is as many as this process may use"`
	Init     string `toml:"init" help:"run folder whose weights to start from"`
	LogEvery int    `toml:"log_every" default:"100" range:"[1,inf)" resume:"free" help:"updates between lines of the log and of metrics.jsonl"`
}

// Schedule is the learning rate's course.
type Schedule struct {
	Kind       string  `toml:"kind" default:"inverse_sqrt" choice:"inverse_sqrt noam cosine constant step" help:"shape after the warm-up"`
	Warmup     int     `toml:"warmup" default:"4000" range:"[0,inf)" help:"updates over which the rate rises to its peak"`
	WarmupInit float64 `toml:"warmup_init" default:"0.0" range:"[0,inf)" help:"rate at the start of the warm-up"`
	Factor     float64 `toml:"factor" default:"1.0" range:"(0,inf)" help:"noam: factor before width^-0.5"`
	Minimum    float64 `toml:"minimum" default:"0.0" range:"[0,inf)" help:"the rate never falls below this after the warm-up"`
	Period     int     `toml:"period" default:"0" range:"[0,inf)" help:"cosine, step: updates from the start to the minimum; for cosine 0 takes those of train.epochs, or else train.steps"`

	PlateauDecay    float64 `toml:"plateau_decay" default:"1.0" range:"(0,1]" help:"factor on the rate when validation stalls; 1 keeps it"`
	PlateauPatience int     `toml:"plateau_patience" default:"1" range:"[1,inf)" help:"validations without a better score before plateau_decay acts"`
}

// Decode is how text is produced from a trained model.
type Decode struct {
	Beam           int     `toml:"beam" task:"translation" default:"5" range:"[1,1000]" resume:"free" help:"beam width for the test texts; 1 is greedy"`
	LengthPenalty  string  `toml:"length_penalty" task:"translation" default:"fairseq" choice:"fairseq gnmt" resume:"free" help:"divide scores by length^lenpen, or by ((5+length)/6)^lenpen"`
	LenPen         float64 `toml:"lenpen" task:"translation" default:"1.0" range:"[-10,10]" resume:"free" help:"exponent of the length penalty; 0 is none"`
	MaxLengthA     float64 `toml:"max_length_a" task:"translation" default:"0.0" range:"[0,1000]" resume:"free" help:"longest output is max_length_a times the input's length plus max_length_b, in symbols"`
	MaxLengthB     int     `toml:"max_length_b" task:"translation" default:"200" range:"[0,1000000]" resume:"free" help:"see max_length_a"`
	MinLength      int     `toml:"min_length" task:"translation" default:"1" range:"[0,1000000]" resume:"free" help:"shortest output, in symbols without the end of sentence"`
	NoRepeatNgram  int     `toml:"no_repeat_ngram" task:"translation" default:"0" range:"[0,1000]" resume:"free" help:"n-grams of this size occur once in an output; 0 allows all"`
	BatchSentences int     `toml:"batch_sentences" task:"translation" default:"64" range:"[1,100000]" resume:"free" help:"sentences decoded at a time"`
	ValidationBeam int     `toml:"validation_beam" task:"translation" default:"1" range:"[0,1000]" resume:"free" help:"beam width for BLEU in validation; 0 measures no BLEU there"`
	ReplaceUnk     bool    `toml:"replace_unk" task:"translation" default:"false" resume:"free" help:"put the source word with most attention in place of the unknown word"`
}

// Checkpoint is what is saved while training.
type Checkpoint struct {
	Every int `toml:"every" default:"0" range:"[0,inf)" resume:"free" help:"updates between checkpoints; 0 saves at each validation"`
	Keep  int `toml:"keep" default:"5" range:"[1,100000]" resume:"free" help:"newest checkpoints to keep, or train.average_last where that is more; the best one is kept besides"`
}

// Report is what is measured and drawn beside the log.
type Report struct {
	Every       int  `toml:"every" default:"0" range:"[0,inf)" resume:"free" help:"updates between measures of the output matrix; 0 takes them at each validation"`
	Plots       bool `toml:"plots" default:"true" resume:"free" help:"draw plots and report.html"`
	TensorBoard bool `toml:"tensorboard" default:"true" resume:"free" help:"write an event file for TensorBoard"`
	Samples     int  `toml:"samples" default:"5" range:"[0,1000]" resume:"free" help:"translations or continuations kept at each validation"`
}
