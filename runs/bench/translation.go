package main

var translationRows = []row{
	{"transformer_step/multi30k", "tokens_per_s", func(b *bench) (*race, error) { return b.training(smallNetwork) }},
	{"transformer_step/base", "tokens_per_s", func(b *bench) (*race, error) { return b.training(baseNetwork) }},
	{"attentional_step", "tokens_per_s", func(b *bench) (*race, error) { return publishedAttentional.race(b, "mle", tokensOf) }},
	{"attentional_loop", "s", publishedLoop.race},
	{"softmax_memory/V=37000", "s", translatorLayer.race},
	spectrumRow,
	{"translate/beam5", "sentences_per_s", func(b *bench) (*race, error) { return b.translating(smallNetwork) }},
	{"translate/attentional", "sentences_per_s", smallAttentional.translating},
}
