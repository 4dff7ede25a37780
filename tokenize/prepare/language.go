package prepare

import "strings"

// ptb is the Penn Treebank as Mikolov prepared it: its three files, as they are.
func ptb() Corpus {
	from := []download{{
		name: "simple-examples.tgz", page: "Mikolov's page of RNNLM, fit.vutbr.cz/~imikolov/rnnlm",
		globs: []string{"simple-examples*", "ptb*"},
	}}
	return Corpus{
		Name: "ptb", Title: "Penn Treebank, Mikolov's preparation", tokens: languageTokens,
		jobs: func(map[string]string) (jobs []*job) {
			for _, set := range []string{"ptb.train", "ptb.valid", "ptb.test"} {
				jobs = append(jobs, languageJob(set, member{[]string{set + ".txt"}, from}, map[string]*Published{
					"ptb.train.txt": {Tokens: 929589, Types: 10000},
					"ptb.valid.txt": {Tokens: 73760},
					"ptb.test.txt":  {Tokens: 82430},
				}))
			}
			return jobs
		},
	}
}

// wikitext is WikiText-2 or WikiText-103 (Merity et al. 2017), its files as they are: wiki.*.tokens, which results are
// published on, or wiki.*.raw, without <unk>.
func wikitext(size string) Corpus {
	published := map[string]*Published{
		"train.txt": {Tokens: 2088628, Types: 33278},
		"valid.txt": {Tokens: 217646},
		"test.txt":  {Tokens: 245569},
	}
	other := "wikitext-103"
	if size == "103" {
		other = "wikitext-2"
		published["train.txt"] = &Published{Tokens: 103227021, Types: 267735}
	}
	useless := func(path string) bool { return strings.Contains(strings.ToLower(path), other) }
	return Corpus{
		Name: "wikitext" + size, Title: "WikiText-" + size, tokens: languageTokens,
		Settings: []Setting{{
			Name: "form", Default: "tokens", Choices: []string{"tokens", "raw"},
			Help: "wiki.*.tokens, or wiki.*.raw, in which no word is replaced by <unk>",
		}},
		jobs: func(settings map[string]string) (jobs []*job) {
			name, counts := "wikitext-"+size+"-v1", published
			if settings["form"] == "raw" {
				name, counts = "wikitext-"+size+"-raw-v1", nil
			}
			from := []download{{
				name: name + ".zip", page: "the WikiText page of Salesforce research",
				globs: []string{name + "*"}, useless: useless,
			}}
			for _, set := range []string{"train", "valid", "test"} {
				file := "wiki." + set + "." + settings["form"]
				jobs = append(jobs, languageJob(set, member{[]string{file}, from}, counts))
			}
			return jobs
		},
	}
}

const languageTokens = "words between white space, and an <eos> for each line"

// languageJob takes over a text of a language model.
func languageJob(set string, from member, published map[string]*Published) *job {
	return &job{
		name: set, sides: []string{".txt"}, sets: []string{set}, parts: [][]member{{from}},
		read: verbatim, exact: true, types: true, perLine: 1, published: published,
	}
}
