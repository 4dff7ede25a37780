package prepare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
)

// multi30kLanguages are the languages of task 1.
var multi30kLanguages = []string{"en", "de", "fr", "cs"}

// multi30k is task 1 of Multi30k (Elliott et al. 2016): the raw files. Tokens are counted as in the corpus' tokenised
// files: lower case, normalised punctuation, the tokenizer of December 2017.
func multi30k() Corpus {
	return Corpus{
		Name: "multi30k", Title: "Multi30k, task 1",
		Settings: []Setting{{
			Name: "languages", Default: "en,de", Help: "two or more of " + strings.Join(multi30kLanguages, ","),
		}},
		tokens: "Moses tokens of 2017, in lower case and with normalised punctuation",
		jobs: func(settings map[string]string) (jobs []*job) {
			languages := strings.Split(settings["languages"], ",")
			for _, set := range []string{
				"train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr",
			} {
				var part []member
				for _, language := range languages {
					name := set + "." + language
					part = append(part, member{[]string{name}, []download{{
						name: name + ".gz", page: "data/task1/raw of github.com/multi30k/dataset",
						globs: []string{"dataset*", "multi30k*"},
						useless: func(path string) bool {
							return strings.Contains(path, "tok/") || strings.Contains(path, "task2/")
						},
					}}})
				}
				j := parallel(set, languages, verbatim, part)
				j.exact, j.types, j.split, j.published = true, true, multi30kTokens, multi30kPublished
				j.optional = strings.HasPrefix(set, "test") && set != "test_2016_flickr"
				jobs = append(jobs, j)
			}
			return jobs
		},
	}
}

// checkLanguages looks at the languages that a user gave.
func checkLanguages(settings map[string]string) error {
	given, found := settings["languages"]
	if !found {
		return nil
	}
	languages := strings.Split(given, ",")
	for i, language := range languages {
		known := slices.Contains(multi30kLanguages, language)
		if len(languages) < 2 || !known || slices.Contains(languages[:i], language) {
			return fmt.Errorf("-languages=%s: give two or more of %s, each once, with commas between them", given,
				strings.Join(multi30kLanguages, ","))
		}
	}
	return nil
}

// multi30kTokens splits as the corpus' tokenised files are.
func multi30kTokens(language string) (func(string) string, error) {
	moses, err := tokenize.NewMoses(tokenize.MosesOptions{Language: language, Version: tokenize.Moses2017})
	if err != nil {
		return nil, err
	}
	normalizer := tokenize.NewNormalizer(language, tokenize.Moses2017)
	return func(line string) string {
		return moses.Tokenize(normalizer.Normalize(tokenize.Lowercase(line)))
	}, nil
}

// multi30kPublished are lines and sums of the raw files, tokens and types of the tokenised ones. Czech, whose
// abbreviations Aperture lacks, and 2018, tokenised otherwise, are left out.
var multi30kPublished = map[string]*Published{
	"train.en": {29000, 377534, 10210, "460a15fbd157e34a", false},
	"train.de": {29000, 360706, 18722, "2c2b73fd2b548fbc", false},
	"train.fr": {29000, 409845, 11219, "5925a3c18f1587b6", false},
	"train.cs": {29000, 0, 0, "2be68b38c8d586ff", false},
	"val.en":   {1014, 13308, 1964, "1f2a23d992769b5b", false},
	"val.de":   {1014, 12828, 2303, "660e09eb7e1da2f8", false},
	"val.fr":   {1014, 14381, 2068, "5304e444d842e962", false},
	"val.cs":   {1014, 0, 0, "", false},

	"test_2016_flickr.en": {1000, 12968, 1898, "399a4382932c1aad", false},
	"test_2016_flickr.de": {1000, 12103, 2125, "4be6b5b3236b79c2", false},
	"test_2016_flickr.fr": {1000, 13988, 1987, "cb3160d69b002bb6", false},
	"test_2016_flickr.cs": {1000, 0, 0, "", false},
	"test_2017_flickr.en": {1000, 11376, 1790, "ce1450ddc5ab0834", false},
	"test_2017_flickr.de": {1000, 10758, 2153, "c3078bc3b36808bf", false},
	"test_2017_flickr.fr": {1000, 12596, 1880, "6f3764e31dac41e9", false},
	"test_2017_mscoco.en": {461, 5239, 953, "43051fdfa86fd539", false},
	"test_2017_mscoco.de": {461, 5158, 1152, "58277df3c75f92f7", false},
	"test_2017_mscoco.fr": {461, 5710, 1104, "39cde3f43f32b0a6", false},
	"test_2018_flickr.en": {1071, 0, 0, "4e585c2dd525911a", false},
	"test_2018_flickr.de": {1071, 0, 0, "39fcc8b3331d76fb", false},
	"test_2018_flickr.fr": {1071, 0, 0, "234b4a887da0da48", false},
	"test_2018_flickr.cs": {1071, 0, 0, "", false},
}
