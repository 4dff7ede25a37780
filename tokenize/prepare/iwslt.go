package prepare

import (
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
)

// iwslt14 is German-English of IWSLT 2014 as fairseq's script prepares it, up to byte-pair encoding. The script tokenises,
// drops pairs by their tokens, and takes every 23rd of the ones that stay for validation; here the tokens decide in the same
// way, and the lines that stay are written raw, since a run tokenises and lower-cases itself.
func iwslt14() Corpus {
	languages := []string{"de", "en"}
	from := []download{{
		name: "de-en.tgz", page: "on wit3.fbk.eu/2014-01, within 2014-01.tgz, which may also be here as it is", globs: []string{"*de-en*", "2014-01*"}, holds: "IWSLT14.TED*",
	}}
	return Corpus{
		Name: "iwslt14", Title: "IWSLT14 German-English", tokens: "Moses tokens",
		jobs: func(map[string]string) []*job {
			train := &job{
				name: "training and validation text", sides: endingsOf(languages), sets: []string{"train", "valid"}, whole: -1,
				parts: [][]member{each(languages, from, "train.tags.de-en.%s")},
				read:  tagged("<url>", "<talkid>", "<keywords>"),
				judge: func(c *counter) (judge, error) {
					return mosesJudge(c, languages, &tokenize.CleanOptions{Min: 1, Max: 175, Ratio: 1.5})
				},
				split: func(n int) int {
					if n%23 == 0 {
						return 1
					}
					return 0
				},
				published: map[string]*Published{
					"train.de": {Lines: 160239}, "train.en": {Lines: 160239}, "valid.de": {Lines: 7283}, "valid.en": {Lines: 7283},
				},
			}
			test := &job{
				name: "test text", sides: endingsOf(languages), sets: []string{"test"}, whole: -1, read: segments, edit: straightened,
				judge:     func(c *counter) (judge, error) { return mosesJudge(c, languages, nil) },
				published: map[string]*Published{"test.de": {Lines: 6750}, "test.en": {Lines: 6750}},
			}
			for _, set := range []string{"TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"} {
				test.parts = append(test.parts, each(languages, from, "IWSLT14."+set+".de-en.%s.xml"))
			}
			return []*job{train, test}
		},
	}
}

// mosesJudge counts Moses tokens of the current edition, and with limits drops the pairs that they rule out.
func mosesJudge(c *counter, languages []string, limits *tokenize.CleanOptions) (judge, error) {
	var tokenizers []*tokenize.Moses
	for _, language := range languages {
		moses, err := tokenize.NewMoses(tokenize.MosesOptions{Language: language})
		if err != nil {
			return nil, err
		}
		tokenizers = append(tokenizers, moses)
	}
	var cleaner *tokenize.Cleaner
	if limits != nil {
		var err error
		// Escaped tokens hold no |, so that a cleaner for each goroutine takes no text for one with factors.
		if cleaner, err = tokenize.NewCleaner(*limits); err != nil {
			return nil, err
		}
	}
	text := make([]string, len(languages))
	return func(lines []string, tokens []int) (tokenize.CleanReason, error) {
		for side, line := range lines {
			text[side] = tokenizers[side].Tokenize(line)
			tokens[side] = c.words(side, text[side])
		}
		if cleaner == nil {
			return tokenize.Kept, nil
		}
		_, _, reason, err := cleaner.Clean(text[0], text[1])
		return reason, err
	}, nil
}

// iwslt16 is IWSLT 2016 as Kumar and Tsvetkov (2019) divide it: TED.tst2013 and 2014 for validation, 2015 and 2016 for the
// test. They name no cleaning, so that all pairs stay; a run drops those that are empty or too long.
func iwslt16() Corpus {
	return Corpus{
		Name: "iwslt16", Title: "IWSLT16", tokens: "words between white space",
		Settings: []Setting{{Name: "pair", Default: "de-en", Choices: []string{"de-en", "fr-en", "en-fr"}, Help: "source and target language, as the archive is named"}},
		jobs: func(settings map[string]string) []*job {
			pair := settings["pair"]
			languages := strings.Split(pair, "-")
			release := func(pair, year string) download {
				return download{name: pair + ".tgz", page: "on wit3.fbk.eu/" + year + ", within " + year + ".tgz, which may also be here as it is", globs: []string{"*" + pair + "*", year + "*"}}
			}
			from := release(pair, "2016-01")
			from.holds = "IWSLT16.TED.tst2013*"
			files := func(year string) []member {
				end := ".TED.tst" + year + "." + pair + ".%s.xml"
				return each(languages, []download{from}, "IWSLT16"+end)
			}
			// The archives of 2015 and 2016 hold source sides only: the reference is the source of the other direction.
			reverse := languages[1] + "-" + languages[0]
			later := func(year string) []member {
				sides := files(year)
				for side, direction := range []string{pair, reverse} {
					name := ".TED.tst" + year + "." + direction + "." + languages[side] + ".xml"
					sides[side].names = append([]string{"IWSLT16" + name, "IWSLT17" + name}, sides[side].names...)
					sides[side].downloads = []download{release(direction, "2016-01-test"), release(pair, "2016-01-test")}
				}
				return sides
			}
			set := func(name string, published int, parts ...[]member) *job {
				j := &job{name: name, sides: endingsOf(languages), sets: []string{name}, parts: parts, whole: -1, read: segments, judge: counting, published: map[string]*Published{}}
				for _, file := range j.names() {
					j.published[file] = &Published{Lines: published, About: true}
				}
				return j
			}
			train := &job{
				name: "train", sides: endingsOf(languages), sets: []string{"train"}, whole: -1, judge: counting,
				parts: [][]member{each(languages, []download{from}, "train.tags."+pair+".%s")},
				read:  tagged("<url>", "<talkid>", "<keywords>", "<speaker>", "<reviewer", "<translator", "<doc", "</doc>"),
			}
			return []*job{train, set("valid", 2300, files("2013"), files("2014")), set("test", 2200, later("2015"), later("2016"))}
		},
	}
}
