package testdata

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// pairs are artificial sentences of two languages, each the other's with other words.
func pairs(n int, seed uint64) (sides [2][]string) {
	random := rand.New(rand.NewPCG(seed, 2))
	words := [2][]string{
		strings.Fields("der alte Hund schläft unter dem Tisch und träumt von einem Knochen Äpfel fallen leise"),
		strings.Fields("the old dog sleeps under the table and dreams of a bone apples fall softly"),
	}
	for range n {
		var line [2][]string
		for range 3 + random.IntN(6) {
			word := random.IntN(len(words[0]))
			for side := range line {
				line[side] = append(line[side], words[side][word])
			}
		}
		for side := range line {
			sides[side] = append(sides[side], strings.Join(line[side], " ")+".")
		}
	}
	return sides
}

func text(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// SGM is a test set in the SGML of WMT, of documents of four sentences.
func SGM(lines []string) string {
	return "<srcset setid=\"set\" srclang=\"any\">\n" + documents(lines, "<doc sysid=\"ref\" docid=\"%d\" genre=\"news\" origlang=\"de\">\n<p>\n", "</p>\n") + "</srcset>\n"
}

// XML is a test set in the XML of IWSLT.
func XML(lines []string) string {
	return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<mteval>\n<refset setid=\"iwslt\" srclang=\"any\" trglang=\"x\">\n" +
		documents(lines, "<doc docid=\"%d\" genre=\"lectures\">\n<url>http://talk</url>\n<description>TED Talk</description>\n<keywords>talks</keywords>\n<talkid>1</talkid>\n<title>A talk</title>\n", "") +
		"</refset>\n</mteval>\n"
}

func documents(lines []string, open, end string) string {
	var b strings.Builder
	for i, line := range lines {
		if i%4 == 0 {
			fmt.Fprintf(&b, open, i)
		}
		fmt.Fprintf(&b, "<seg id=\"%d\"> %s </seg>\n", i%4+1, line)
		if i%4 == 3 || i+1 == len(lines) {
			b.WriteString(end + "</doc>\n")
		}
	}
	return b.String()
}

// Tags is training text of IWSLT: lines about a talk stand before every tenth sentence.
func Tags(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if i%10 == 0 {
			fmt.Fprintf(&b, "<url>http://talk/%d</url>\n<keywords>talks, words</keywords>\n<talkid>%d</talkid>\n", i, i)
		}
		b.WriteString(" " + line + "\n")
	}
	return b.String()
}

// Published writes to a folder what the page of a corpus offers, in its true shape and filled with artificial text: train
// pairs or lines for training, test of each test set.
func Published(t testing.TB, folder, corpus string, train, test int) {
	t.Helper()
	a, b := pairs(train, 1), pairs(test, 2)
	languages := [2]string{"de", "en"}
	members := map[string]string{}
	each := func(to map[string]string, name string, sides [2][]string, shape func([]string) string) {
		for i, language := range languages {
			to[strings.ReplaceAll(name, "%s", language)] = shape(sides[i])
		}
	}
	tgz := func(name string, members map[string]string) { Put(t, folder, name, Gzip(t, Tar(t, members))) }
	switch corpus {
	case "multi30k":
		for _, set := range []string{"train", "val", "test_2016_flickr"} {
			sides := b
			if set == "train" {
				sides = a
			}
			for i, language := range languages {
				Put(t, folder, "data/task1/raw/"+set+"."+language+".gz", Gzip(t, text(sides[i])))
			}
		}
	case "ptb":
		for set, lines := range map[string][]string{"train": a[1], "valid": b[1], "test": b[1]} {
			members["./simple-examples/data/ptb."+set+".txt"] = text(lines)
		}
		tgz("simple-examples.tgz", members)
	case "wikitext2", "wikitext103":
		name := "wikitext-" + strings.TrimPrefix(corpus, "wikitext")
		for set, lines := range map[string][]string{"train": a[1], "valid": b[1], "test": b[1]} {
			members[name+"/wiki."+set+".tokens"] = " \n = Title = \n \n " + strings.Join(lines, " \n ") + " \n"
		}
		Put(t, folder, name+"-v1.zip", Zip(t, members))
	case "iwslt14":
		each(members, "de-en/train.tags.de-en.%s", a, Tags)
		for _, set := range []string{"TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"} {
			each(members, "de-en/IWSLT14."+set+".de-en.%s.xml", b, XML)
		}
		tgz("de-en.tgz", members)
	case "iwslt16":
		each(members, "de-en/train.tags.de-en.%s", a, Tags)
		for _, set := range []string{"dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014"} {
			each(members, "de-en/IWSLT16.TED."+set+".de-en.%s.xml", b, XML)
		}
		tgz("2016-01.tgz", map[string]string{"2016-01/texts/de/en/de-en.tgz": Gzip(t, Tar(t, members)), "2016-01/texts/cs/en/cs-en.tgz": "of no use"})
		// Each archive of the test holds the source of its direction alone.
		for i, pair := range []string{"de-en", "en-de"} {
			later := map[string]string{}
			for _, set := range []string{"tst2015", "tst2016"} {
				later[pair+"/IWSLT16.TED."+set+"."+pair+"."+languages[i]+".xml"] = XML(b[i])
			}
			tgz("2016-01-test/"+pair+".tgz", later)
		}
	case "wmt14", "wmt16":
		crawl, news, tests := map[string]string{}, map[string]string{}, map[string]string{}
		each(members, "training/europarl-v7.de-en.%s", a, text)
		members["training/europarl-v7.cs-en.cs"] = "jiný text\n"
		each(crawl, "commoncrawl.de-en.%s", b, text)
		crawl["commoncrawl.de-en.annotation"] = "x\n"
		tgz("training-parallel-europarl-v7.tgz", members)
		tgz("training-parallel-commoncrawl.tgz", crawl)
		if corpus == "wmt14" {
			each(news, "training/news-commentary-v9.de-en.%s", a, text)
			tgz("training-parallel-nc-v9.tgz", news)
			tests["test-full/newstest2014-deen-src.en.sgm"], tests["test-full/newstest2014-deen-ref.de.sgm"] = SGM(b[1]), SGM(b[0])
			tgz("test-full.tgz", tests)
			break
		}
		each(news, "training-parallel-nc-v11/news-commentary-v11.de-en.%s", a, text)
		tgz("training-parallel-nc-v11.tgz", news)
		dev := map[string]string{"dev/newstest2015-deen-src.de.sgm": SGM(b[0]), "dev/newstest2015-deen-ref.en.sgm": SGM(b[1])}
		tgz("dev.tgz", dev)
		tests["test/newstest2016-deen-src.de.sgm"], tests["test/newstest2016-deen-ref.en.sgm"] = SGM(b[0]), SGM(b[1])
		tgz("test.tgz", tests)
	default:
		t.Fatalf("nothing is known of the archives of %s", corpus)
	}
}
