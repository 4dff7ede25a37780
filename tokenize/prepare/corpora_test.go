package prepare

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/fixtures"
)

// lines splits a file into its lines.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// both returns the lines of a set in two languages, joined by a bar.
func both(t *testing.T, to, set, a, b string) (pairs []string) {
	t.Helper()
	x, y := lines(fixtures.Read(t, to, set+"."+a)), lines(fixtures.Read(t, to, set+"."+b))
	if len(x) != len(y) {
		t.Fatalf("%s has %d and %d lines", set, len(x), len(y))
	}
	for i := range x {
		pairs = append(pairs, x[i]+"|"+y[i])
	}
	return pairs
}

// Every corpus comes out of archives of its true shape, and of what was in them.
func TestEveryCorpus(t *testing.T) {
	sets := map[string]string{
		"multi30k": "train val test_2016_flickr", "iwslt14": "train valid test", "iwslt16": "train valid test",
		"wmt14": "train valid test",
		"wmt16": "train newstest2015 newstest2016", "ptb": "ptb.train ptb.valid ptb.test",
		"wikitext2": "train valid test", "wikitext103": "train valid test",
	}
	for _, c := range Corpora() {
		from := t.TempDir()
		fixtures.Published(t, from, c.Name, 230, 5)
		counts, to := mustRun(t, c.Name, from, nil)
		var want []string
		for _, set := range strings.Fields(sets[c.Name]) {
			if _, found := filesOf(counts)[set+".txt"]; found {
				want = append(want, set+".txt")
			} else {
				want = append(want, set+".de", set+".en")
			}
		}
		got := slices.Sorted(maps.Keys(filesOf(counts)))
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		}
		for name, f := range filesOf(counts) {
			text := fixtures.Read(t, to, name)
			if f.Lines != len(lines(text)) || f.Lines == 0 || f.Tokens < 3*f.Lines || int(f.Bytes) != len(text) ||
				len(f.SHA256) != 64 {
				t.Errorf("%s: %+v of %d lines", c.Name, f, len(lines(text)))
			}
		}
		if c.Name == "wmt14" {
			if _, err := mustFail(t, c.Name, from, map[string]string{"news-commentary": "v12"}); !strings.Contains(err, "lacks files of wmt14: training-parallel-nc-v12.tgz "+
				"(statmt.org/wmt17/translation-task.html, or -news-commentary=v9)") {
				t.Error(err)
			}
		}
	}
}

