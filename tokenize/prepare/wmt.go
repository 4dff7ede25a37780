package prepare

// tgz is a download whose name begins with that of its page.
func tgz(name, page string) download {
	return download{name: name + ".tgz", page: page, globs: []string{name + "*"}}
}

// wmtText is the training text of German and English: Europarl, Common Crawl and a version of News Commentary.
func wmtText(name string, languages []string, version, page string) *job {
	part := func(from download, file string) []member { return each(languages, []download{from}, file) }
	const wmt13 = "statmt.org/wmt13/translation-task.html"
	return parallel(name, languages, plain,
		part(tgz("training-parallel-europarl-v7", wmt13), "europarl-v7.de-en.%s"),
		part(tgz("training-parallel-commoncrawl", wmt13), "commoncrawl.de-en.%s"),
		part(tgz("training-parallel-nc-"+version, page), "news-commentary-"+version+".de-en.%s"))
}

// wmt14 is English-German of WMT 2014 as fairseq's script prepares it, but for what a run does itself: normalised
// punctuation, tokens, pieces and limits on their number. Every 100th pair is for validation, which loses pairs with an
// empty side; a run drops them in training.
func wmt14() Corpus {
	languages := []string{"en", "de"}
	return Corpus{
		Name: "wmt14", Title: "WMT14 English-German", tokens: "words between white space",
		Settings: []Setting{{
			Name: "news-commentary", Default: "v9", Choices: []string{"v9", "v12"},
			Help: "edition of News Commentary: v9 is that of WMT14, v12 what fairseq's script takes unless told " +
				"otherwise",
		}},
		jobs: func(settings map[string]string) []*job {
			version := settings["news-commentary"]
			page := "statmt.org/wmt14/translation-task.html, or -news-commentary=v12"
			if version == "v12" {
				page = "statmt.org/wmt17/translation-task.html, or -news-commentary=v9"
			}
			train := wmtText("training and validation text", languages, version, page)
			train.sets, train.every, train.nonEmpty, train.edit = []string{"train", "valid"}, 100, "valid", printable
			full := []download{
				tgz("test-full", "statmt.org/wmt14/translation-task.html"),
				tgz("dev", "statmt.org/wmt15/translation-task.html"),
			}
			// What others validate on: Vaswani et al. on newstest2013, Wang, Gong and Liu on newstest2012 too.
			dev := []download{tgz("dev", "statmt.org/wmt14/translation-task.html")}
			test := newstest("test", languages, 3003, full, "newstest2014-deen")
			dev2013 := newstest("newstest2013", languages, 3000, dev, "newstest2013")
			dev2012 := newstest("newstest2012", languages, 3003, dev, "newstest2012")
			dev2013.optional, dev2012.optional = true, true
			for _, j := range []*job{test, dev2013, dev2012} {
				j.edit = straightened
			}
			return []*job{train.expect(true, 4500000), test, dev2013, dev2012}
		},
	}
}

// newstest is a test set of WMT in SGML. The other direction's files, with the same text, stand in for missing ones.
func newstest(name string, languages []string, lines int, from []download, file string) *job {
	source, reference := file+"-src.%s.sgm", file+"-ref.%s.sgm"
	sides := append(each(languages[:1], from, source, reference), each(languages[1:], from, reference, source)...)
	return parallel(name, languages, segments, sides).expect(false, lines)
}

// wmt16 is German-English of WMT 2016 as Kumar and Tsvetkov (2019) take it: 4.5 million pairs, newstest2015 for
// validation and newstest2016 for the test. They name neither cleaning nor a replacement of apostrophes.
func wmt16() Corpus {
	languages := []string{"de", "en"}
	page := "statmt.org/wmt16/translation-task.html"
	return Corpus{
		Name: "wmt16", Title: "WMT16 German-English", tokens: "words between white space",
		jobs: func(map[string]string) []*job {
			dev := tgz("dev", page)
			return []*job{
				wmtText("train", languages, "v11", page).expect(true, 4500000),
				newstest("newstest2015", languages, 2169, []download{dev}, "newstest2015-deen"),
				newstest("newstest2016", languages, 2999, []download{tgz("test", page), dev}, "newstest2016-deen"),
			}
		},
	}
}
