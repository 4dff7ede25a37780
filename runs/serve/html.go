package main

import (
	"errors"
	"strings"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/serve/internal/markup"
)

// errNoBeginning says that a document has no text whose translation a prefix could begin.
var errNoBeginning = errors.New("it has no text to translate, which prefix would begin: leave prefix out")

// translateHTML translates the texts of documents and puts their tags back.
func translateHTML(t task, translate func([]translation.Request) ([][]translation.Translation,
	error)) ([][]translation.Translation, error) {
	var requests []translation.Request
	documents, counts := make([]markup.Document, len(t.texts)), make([]int, len(t.texts))
	for i, document := range t.texts {
		documents[i] = markup.Parse(document, *t.markup)
		texts := documents[i].Texts()
		if counts[i] = len(texts); len(texts) == 0 && strings.TrimSpace(t.prefix) != "" {
			return nil, &translation.LineError{Line: i + 1, Err: errNoBeginning}
		}
		for k, text := range texts {
			r := translation.Request{Line: text.Line, KeepAt: text.Keep}
			if k == 0 {
				r.Prefix = t.prefix
			}
			requests = append(requests, r)
		}
	}
	found, err := translate(requests)
	var bad *translation.LineError
	if errors.As(err, &bad) { // it counts the texts of all documents
		document := 0
		for before := counts[0]; before < bad.Line; before += counts[document] {
			document++
		}
		return nil, &translation.LineError{Line: document + 1, Err: bad.Err}
	}
	if err != nil {
		return nil, err
	}
	out := make([][]translation.Translation, len(documents))
	for i, document := range documents {
		out[i] = documentTranslations(document, found[:counts[i]])
		found = found[counts[i]:]
	}
	return out, nil
}

// documentTranslations are those of a document, given those of its texts: the best of each, the second best of each,
// and so on.
func documentTranslations(document markup.Document, found [][]translation.Translation) (out []translation.Translation) {
	count := 1
	for _, list := range found {
		count = max(count, len(list))
	}
	for rank := range count {
		x := translation.Translation{}
		texts := make([]markup.Translation, len(found))
		for i, list := range found {
			one := list[min(rank, len(list)-1)]
			x.Score += one.Score
			texts[i].Text = one.Text
			if one.Details != nil {
				for _, word := range one.Details.Words {
					texts[i].Words = append(texts[i].Words, word.Source)
				}
			}
		}
		x.Text = document.Translated(texts)
		out = append(out, x)
	}
	return out
}