// IWSLT14: lines about talks are left out, pairs are judged by their Moses tokens, every 23rd of the ones that stay is
// for validation, and five sets are the test, in their order.
func TestIWSLT14(t *testing.T) {
	var de, en, kept []string
	tags := map[string]string{}
	add := func(a, b string, stays bool) {
		de, en = append(de, a), append(en, b)
		if stays {
			kept = append(kept, a+"|"+b)
		}
	}
	de, en = append(de, "<url>http://a</url>", "<talkid>7</talkid>"),
		append(en, "<url>http://a</url>", "<talkid>7</talkid>")
	add("<title>Der Titel</title>", "<title>The title</title>", false)
	kept = append(kept, "Der Titel|The title")
	de, en = append(de, "<keywords>a, b</keywords>"), append(en, "<keywords>a, b</keywords>")
	add("<description>Über   ihn</description>", "<description>About him</description>", false)
	kept = append(kept, "Über   ihn|About him")
	for i := range 50 {
		add(fmt.Sprintf("Zeile %d & mehr’s.", i), fmt.Sprintf("Line %d & more’s.", i), true)
	}
	add("", "nothing", false)
	add("a b", "a b c", true)                                        // 1.5
	add("a b", "a b, c", false)                                      // 2, counted in tokens
	add(strings.Repeat("a ", 175), strings.Repeat("b ", 175), false) // kept below, without the space at its end
	add(strings.Repeat("a ", 174)+"a,", strings.Repeat("b ", 175), false)
	kept = append(kept, strings.Repeat("a ", 174)+"a|"+strings.Repeat("b ", 174)+"b")
	for i := range 40 {
		add(fmt.Sprintf("Noch %d", i), fmt.Sprintf("Still %d", i), true)
	}
	tags["de-en/train.tags.de-en.de"], tags["de-en/train.tags.de-en.en"] = strings.Join(de, "\n")+"\n",
		strings.Join(en, "\r\n")+"\r\n"
	var test []string
	for _, set := range []string{"TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"} {
		for _, language := range []string{"de", "en"} {
			tags["de-en/IWSLT14."+set+".de-en."+language+".xml"] = fixtures.XML([]string{set + " it’s &amp; so " +
				language, "zwei"})
		}
		test = append(test, set+" it's &amp; so de|"+set+" it's &amp; so en", "zwei|zwei")
	}
	from := t.TempDir()
	fixtures.Put(t, from, "de-en.tgz", fixtures.Gzip(t, fixtures.Tar(t, tags)))
	counts, to := mustRun(t, "iwslt14", from, nil)

	want := map[string][]string{"test": test}
	for i, pair := range kept {
		set := "train"
		if (i+1)%23 == 0 {
			set = "valid"
		}
		want[set] = append(want[set], pair)
	}
	for set, pairs := range want {
		if diff := cmp.Diff(pairs, both(t, to, set, "de", "en")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", set, diff)
		}
	}
	if diff := cmp.Diff(map[string]int{"a side is empty": 1, "a side has too many tokens": 1,
		"the lengths differ too much": 1}, counts.Texts[0].Dropped); diff != "" {
		t.Error(diff)
	}
	if f := filesOf(counts)["train.de"]; f.Published.Lines != 160239 || !slices.Equal(f.Differs, []string{"lines"}) {
		t.Errorf("%+v", f)
	}
	// The same text is made of the unpacked folder.
	plain := t.TempDir()
	for name, text := range tags {
		fixtures.Put(t, plain, name, text)
	}
	if again, _ := mustRun(t, "iwslt14", plain, nil); !cmp.Equal(filesOf(again), filesOf(counts)) {
		t.Errorf("unpacked: %+v", filesOf(again))
	}
}

// IWSLT16 has three pairs, archives of one name in two releases, and test sets whose reference is the source of the
// other direction.
func TestIWSLT16(t *testing.T) {
	from := t.TempDir()
	members, tests := map[string]string{}, [2]map[string]string{{}, {}}
	for side, language := range []string{"en", "fr"} {
		members["en-fr/train.tags.en-fr."+language] = fixtures.Tags([]string{"<speaker>Jo</speaker>", "un",
			"<reviewer></reviewer>", "<translator href=\"x\">Al</translator>", "two " + language, ""})
		for _, set := range []string{"tst2013", "tst2014"} {
			members["en-fr/IWSLT16.TED."+set+".en-fr."+language+".xml"] = fixtures.XML([]string{set + "’" + language})
		}
		direction := []string{"en-fr", "fr-en"}[side]
		for _, set := range []string{"16.TED.tst2015", "17.TED.tst2016"} { // as later releases name the second
			tests[side][direction+"/IWSLT"+set+"."+direction+"."+language+".xml"] = fixtures.XML([]string{set + "’" +
				language})
		}
	}
	fixtures.Put(t, from, "2016-01/en-fr.tgz", fixtures.Gzip(t, fixtures.Tar(t, members)))
	fixtures.Put(t, from, "2016-01-test/en-fr.tgz", fixtures.Gzip(t, fixtures.Tar(t, tests[0])))
	if _, got := mustFail(t, "iwslt16", from, map[string]string{"pair": "en-fr"}); !strings.HasSuffix(got, "lacks files of iwslt16: fr-en.tgz (on wit3.fbk.eu/2016-01-test, within "+
		"2016-01-test.tgz, which may also be here as it is)") {
		t.Error(got)
	}
	fixtures.Put(t, from, "2016-01-test/fr-en.tgz", fixtures.Gzip(t, fixtures.Tar(t, tests[1])))
	counts, to := mustRun(t, "iwslt16", from, map[string]string{"pair": "en-fr"})
	for set, want := range map[string][]string{
		"train": {"un|un", "two en|two fr", "|"}, "valid": {"tst2013’en|tst2013’fr", "tst2014’en|tst2014’fr"},
		"test": {"16.TED.tst2015’en|16.TED.tst2015’fr", "17.TED.tst2016’en|17.TED.tst2016’fr"},
	} {
		if diff := cmp.Diff(want, both(t, to, set, "en", "fr")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", set, diff)
		}
	}
	if counts.Settings["pair"] != "en-fr" {
		t.Error(counts.Settings)
	}
}

