package experiment

// stated are the settings that the papers and their authors' programs state for a row, by preset, with -method. Where
// the two disagree it is the one that the preset's header says. Rows in one string share the settings. TestReproduce
// compares them.
var stated = []struct{ rows, settings string }{
	// AWD-LSTM (Merity, Keskar and Socher 2018; the settings of its repository since October 2017).
	{"ptb/awd-lstm:mle ptb/awd-lstm-finetune:mle wikitext2/awd-lstm:mle wikitext2/awd-lstm:cosreg " +
		"wikitext2/awd-lstm:spectrum wikitext2/awd-lstm:spectrum-poly wikitext2/awd-lstm:sn " +
		"wikitext2/awd-lstm:sn-doptimal wikitext2/awd-lstm-finetune:mle wikitext2/awd-lstm-finetune:cosreg " +
		"wikitext2/awd-lstm-finetune:spectrum",
		`model.kind=awd-lstm model.layers=3 model.width=400 model.hidden=1150 model.dropout=0.4 model.dropout_embedding=0.1 model.weight_drop=0.5 model.tying=all model.input_noise=0
		train.optimizer=sgd train.learning_rate=30 train.clip_norm=0.25 train.weight_decay=1.2e-6 train.ar=2 train.tar=1 train.bptt=70 train.bptt_random=true schedule.kind=constant
		objective.label_smoothing=0 objective.bias=true`},
	{"ptb/awd-lstm:mle ptb/awd-lstm-finetune:mle",
		`model.dropout_input=0.4 model.dropout_hidden=0.25 train.columns=20 train.epochs=500`},
	{"wikitext2/awd-lstm:mle wikitext2/awd-lstm:cosreg wikitext2/awd-lstm:spectrum wikitext2/awd-lstm-finetune:cosreg",
		`model.dropout_input=0.65 model.dropout_hidden=0.2 train.columns=80 train.epochs=750`},
	{"ptb/awd-lstm:mle wikitext2/awd-lstm:cosreg", `train.asgd=trigger train.asgd_patience=5`},
	{"ptb/awd-lstm-finetune:mle wikitext2/awd-lstm-finetune:cosreg", `train.asgd=finetune train.bptt_longest=80`},
	{"ptb/qrnn:mle", `model.kind=qrnn model.layers=4 model.hidden=1550 model.dropout_input=0.4 model.dropout_hidden=0.3 model.weight_drop=0.1 train.columns=20 train.clip_norm=0.2 train.epochs=550`},
	{"wikitext2/qrnn:mle", `model.kind=qrnn model.layers=4 model.hidden=1550 model.dropout_input=0.4 model.dropout_hidden=0.2 model.weight_drop=0.1 train.columns=40 train.clip_norm=0.25 train.epochs=500`},

	// Gao et al. (2019): the weight of both tasks.
	{"wikitext2/awd-lstm:cosreg wikitext2/awd-lstm-finetune:cosreg wmt14/papers:cosreg wmt14/papers-big:cosreg " +
		"wmt14/papers-de-en:cosreg", `objective.gamma=1`},

	// Wang, Gong and Liu (2019), section 5.1: alpha, and noise that falls to 0. Their program, and its README, have the
	// rest.
	{"ptb/awd-noise:adversarial ptb/mos-noise:mos+adversarial ptb/mos-shuffle-noise:mos+adversarial " +
		"wikitext2/awd-noise:adversarial wikitext2/mos-noise:mos+adversarial " +
		"wikitext2/mos-shuffle-noise:mos+adversarial wikitext103/qrnn-noise:adaptive+adversarial " +
		"wmt14/papers-noise:adversarial wmt14/papers-big-noise:adversarial iwslt14/base-noise:adversarial " +
		"iwslt14/small-noise:adversarial",
		`objective.alpha=0.005 objective.adversarial_mode=code model.input_noise_end=0`},
	{"ptb/awd-noise:adversarial", `model.dropout_input=0.3 model.dropout_hidden=0.25 model.input_noise=0.2 train.columns=20 train.epochs=4000 train.asgd=epoch train.asgd_epoch=200`},
	{"wikitext2/awd-noise:adversarial", `model.dropout_input=0.5 model.dropout_hidden=0.2 model.input_noise=0.175 train.columns=80 train.epochs=4000 train.asgd=epoch train.asgd_epoch=200`},
	{"ptb/mos-noise:mos+adversarial wikitext2/mos-noise:mos+adversarial",
		`model.input_noise=0.15 train.asgd=epoch train.asgd_epoch=200 train.partial_shuffle=false`},
	{"ptb/mos-shuffle-noise:mos+adversarial wikitext2/mos-shuffle-noise:mos+adversarial",
		`model.input_noise=0.15 train.partial_shuffle=true`},
	{"ptb/mos-shuffle:mos wikitext2/mos-shuffle:mos", `model.input_noise=0 train.partial_shuffle=true`},
	{"wikitext103/qrnn-noise:adaptive+adversarial wmt14/papers-noise:adversarial wmt14/papers-big-noise:adversarial " +
		"iwslt14/base-noise:adversarial iwslt14/small-noise:adversarial", `model.input_noise=0.2`},
	{"wikitext103/qrnn:adaptive wmt14/papers:mle wmt14/papers-big:mle iwslt14/base:mle iwslt14/small:mle",
		`model.input_noise=0`},
	{"iwslt14/small:mle iwslt14/small-noise:adversarial",
		`model.encoder_layers=4 model.decoder_layers=4 model.width=256 model.ffn_width=1024 model.heads=4`},
	{"iwslt14/base:mle iwslt14/base-noise:adversarial",
		`model.encoder_layers=6 model.decoder_layers=6 model.width=512 model.ffn_width=2048 model.heads=8 model.dropout=0.4 train.max_tokens=6400`},
	{"iwslt14/small:mle iwslt14/small-noise:adversarial iwslt14/base:mle iwslt14/base-noise:adversarial",
		`data.lowercase=true data.merges=33000 data.joint=true model.tying=all train.optimizer=adam train.weight_decay=0 train.beta2=0.98 train.epsilon=1e-9 train.epsilon_placement=pytorch schedule.kind=noam schedule.factor=1 schedule.warmup=4000`},

	// Mixtures (Yang et al. 2018, their program).
	{"ptb/mos:mos ptb/mos-finetune:mos ptb/mos-shuffle:mos ptb/mos-noise:mos+adversarial", `model.width=280 model.hidden=960 model.last_hidden=620 objective.mixture_components=15 objective.mixture_dropout=0.29
		model.dropout=0.4 model.dropout_input=0.4 model.dropout_hidden=0.225 model.dropout_embedding=0.1 model.weight_drop=0.5 train.columns=12 train.bptt_longest=110 train.epochs=1000`},
	{"wikitext2/mos:mos wikitext2/mos-finetune:mos wikitext2/mos-shuffle:mos wikitext2/mos-noise:mos+adversarial", `model.width=300 model.hidden=1150 model.last_hidden=650 objective.mixture_components=15 objective.mixture_dropout=0.29
		model.dropout=0.4 model.dropout_input=0.55 model.dropout_hidden=0.2 model.dropout_embedding=0.1 model.weight_drop=0.5 train.columns=15 train.bptt_longest=90 train.epochs=1000`},
	{"ptb/mos:mos", `train.learning_rate=20`},
	{"ptb/mos-finetune:mos", `train.learning_rate=25`},
	{"wikitext2/mos:mos", `train.learning_rate=15`},
	{"wikitext2/mos-finetune:mos", `train.learning_rate=20`},

	// WikiText-103: QRNN (AWD-LSTM's repository) and Transformer-XL (Dai et al. 2019; four layers in L. Wang et al. 2020).
	{"wikitext103/qrnn:adaptive wikitext103/qrnn-noise:adaptive+adversarial", `model.kind=qrnn model.layers=4 model.hidden=2500 model.width=400 model.dropout=0.1 model.dropout_input=0.1 model.dropout_hidden=0.1 model.dropout_embedding=0 model.weight_drop=0
		train.optimizer=adam train.learning_rate=0.001 train.weight_decay=0 train.clip_norm=0.25 train.columns=60 train.bptt=140 train.epochs=14 train.ar=0 train.tar=0 train.asgd=none schedule.kind=step schedule.minimum=0.0001
		objective.adaptive_cutoffs=2800,20000,76000 objective.adaptive_divisor=1`},
	{"wikitext103/xl-4:adaptive wikitext103/xl-4:adaptive+spectrum-poly wikitext103/xl-16:adaptive " +
		"wikitext103/xl-16:adaptive+spectrum-poly wikitext103/xl-16:adaptive+spectrum",
		`model.kind=transformer-xl model.width=410 model.heads=10 model.ffn_width=2100 model.dropout=0.1 model.attention_dropout=0 model.memory=150 train.bptt=150 train.columns=60 train.steps=200000
		train.optimizer=adam train.learning_rate=0.00025 train.beta2=0.999 train.epsilon=1e-8 train.weight_decay=0 train.clip_norm=0.25 schedule.kind=cosine schedule.warmup=0 objective.adaptive_divisor=1`},
	{"wikitext103/xl-4:adaptive", `model.layers=4`},
	{"wikitext103/xl-16:adaptive", `model.layers=16`},

	// Transformers on WMT14 (Vaswani et al. 2017; text of Gao et al. and of Wang, Gong and Liu) and with fairseq (L. Wang
	// et al. 2020).
	{"wmt14/papers:mle wmt14/papers:cosreg wmt14/papers-noise:adversarial wmt14/papers-de-en:mle " +
		"wmt14/papers-de-en:cosreg",
		`model.width=512 model.ffn_width=2048 model.heads=8 model.dropout=0.1 train.steps=100000 train.average_last=5`},
	{"wmt14/papers-big:mle wmt14/papers-big:cosreg wmt14/papers-big-noise:adversarial",
		`model.width=1024 model.ffn_width=4096 model.heads=16 model.dropout=0.3 train.steps=300000 train.average_last=20`},
	{"wmt14/papers:mle wmt14/papers:cosreg wmt14/papers-noise:adversarial wmt14/papers-big:cosreg " +
		"wmt14/papers-big-noise:adversarial wmt14/papers-de-en:cosreg",
		`model.encoder_layers=6 model.decoder_layers=6 model.tying=all data.merges=37000 data.lowercase=false objective.label_smoothing=0.1 train.optimizer=adam train.beta2=0.98 train.epsilon=1e-9 train.weight_decay=0 schedule.warmup=4000 decode.beam=4 decode.lenpen=0.6 decode.max_length_a=1 decode.max_length_b=50`},
	{"wmt14/papers-de-en:mle wmt14/papers-de-en:cosreg", `data.source=de data.target=en`},
	{"wmt14/base:mle wmt14/base:spectrum wmt14/base:spectrum-poly",
		`model.encoder_layers=6 model.decoder_layers=6 model.width=512 model.ffn_width=2048 model.heads=8 model.dropout=0.1 model.tying=all train.epsilon_placement=fairseq decode.beam=4 decode.lenpen=0.6`},
	{"wmt14/big:mle wmt14/big:spectrum-poly",
		`model.width=1024 model.ffn_width=4096 model.heads=16 model.dropout=0.3 train.learning_rate=0.0005 train.average_last=10 schedule.warmup=4000 schedule.warmup_init=1e-7`},
	{"iwslt14/small-ff:mle iwslt14/small-ff:spectrum iwslt14/small-ff:spectrum-poly", `model.encoder_layers=6 model.decoder_layers=6 model.width=512 model.ffn_width=1024 model.heads=4 model.dropout=0.3 model.tying=decoder model.input_noise=0
		data.merges=10000 data.lowercase=true train.optimizer=adamw train.learning_rate=0.0005 train.weight_decay=0.0001 train.max_tokens=4096 schedule.kind=inverse_sqrt schedule.warmup=4000 objective.label_smoothing=0.1 train.patience_on=bleu decode.beam=5 decode.lenpen=1`},
	{"wikitext2/awd-lstm:spectrum wmt14/base:spectrum iwslt14/small-ff:spectrum wikitext103/xl-16:adaptive+spectrum",
		`objective.prior=exponential`},

	// Kumar and Tsvetkov (2019): table 7, sections 3 and 4.2, and their program where the paper is silent.
	{"iwslt16/word:mle iwslt16/word-bpe:mle iwslt16/bpe:mle wmt16/word:mle wmt16/bpe:mle",
		`train.learning_rate=0.0002 model.dropout=0.2`},
	{"iwslt16/continuous:vmf iwslt16/continuous:l2 iwslt16/continuous:cosine iwslt16/continuous:maxmargin " +
		"iwslt16/continuous-tied:vmf iwslt16/continuous-tied:maxmargin wmt16/continuous:vmf wmt16/continuous:maxmargin",
		`train.learning_rate=0.0005 model.dropout=0 objective.map_norm=false data.target_units=word`},
	{"iwslt16/continuous:vmf iwslt16/continuous-tied:vmf wmt16/continuous:vmf",
		`objective.vmf_form=both objective.vmf_lambda1=0.02 objective.vmf_lambda2=0.1`},
	{"iwslt16/continuous:l2", `objective.l2_form=rooted`},
	{"iwslt16/continuous:maxmargin iwslt16/continuous-tied:maxmargin wmt16/continuous:maxmargin",
		`objective.margin=0.5`},
	{"iwslt16/word:mle iwslt16/word-bpe:mle iwslt16/bpe:mle iwslt16/continuous:vmf iwslt16/continuous:l2 " +
		"iwslt16/continuous-tied:vmf wmt16/word:mle wmt16/bpe:mle wmt16/continuous:vmf",
		`model.kind=attentional model.encoder_layers=1 model.decoder_layers=2 model.width=1024 model.word_width=512 train.optimizer=adam train.beta2=0.999 train.max_sentences=64 train.normalise=sentences train.clip_norm=5 train.epochs=15
		schedule.kind=constant data.max_length=100 data.aggressive=true data.escape=false data.truecase=true decode.beam=1`},
	{"iwslt16/word:mle iwslt16/continuous:vmf iwslt16/continuous:l2 iwslt16/continuous-tied:vmf",
		`data.source_units=word data.target_units=word data.source_size=50000 data.target_size=50000`},
	{"iwslt16/word-bpe:mle", `data.source_units=word data.target_units=bpe`},
	{"iwslt16/bpe:mle", `data.source_units=bpe data.target_units=bpe`},
	{"iwslt16/word:mle iwslt16/continuous:vmf", `model.tying=none`},
	{"iwslt16/continuous-tied:vmf wmt16/continuous:vmf", `model.tying=decoder`},
	{"wmt16/continuous:vmf", `data.merges=100000 data.target_size=300000 data.valid=newstest2015 data.test=newstest2016`},

	// Revisit-MMT.
	{"multi30k/tiny:mle", `model.encoder_layers=4 model.decoder_layers=4 model.width=128 model.ffn_width=256 model.heads=4 model.dropout=0.3 model.tying=all train.learning_rate=0.005 schedule.warmup=2000 train.max_tokens=4096 train.accumulate=2 train.steps=8000 train.patience=10 train.average_last=10 decode.beam=5`},
}
