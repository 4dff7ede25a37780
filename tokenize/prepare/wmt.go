package prepare

// europarl, crawl and commentary are the texts that WMT14 and WMT16 are trained on.
var (
	europarl = []download{{name: "training-parallel-europarl-v7.tgz", page: "statmt.org/wmt13/translation-task.html", globs: []string{"training-parallel-europarl-v7*"}}}
	crawl    = []download{{name: "training-parallel-commoncrawl.tgz", page: "statmt.org/wmt13/translation-task.html", globs: []string{"training-parallel-commoncrawl*"}}}
)

func commentary(version, page string) []download {
	name := "training-parallel-nc-" + version
	return []download{{name: name + ".tgz", page: page, globs: []string{name + "*"}}}
}

// wmtTexts are the training texts of German and English, one after the other.
func wmtTexts(languages []string, version, page string) [][]member {
	return [][]member{
		each(languages, europarl, "europarl-v7.de-en.%s"),
		each(languages, crawl, "commoncrawl.de-en.%s"),
		each(languages, commentary(version, page), "news-commentary-"+version+".de-en.%s"),
	}
}

// wmt14 is English-German of WMT 2014 as fairseq's script prepares it, up to the steps that a run does itself: normalised
// punctuation, tokens, byte-pair pieces and limits on their number. Every 100th pair is for validation; the script drops
// pairs of which a side is empty after that, and so it is here in validation text, while a run drops them in training.
func wmt14() Corpus {
	languages := []string{"en", "de"}
	return Corpus{
		Name: "wmt14", Title: "WMT14 English-German", tokens: "words between white space",
		Settings: []Setting{{Name: "news-commentary", Default: "v9", Choices: []string{"v9", "v12"}, Help: "edition of News Commentary: v9 is that of WMT14, v12 what fairseq's script takes unless told otherwise"}},
		jobs: func(settings map[string]string) []*job {
			version := settings["news-commentary"]
			page := "statmt.org/wmt14/translation-task.html, or -news-commentary=v12"
			if version == "v12" {
				page = "statmt.org/wmt17/translation-task.html, or -news-commentary=v9"
			}
			train := &job{
				name: "training and validation text", sides: endingsOf(languages), sets: []string{"train", "valid"}, whole: 1,
				parts: wmtTexts(languages, version, page), read: plain, edit: printable, judge: counting,
				split: func(n int) int {
					if n%100 == 0 {
						return 1
					}
					return 0
				},
				published: map[string]*Published{"train.en": {Lines: 4500000, About: true}, "train.de": {Lines: 4500000, About: true}},
			}
			full := []download{
				{name: "test-full.tgz", page: "statmt.org/wmt14/translation-task.html", globs: []string{"test-full*"}},
				{name: "dev.tgz", page: "statmt.org/wmt15/translation-task.html", globs: []string{"dev*"}},
			}
			test := newstest("test", languages, 3003, full, "newstest2014-deen")
			// What others validate on: Vaswani et al. on newstest2013, Wang, Gong and Liu on newstest2012 too.
			dev := []download{{name: "dev.tgz", page: "statmt.org/wmt14/translation-task.html", globs: []string{"dev*"}}}
			dev2013, dev2012 := newstest("newstest2013", languages, 3000, dev, "newstest2013"), newstest("newstest2012", languages, 3003, dev, "newstest2012")
			dev2013.optional, dev2012.optional = true, true
			for _, j := range []*job{test, dev2013, dev2012} {
				j.edit = straightened
			}
			return []*job{train, test, dev2013, dev2012}
		},
	}
}

// newstest is a test set of WMT in SGML. Where a file of the direction is missing, that of the other
// one has the same text.
func newstest(name string, languages []string, lines int, from []download, file string) *job {
	j := &job{name: name, sides: endingsOf(languages), sets: []string{name}, whole: -1, read: segments, judge: counting, published: map[string]*Published{}}
	source, reference := file+"-src.%s.sgm", file+"-ref.%s.sgm"
	j.parts = [][]member{append(each(languages[:1], from, source, reference), each(languages[1:], from, reference, source)...)}
	for _, output := range j.names() {
		j.published[output] = &Published{Lines: lines}
	}
	return j
}

// wmt16 is German-English of WMT 2016 as Kumar and Tsvetkov (2019) take it: 4.5 million pairs, newstest2015 for validation
// and newstest2016 for the test. They name neither cleaning nor a replacement of apostrophes.
func wmt16() Corpus {
	languages := []string{"de", "en"}
	page := "statmt.org/wmt16/translation-task.html"
	return Corpus{
		Name: "wmt16", Title: "WMT16 German-English", tokens: "words between white space",
		jobs: func(map[string]string) []*job {
			train := &job{
				name: "train", sides: endingsOf(languages), sets: []string{"train"}, whole: -1,
				parts: wmtTexts(languages, "v11", page), read: plain, judge: counting,
				published: map[string]*Published{"train.de": {Lines: 4500000, About: true}, "train.en": {Lines: 4500000, About: true}},
			}
			dev := []download{{name: "dev.tgz", page: page, globs: []string{"dev*"}}}
			tests := []download{{name: "test.tgz", page: page, globs: []string{"test*"}}, {name: "dev.tgz", page: page, globs: []string{"dev*"}}}
			return []*job{train, newstest("newstest2015", languages, 2169, dev, "newstest2015-deen"), newstest("newstest2016", languages, 2999, tests, "newstest2016-deen")}
		},
	}
}