// WMT14: three texts joined, control characters replaced, every 100th pair for validation, where empty ones are
// dropped.
func TestWMT14(t *testing.T) {
	archives := map[string]map[string]string{"training-parallel-europarl-v7": {}, "training-parallel-commoncrawl": {},
		"training-parallel-nc-v12": {}, "test-full": {}, "dev": {}}
	want := map[string][]string{}
	n := 0
	add := func(archive, name string, count int) {
		var sides [2]string
		for i := range count {
			de, en := fmt.Sprintf("%s %d\u0007\u00ad ä", name, i), fmt.Sprintf("%s %d\r x’", name, i)
			if i == 99 {
				de = " "
			}
			if archive == "training-parallel-commoncrawl" { // a member that is too large to be kept in memory
				en += strings.Repeat(" long", 500)
			}
			sides[0], sides[1] = sides[0]+de+"\r\n", sides[1]+en+"\n"
			set := "train"
			if n++; n%100 == 0 {
				set = "valid"
			}
			if set == "valid" && de == " " {
				continue
			}
			want[set] = append(want[set], strings.ReplaceAll(en, "\r", "")+"|"+strings.NewReplacer("\u0007", " ",
				"\u00ad", " ").Replace(de))
		}
		archives[archive][name+".de"], archives[archive][name+".en"] = sides[0], sides[1]
	}
	add("training-parallel-europarl-v7", "training/europarl-v7.de-en", 310)
	add("training-parallel-commoncrawl", "commoncrawl.de-en", 2048)
	add("training-parallel-nc-v12", "training/news-commentary-v12.de-en", 3)
	archives["test-full"]["test-full/newstest2014-deen-src.en.sgm"] = fixtures.SGM([]string{"it’s", "a &quot;b&quot;",
		""})
	archives["test-full"]["test-full/newstest2014-deen-ref.de.sgm"] = strings.ToUpper(
		fixtures.SGM([]string{"ist’s", "so", "x"}))
	archives["dev"]["dev/newstest2013-src.en.sgm"] = fixtures.SGM([]string{"one"})
	archives["dev"]["dev/newstest2013-ref.de.sgm"] = fixtures.SGM([]string{"eins"})
	archives["dev"]["dev/newstest2012-src.en.sgm"] = fixtures.SGM([]string{"one"}) // without German
	from := t.TempDir()
	for name, members := range archives {
		fixtures.Put(t, from, name+".tgz", fixtures.Gzip(t, fixtures.Tar(t, members)))
	}
	counts, to := mustRun(t, "wmt14", from, map[string]string{"news-commentary": "v12"})
	want["test"] = []string{"it's|IST'S", "a &quot;b&quot;|SO", "|X"}
	want["newstest2013"] = []string{"one|eins"}
	for set, pairs := range want {
		if diff := cmp.Diff(pairs, both(t, to, set, "en", "de")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", set, diff)
		}
	}
	if len(filesOf(counts)) != 8 || counts.Texts[0].Dropped["a side is empty"] != 1 {
		t.Errorf("%v, %v", slices.Sorted(maps.Keys(filesOf(counts))), counts.Texts[0].Dropped)
	}
}

