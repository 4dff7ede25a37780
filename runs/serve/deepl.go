package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/serve/internal/markup"
	"github.com/aperture-ml/aperture/runs/serve/internal/request"
)

// deeplCode is a code of DeepL's as ours: EN-GB and en are both en, where no translator has the region.
func (a *app) deeplCode(code string) string {
	for _, m := range a.translators() {
		if source, target := m.pair(); strings.EqualFold(code, source) || strings.EqualFold(code, target) {
			return code
		}
	}
	code, _, _ = strings.Cut(strings.ToLower(code), "-")
	return code
}

// deeplTranslate is DeepL's POST /v2/translate. Fields that only change how a text is to be understood or written
// (context, preserve_formatting, model_type) are taken and change nothing; a glossary, and a formality that must be
// kept, are refused.
func (a *app) deeplTranslate(ctx context.Context, f request.Fields) (any, error) {
	t := task{count: 1}
	var err error
	if t.texts, _, err = f.Texts("text"); err != nil {
		return nil, err
	}
	given := map[string]string{}
	for _, name := range []string{"source_lang", "target_lang", "split_sentences", "tag_handling", "formality",
		"glossary_id", "model"} {
		if x, plain := f[name].(interface{ String() string }); plain { // split_sentences may be a number
			given[name] = x.String()
		} else if given[name], err = f.Text(name); err != nil {
			return nil, err
		}
	}
	switch {
	case given["target_lang"] == "":
		return nil, request.Invalid("Parameter 'target_lang' not specified.")
	case given["glossary_id"] != "" || f.Given("glossary_ids"):
		return nil, request.Invalid("this server keeps no glossaries: send their terms in the field terms")
	case given["formality"] == "more" || given["formality"] == "less":
		return nil, request.Invalid("formality %s is not supported for this language", given["formality"])
	case !slices.Contains([]string{"", "default", "prefer_more", "prefer_less"}, given["formality"]):
		return nil, request.Invalid("Value for 'formality' not supported.")
	}
	tags, err := deeplTags(f)
	if err != nil {
		return nil, err
	}
	if err := t.options(f); err != nil {
		return nil, err
	}
	lines := true // line breaks end sentences
	switch given["split_sentences"] {
	case "", "default":
		lines = given["tag_handling"] != "html"
	case "1":
		t.split = translation.SplitAlways
	case "nonewlines":
		t.split, lines = translation.SplitAlways, false
	case "0":
		t.split, lines = translation.SplitNever, false
	default:
		return nil, request.Invalid("Value for 'split_sentences' not supported.")
	}
	switch given["tag_handling"] {
	case "":
	case "html", "xml":
		tags.XML, tags.Lines = given["tag_handling"] == "xml", lines
		t.markup = &tags
	default:
		return nil, request.Invalid("Value for 'tag_handling' not supported.")
	}
	if t.model, err = a.find(a.deeplCode(given["source_lang"]), a.deeplCode(given["target_lang"]), given["model"]); err != nil {
		return nil, err
	}
	lengths := make([]int, len(t.texts))
	for i, text := range t.texts {
		lengths[i] = utf8.RuneCountInString(text)
		if !lines && t.markup == nil {
			within := strings.TrimSpace(text) // around it line breaks are the text's own white space
			before, after, _ := strings.Cut(text, within)
			t.texts[i] = before + oneLine.Replace(within) + after
		}
	}
	all, err := a.translate(ctx, t)
	if err != nil {
		return nil, err
	}
	source, _ := t.model.pair()
	translations := []map[string]any{}
	for i, list := range all {
		x := map[string]any{"detected_source_language": strings.ToUpper(source), "text": list[0].Text,
			"billed_characters": lengths[i]}
		if t.detailed() {
			x["details"] = t.detail(list[0])
		}
		translations = append(translations, x)
	}
	return map[string]any{"translations": translations}, nil
}

// deeplTags reads the fields that say what tags mean.
func deeplTags(f request.Fields) (o markup.Options, err error) {
	for name, to := range map[string]*map[string]bool{"ignore_tags": &o.Ignored, "splitting_tags": &o.Splitting,
		"non_splitting_tags": &o.NonSplitting} {
		if *to, err = f.Names(name); err != nil {
			return o, err
		}
	}
	if f.Given("outline_detection") {
		outline, err := f.Flag("outline_detection")
		if err != nil {
			return o, err
		}
		o.NoOutline = !outline
	}
	return o, nil
}

var oneLine = strings.NewReplacer("\r\n", " ", "\n", " ")

// noLimit is what DeepL gives as the characters of those who may translate any number of them.
const noLimit = 1_000_000_000_000

// deeplUsage is DeepL's GET /v2/usage: the characters that were translated since the start, at any door.
func (a *app) deeplUsage(*http.Request) (any, error) {
	return map[string]int64{"character_count": a.metrics.chars.Load(), "character_limit": noLimit}, nil
}

// deeplGlossaries and deeplGlossaryPairs say that this server keeps no glossaries. Weblate asks before it translates.
func (a *app) deeplGlossaries(*http.Request) (any, error) {
	return map[string][]string{"glossaries": {}}, nil
}

func (a *app) deeplGlossaryPairs(*http.Request) (any, error) {
	return map[string][]string{"supported_languages": {}}, nil
}

// deeplLanguages is DeepL's GET /v2/languages. DeepL's own clients send the type in a form, as the body of a GET.
func (a *app) deeplLanguages(r *http.Request) (any, error) {
	kind := r.URL.Query().Get("type")
	if body, err := io.ReadAll(io.LimitReader(r.Body, 1<<10)); err == nil && kind == "" {
		form, _ := url.ParseQuery(string(body)) // what it cannot read is not there
		kind = form.Get("type")
	}
	type entry struct {
		Language          string `json:"language"`
		Name              string `json:"name"`
		SupportsFormality *bool  `json:"supports_formality,omitempty"`
	}
	no := false
	list := []entry{}
	for _, l := range a.languages() {
		if kind != "target" {
			if len(l.Targets) > 0 {
				list = append(list, entry{strings.ToUpper(l.Code), l.Name, nil})
			}
			continue
		}
		for _, target := range l.Targets {
			e := entry{strings.ToUpper(target), exchange.LanguageName(target), &no}
			if !slices.ContainsFunc(list, func(x entry) bool { return x.Language == e.Language }) {
				list = append(list, e)
			}
		}
	}
	return list, nil
}
