package main

var translationRows = append(eagerAndCompiled(
	step{"transformer_step/multi30k", func(b *bench, compiled bool) (*race, error) { return b.training(smallNetwork, compiled) }},
	step{"transformer_step/base", func(b *bench, compiled bool) (*race, error) { return b.training(baseNetwork, compiled) }},
),
	row{"attentional_step", "tokens_per_s", func(b *bench) (*race, error) { return publishedAttentional.race(b, "mle", tokensOf) }},
	row{"attentional_loop", "s", publishedLoop.race},
	row{"softmax_memory/V=37000", "s", translatorLayer.race},
	methodRow("spectrum"),
	row{"translate/beam5", "sentences_per_s", func(b *bench) (*race, error) { return b.translating(smallNetwork, plainSearch) }},
	row{"translate/ctranslate2", "sentences_per_s", func(b *bench) (*race, error) { return b.translating(smallNetwork, ctranslate2) }},
	row{"translate/ctranslate2/base", "sentences_per_s", func(b *bench) (*race, error) { return b.translating(baseNetwork, ctranslate2.inQuarters()) }},
	row{"translate/ctranslate2/int8", "sentences_per_s", func(b *bench) (*race, error) { return b.translating(smallNetwork, ctranslate2Int8) }},
	row{"translate/ctranslate2/int8-base", "sentences_per_s", func(b *bench) (*race, error) { return b.translating(baseNetwork, ctranslate2Int8.inQuarters()) }},
	row{"translate/attentional", "sentences_per_s", smallAttentional.translating},
)