// WikiText is taken as it is, in either form, and the other corpus beside it is left alone.
func TestWikiText(t *testing.T) {
	from := t.TempDir()
	text := " \n = Robert <unk> = \n \n It was @-@ so . \n"
	for _, name := range []string{"wikitext-2", "wikitext-103"} {
		for _, form := range []string{"tokens", "raw"} {
			members, folder := map[string]string{}, name
			if form == "raw" {
				folder += "-raw"
			}
			for _, set := range []string{"train", "valid", "test"} {
				members[folder+"/wiki."+set+"."+form] = text + name + " " + form + " " + set + " \n no line feed"
				if name == "wikitext-103" {
					fixtures.Put(t, from, folder+"/wiki."+set+"."+form, members[folder+"/wiki."+set+"."+form])
				}
			}
			if name == "wikitext-2" {
				fixtures.Put(t, from, folder+"-v1.zip", fixtures.Zip(t, members))
			}
		}
	}
	for _, corpus := range []string{"wikitext2", "wikitext103"} {
		for _, form := range []string{"tokens", "raw"} {
			counts, to := mustRun(t, corpus, from, map[string]string{"form": form})
			for name, f := range filesOf(counts) {
				last := "wikitext-" + strings.TrimPrefix(corpus, "wikitext") + " " + form + " " +
					strings.TrimSuffix(name, ".txt")
				if got := fixtures.Read(t, to, name); got != text+last+" \n no line feed" {
					t.Errorf("%s %s: %q", corpus, form, got)
				}
				if f.Lines != 6 || f.Tokens != 1+5+1+6+4+4 || f.Types != 1+3+5+3+3 ||
					(f.Published == nil) != (form == "raw") {
					t.Errorf("%+v", f)
				}
			}
		}
	}
}

// TestFolderByLink: a link to the folder of downloads is as good as its own name.
func TestFolderByLink(t *testing.T) {
	folder, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(filepath.Join(folder, "de-en.tgz"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	f, err := openFolder(link, "")
	if err != nil || len(f.files) != 1 || f.files[0].Path != "de-en.tgz" {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestLongerInLowerCase: names that are no UTF-8, and letters whose small form has more bytes.
func TestLongerInLowerCase(t *testing.T) {
	for name, want := range map[string]string{"D\xe9p\xf4t \xe9t\xe9.ZIP": "D\xe9p\xf4t \xe9t\xe9",
		"ȺȺȺȺȺ.zip": "ȺȺȺȺȺ", "x.Tar.GZ": "x", ".zip": ""} {
		if got, isArchive := stem("a/" + name); got != want || !isArchive {
			t.Errorf("the stem of %q is %q, %v", name, got, isArchive)
		}
	}
}

// TestLinksInFolder: links in the folder of downloads are followed, in circles too, and no file is listed twice.
func TestLinksInFolder(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	for _, made := range []string{filepath.Join(folder, "own"), filepath.Join(elsewhere, "deep")} {
		if err := os.Mkdir(made, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(made, "x.tgz"), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		filepath.Join(folder, "linked"):            elsewhere,
		filepath.Join(folder, "again"):             filepath.Join(folder, "own"),
		filepath.Join(folder, "nowhere"):           filepath.Join(folder, "missing"),
		filepath.Join(elsewhere, "deep", "circle"): folder,
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	f, err := openFolder(".", "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range f.files {
		if got = append(got, s.Path); !files.Exists(f.path(s)) {
			t.Errorf("%s is not at %s", s.Path, f.path(s))
		}
	}
	if diff := cmp.Diff([]string{"own/x.tgz", "linked/deep/x.tgz"}, got); diff != "" {
		t.Error(diff)
	}
}
