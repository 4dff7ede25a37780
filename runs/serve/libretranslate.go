package main

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/serve/internal/markup"
	"github.com/aperture-ml/aperture/runs/serve/internal/request"
)

// maxAlternatives bounds the further translations of a text.
const maxAlternatives = 10

// detected is what LibreTranslate says of a text's language. This server detects none: where all its translators read
// one language, that is the answer, with the confidence 0.
type detected struct {
	Confidence float64 `json:"confidence"`
	Language   string  `json:"language"`
}

// libreTranslate is LibreTranslate's POST /translate.
func (a *app) libreTranslate(ctx context.Context, f request.Fields) (any, error) {
	var t task
	var one bool
	var err error
	if t.texts, one, err = f.Texts("q"); err != nil {
		return nil, err
	}
	var given [4]string
	for i, name := range []string{"source", "target", "format", "model"} {
		if given[i], err = f.Text(name); err != nil {
			return nil, err
		}
		if given[i] == "" && i < 2 {
			return nil, request.Invalid("Invalid request: missing %s parameter", name)
		}
	}
	source, target, format := given[0], given[1], given[2]
	switch format {
	case "html":
		t.markup = &markup.Options{}
	case "", "text":
	default:
		return nil, request.Invalid("%s format is not supported", format)
	}
	alternatives, err := f.Whole("alternatives", 0, 0, maxAlternatives)
	if err != nil {
		return nil, err
	}
	t.count = 1 + alternatives
	if err := t.options(f); err != nil {
		return nil, err
	}
	if t.model, err = a.find(source, target, given[3]); err != nil {
		return nil, err
	}
	all, err := a.translate(ctx, t)
	if err != nil {
		return nil, err
	}
	from, _ := t.model.pair()
	out := map[string]any{}
	put := func(name string, each func(list []translation.Translation) any) {
		if one {
			out[name] = each(all[0])
			return
		}
		values := []any{}
		for _, list := range all {
			values = append(values, each(list))
		}
		out[name] = values
	}
	put("translatedText", func(list []translation.Translation) any { return list[0].Text })
	if strings.EqualFold(source, "auto") {
		put("detectedLanguage", func([]translation.Translation) any { return detected{0, from} })
	}
	if alternatives > 0 {
		put("alternatives", func(list []translation.Translation) any { return others(list) })
	}
	if t.detailed() {
		put("details", func(list []translation.Translation) any {
			details := []detail{}
			for _, x := range list {
				details = append(details, t.detail(x))
			}
			return details
		})
	}
	return out, nil
}

// others are the texts behind the first, each once.
func others(list []translation.Translation) []string {
	texts := []string{}
	for _, x := range list[1:] {
		if x.Text != list[0].Text && !slices.Contains(texts, x.Text) {
			texts = append(texts, x.Text)
		}
	}
	return texts
}

// libreDetect is LibreTranslate's POST /detect, which answers several texts together.
func (a *app) libreDetect(_ context.Context, f request.Fields) (any, error) {
	texts, _, err := f.Texts("q")
	if err == nil {
		err = a.checkCount(texts)
	}
	if err != nil {
		return nil, err
	}
	answer := []detected{}
	for _, m := range a.translators() {
		source, _ := m.pair()
		if d := (detected{0, source}); !slices.Contains(answer, d) {
			answer = append(answer, d)
		}
	}
	return answer, nil
}

// langName is a language as LibreTranslate writes one.
type langName struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

func nameOf(code string) langName { return langName{code, exchange.LanguageName(code)} }

// languageOf is a language as LibreTranslate lists it.
type languageOf struct {
	langName
	Targets []string `json:"targets"`
}

// languages are the source languages with their targets, in the order of the models, and after them those that are
// translated into alone: clients such as Weblate offer a pair where the list has both of its languages.
func (a *app) languages() (list []languageOf) {
	list = []languageOf{}
	enter := func(code string) int {
		at := slices.IndexFunc(list, func(l languageOf) bool { return l.Code == code })
		if at < 0 {
			at, list = len(list), append(list, languageOf{nameOf(code), []string{}})
		}
		return at
	}
	for _, m := range a.translators() {
		source, target := m.pair()
		if at := enter(source); !slices.Contains(list[at].Targets, target) {
			list[at].Targets = append(list[at].Targets, target)
		}
	}
	for _, m := range a.translators() {
		_, target := m.pair()
		enter(target)
	}
	return list
}

func (a *app) libreLanguages(*http.Request) (any, error) { return a.languages(), nil }

// frontendSettings are LibreTranslate's, and what our own page wants to know.
func (a *app) frontendSettings(*http.Request) (any, error) {
	pair := map[string]any{}
	if all := a.translators(); len(all) > 0 {
		source, target := all[0].pair()
		pair["source"], pair["target"] = nameOf(source), nameOf(target)
	}
	models := []map[string]string{}
	for _, m := range a.models {
		one := map[string]string{"name": m.name, "kind": "language"}
		if m.translator != nil {
			source, target := m.pair()
			one = map[string]string{"name": m.name, "kind": "translation", "source": source, "sourceName": exchange.LanguageName(source),
				"target": target, "targetName": exchange.LanguageName(target)}
		}
		models = append(models, one)
	}
	return map[string]any{
		"charLimit": a.flags.MaxChars, "frontendTimeout": 500, "apiKeys": a.keys != nil, "keyRequired": a.keys != nil,
		"suggestions": false, "filesTranslation": false, "supportedFilesFormat": []string{}, "language": pair,
		"models": models,
	}, nil
}
