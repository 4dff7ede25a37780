package prepare

import (
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
)

// wit3 is an archive of a pair of languages in a release; of several, the one meant holds such a file.
func wit3(pair, release, holds string) download {
	return download{
		name: pair + ".tgz", globs: []string{"*" + pair + "*", release + "*"}, holds: holds,
		page: "on wit3.fbk.eu/" + release + ", within " + release + ".tgz, which may also be here as it is",
	}
}

// iwslt14 is German-English of IWSLT 2014 as fairseq's script prepares it, up to byte-pair encoding: pairs are dropped
// by their tokens, and every 23rd that stays is for validation. Lines are written raw: a run tokenises and lower-cases
// itself.
func iwslt14() Corpus {
	languages := []string{"de", "en"}
	from := []download{wit3("de-en", "2014-01", "IWSLT14.TED*")}
	return Corpus{
		Name: "iwslt14", Title: "IWSLT14 German-English", tokens: "Moses tokens",
		jobs: func(map[string]string) []*job {
			train := parallel("training and validation text", languages, tagged("<url>", "<talkid>", "<keywords>"),
				each(languages, from, "train.tags.de-en.%s"))
			train.sets, train.every, train.split = []string{"train", "valid"}, 23, mosesTokens
			train.clean = &tokenize.CleanOptions{Min: 1, Max: 175, Ratio: 1.5}
			test := parallel("test text", languages, segments)
			test.sets, test.edit, test.split = []string{"test"}, straightened, mosesTokens
			for _, set := range []string{"TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"} {
				test.parts = append(test.parts, each(languages, from, "IWSLT14."+set+".de-en.%s.xml"))
			}
			return []*job{train.expect(false, 160239, 7283), test.expect(false, 6750)}
		},
	}
}

// mosesTokens splits by the current edition of the Moses tokenizer.
func mosesTokens(language string) (func(string) string, error) {
	moses, err := tokenize.NewMoses(tokenize.MosesOptions{Language: language})
	if err != nil {
		return nil, err
	}
	return moses.Tokenize, nil
}

// iwslt16 is IWSLT 2016 as Kumar and Tsvetkov (2019) divide it: TED.tst2013 and 2014 for validation, 2015 and 2016 for
// the test. They name no cleaning: all pairs stay, and a run drops empty and long ones.
func iwslt16() Corpus {
	return Corpus{
		Name: "iwslt16", Title: "IWSLT16", tokens: "words between white space",
		Settings: []Setting{{
			Name: "pair", Default: "de-en", Choices: []string{"de-en", "fr-en", "en-fr"},
			Help: "source and target language, as the archive is named",
		}},
		jobs: func(settings map[string]string) []*job {
			pair := settings["pair"]
			languages := strings.Split(pair, "-")
			from := wit3(pair, "2016-01", "IWSLT16.TED.tst2013*")
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
					sides[side].downloads = []download{
						wit3(direction, "2016-01-test", ""), wit3(pair, "2016-01-test", ""),
					}
				}
				return sides
			}
			text := tagged("<url>", "<talkid>", "<keywords>", "<speaker>", "<reviewer", "<translator", "<doc", "</doc>")
			return []*job{
				parallel("train", languages, text, each(languages, []download{from}, "train.tags."+pair+".%s")),
				parallel("valid", languages, segments, files("2013"), files("2014")).expect(true, 2300),
				parallel("test", languages, segments, later("2015"), later("2016")).expect(true, 2200),
			}
		},
	}
}
