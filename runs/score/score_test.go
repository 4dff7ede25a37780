package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// folder writes files and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The example of sacreBLEU's manual; the numbers are its command's.
var (
	refA = "The dog bit the man.\nIt was not unexpected.\nThe man bit him first.\n"
	refB = "The dog had bit the man.\nNo one was surprised.\nThe man had bitten the dog.\n"
	hyp  = "The dog bit the man.\nIt wasn't surprising.\nThe man had just bitten him.\n"
)

func TestCommand(t *testing.T) {
	dir := folder(t, map[string]string{
		"a": refA, "b": refB, "crlf": strings.ReplaceAll(refA, "\n", "\r\n"), "short": "The dog bit the man.\n",
		"packed.zst": fixtures.Zstandard(t, refA), "cut.gz": fixtures.Gzip(t, refA)[:20], "blank": "\n\n\n",
		"tok": "the rich-text format of A-B-C is good\n", "raw": "the rich-text format, of A-B-C, is good!\n",
		"latin1": "Gr\xfc\xdfe\nb\nc\n", "empty": "",
		"long.zst": fixtures.Zstandard(t, "a\n"+strings.Repeat("x", 1<<26)),
	})
	const bleu = "BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 48.5 82.4/50.0/45.5/37.5 (BP = " +
		"0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)\n"
	for _, c := range []struct {
		name, args, in string
		code           int
		out, err       string // err: a part of standard error
	}{
		{name: "BLEU", args: "-ref a -ref b", in: hyp, out: bleu},
		{name: "packed", args: "-ref packed -ref b", in: fixtures.Gzip(t, hyp), out: bleu},
		{name: "packed and cut", args: "-ref cut", in: hyp, code: 1, err: "its packing (gzip) is damaged or cut short"},
		{name: "two dashes, equals signs, no last line end", args: "--ref=a -ref=b -metric=bleu",
			in: strings.TrimSuffix(hyp, "\n"), out: bleu},
		{name: "all in sacreBLEU's order, aligned",
			args: "-ref a -ref b -metric chrf++,bleu,chrf -lc -tok none -smooth floor", in: hyp,
			out: "BLEU|nrefs:2|case:lc|eff:no|tok:none|smooth:floor[0.10]|version:2.6.0 = 49.2 71.4/54.5/50.0/40.0 " +
				"(BP = 0.931 ratio = 0.933 hyp_len = 14 ref_len = 15)\n       " +
				"chrF2|nrefs:2|case:lc|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 60.0\n     " +
				"chrF2++|nrefs:2|case:lc|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 59.4\n"},
		{name: "interval", args: "-ref a -ref b -ci", in: hyp,
			out: "BLEU|nrefs:2|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 48.5 (μ = 47.0 " +
				"± 46.8) 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)\n"},
		{name: "multi-bleu", args: "-ref a -ref b -multi-bleu", in: hyp,
			out: "BLEU = 49.19, 71.4/54.5/50.0/40.0 (BP=0.931, ratio=0.933, hyp_len=14, ref_len=15)\n"},
		{name: "multi-bleu and another", args: "-ref a -multi-bleu -metric bleu,chrf", in: refA,
			out: "BLEU = 100.00, 100.0/100.0/100.0/100.0 (BP=1.000, ratio=1.000, hyp_len=14, ref_len=14)\n" +
				"chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 100.0\n"},
		{name: "multi-bleu reads bytes", args: "-ref latin1 -multi-bleu", in: "gr\xfc\xdfe\nb\nc\n",
			out: "BLEU = 0.00, 66.7/0.0/0.0/0.0 (BP=1.000, ratio=1.000, hyp_len=3, ref_len=3)\n"},
		{name: "multi-bleu of a blank reference", args: "-ref blank -multi-bleu", in: hyp, code: 1,
			out: "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)\n", err: "hold no words"},
		// What multi-bleu.perl says of both sides after Perl's substitution, and the tokenizer before it.
		{name: "compounds", args: "-ref tok -compound-split", in: "the rich-text form of A-B-C is good\n",
			out: "BLEU = 70.17, 90.9/80.0/66.7/50.0 (BP=1.000, ratio=1.000, hyp_len=11, ref_len=11)\n"},
		{name: "compounds of raw text", args: "-ref raw -compound-split -moses de -lc",
			in:  "The rich-text form, of A-B-C, is good!\n",
			out: "BLEU = 78.25, 92.9/84.6/75.0/63.6 (BP=1.000, ratio=1.000, hyp_len=14, ref_len=14)\n"},
		{name: "raw text", args: "-ref raw -moses de", in: "The rich-text form, of A-B-C, is good!\n",
			out: "BLEU = 66.06, 80.0/66.7/62.5/57.1 (BP=1.000, ratio=1.000, hyp_len=10, ref_len=10)\n"},
		{name: "raw text of an unknown language", args: "-ref raw -moses deutsch", in: "The rich-text form, of A-B-C, is good!\n",
			out: "BLEU = 66.06, 80.0/66.7/62.5/57.1 (BP=1.000, ratio=1.000, hyp_len=10, ref_len=10)\n",
			err: `no abbreviations are known for language "deutsch": the English ones are used`},
		{name: "compounds and another metric", args: "-ref a -compound-split -metric chrf", in: hyp, code: 2,
			err: "-compound-split and -moses prepare text for -multi-bleu alone"},
		{name: "raw text in Latin-1", args: "-ref latin1 -moses de", in: hyp, code: 1,
			err: "latin1, line 1 is not valid UTF-8"},
		{name: "DOS line ends", args: "-ref crlf -metric chrf", in: refA,
			out: "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 100.0\n"},
		{name: "empty hypotheses", args: "-ref a", in: "\n\n\n",
			out: "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 0.0 0.0/0.0/0.0/0.0 (BP = 0.000 " +
				"ratio = 0.000 hyp_len = 0 ref_len = 17)\n"},

		{name: "unequal", args: "-ref a -ref short", in: hyp, code: 1,
			err: "standard input has 3 lines of hypotheses but short has 1 lines of references"},
		{name: "nothing", args: "-ref empty", code: 1, err: "standard input is empty"},
		{name: "no such file", args: "-ref nowhere", in: hyp, code: 1, err: "there is no file nowhere"},
		{name: "a name that no terminal should show", args: "-ref no\x1b[2Jwhere", in: hyp, code: 1,
			err: "there is no file no\uFFFD[2Jwhere\n"},
		{name: "a flag that no terminal should show", args: "-\x1b[2J", in: hyp, code: 2, err: "unknown flag -\uFFFD[2J:"},
		{name: "encoding", args: "-ref latin1", in: hyp, code: 1, err: "latin1, line 1 is not valid UTF-8"},
		{name: "encoding of the input", args: "-ref a", in: "a\n\xff\nb\n", code: 1,
			err: "standard input, line 2 is not valid UTF-8"},

		{name: "an endless line", args: "-ref long", in: hyp, code: 1,
			err: "long:2: this line has more than 1000000 bytes: break it up"},
		{name: "an endless line of the input", args: "-ref a -multi-bleu", in: "a\n" + strings.Repeat("x", 1<<20),
			code: 1, err: "standard input:2: this line has more than 1000000 bytes"},

		{name: "unknown metric", args: "-ref a -metric bleu,ter", in: hyp, code: 2,
			err: `-metric=ter: it wants one of bleu, chrf, chrf++`},
		{name: "empty metric", args: "-ref a -metric=", in: hyp, code: 2, err: "-metric is missing: use any"},
		{name: "unknown tokenizer", args: "-ref a -tok zh", in: hyp, code: 2,
			err: "-tok=zh: it wants one of 13a, intl"},
		{name: "unknown smoothing", args: "-ref a -smooth laplace", in: hyp, code: 2,
			err: "-smooth=laplace: it wants one of exp"},
		{name: "unknown flag", args: "-ref a -nist", in: hyp, code: 2, err: "unknown flag -nist"},
		{name: "no reference", in: hyp, code: 2, err: "-ref is missing: name a file of references"},
		{name: "argument", args: "-ref a hyp", in: hyp, code: 2, err: `unexpected argument "hyp"`},
		{name: "a tokenizer of chrF", args: "-ref a -metric chrf,chrf++ -tok 13a", in: hyp, code: 2,
			err: "-tok is BLEU's, and -metric=chrf,chrf++ asks for none: add bleu to -metric"},
		{name: "smoothed chrF", args: "-ref a -metric=chrf -smooth floor", in: hyp, code: 2,
			err: "-smooth is BLEU's, and -metric=chrf asks for none"},
		{name: "smoothed chrF, compared", args: "-ref a -metric=chrf -smooth floor -compare b", in: hyp, code: 2,
			err: "-smooth is BLEU's"},
		{name: "intervals of a comparison", args: "-ref a -compare b -ci", in: hyp, code: 2,
			err: "-compare does not go with -ci: leave one of the two out"},
		{name: "no intervals", args: "-ref crlf -metric chrf -ci=false", in: refA,
			out: "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 100.0\n"},
		{name: "smoothed multi-bleu", args: "-ref a -multi-bleu -smooth floor", in: hyp, code: 2,
			err: "-smooth does not go with -multi-bleu"},
		{name: "help", args: "-h", out: "score compares translations with references"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(dir)
			var out, errw strings.Builder
			code := run(strings.Fields(c.args), strings.NewReader(c.in), &out, &errw)
			if code != c.code {
				t.Errorf("exit code %d, want %d; standard error: %s", code, c.code, errw.String())
			}
			if c.name == "help" {
				if !strings.HasPrefix(out.String(), c.out) || errw.Len() > 0 {
					t.Errorf("output is %q and %q, want help on standard output", out.String(), errw.String())
				}
				return
			}
			if out.String() != c.out {
				t.Errorf("output is\n%swant\n%s", out.String(), c.out)
			}
			if !strings.Contains(errw.String(), c.err) || c.err == "" && errw.Len() > 0 {
				t.Errorf("standard error is %q, want %q in it", errw.String(), c.err)
			}
		})
	}
}

func TestJSONOutput(t *testing.T) {
	t.Chdir(folder(t, map[string]string{"a": refA}))
	for _, c := range []struct {
		args  []string
		names []string
	}{
		{[]string{"-ref", "a", "-json"}, []string{"BLEU"}},
		{[]string{"-ref", "a", "-json", "-metric", "bleu,chrf", "-ci"}, []string{"BLEU", "chrF2"}},
		{[]string{"-ref", "a", "-json", "-multi-bleu", "-metric", "chrf++"}, []string{"multi-bleu", "chrF2++"}},
	} {
		var out, errw strings.Builder
		if code := run(c.args, strings.NewReader(refA), &out, &errw); code != 0 {
			t.Fatalf("%q: exit code %d: %s", c.args, code, errw.String())
		}
		text := out.String()
		if len(c.names) == 1 {
			text = "[" + text + "]"
		}
		var results []struct {
			Name  string
			Score float64
		}
		if err := json.Unmarshal([]byte(text), &results); err != nil {
			t.Fatalf("%q: %v in\n%s", c.args, err, out.String())
		}
		if len(results) != len(c.names) {
			t.Fatalf("%q: %d results, want %q", c.args, len(results), c.names)
		}
		for i, r := range results {
			if r.Name != c.names[i] || r.Score != 100 {
				t.Errorf("%q: result %d is %+v, want %s 100", c.args, i, r, c.names[i])
			}
		}
	}
}

func TestTokenisedTextIsPointedOut(t *testing.T) {
	text := strings.Repeat("ein hund .\n", 100)
	t.Chdir(folder(t, map[string]string{"ref": text}))
	for _, c := range []struct {
		args []string
		said bool
	}{
		{[]string{"-ref", "ref"}, true},
		{[]string{"-ref", "ref", "-tok", "none"}, false},
		{[]string{"-ref", "ref", "-multi-bleu"}, false},
	} {
		var out, errw strings.Builder
		run(c.args, strings.NewReader(text), &out, &errw)
		if said := strings.Contains(errw.String(), "detokenised"); said != c.said {
			t.Errorf("%q: standard error is %q", c.args, errw.String())
		}
	}
}

// TestCompareAndFrequencies: a paired test against another system, and F1 by the frequency of words.
func TestCompareAndFrequencies(t *testing.T) {
	var good, bad, refs strings.Builder
	for i := range 60 {
		line := "The dog number " + strings.Repeat("very ", i%4) + "bit the man twice today ."
		refs.WriteString(line + "\n")
		good.WriteString(line + "\n")
		bad.WriteString(strings.Replace(line, "bit the man", "saw a cat", 1) + "\n")
	}
	dir := folder(t, map[string]string{"ref": refs.String(), "bad": bad.String(), "same": good.String(),
		"dots": strings.Repeat(".\n", 60), "short": "a\n", "line": "The dog bit\n", "train": "the the dog\n"})
	t.Chdir(dir)
	answer := func(in string, args ...string) (code int, out, errs string) {
		var o, e strings.Builder
		code = run(args, strings.NewReader(in), &o, &e)
		return code, o.String(), e.String()
	}
	var found []comparison
	code, out, errs := answer(good.String(), "-ref=ref", "-compare=bad", "-tok=none", "-json")
	if err := json.Unmarshal([]byte(out), &found); code != 0 || err != nil || len(found) != 1 ||
		!(found[0].System > found[0].Baseline) || found[0].P > 0.01 {
		t.Errorf("a better system: exit %d, %s%s", code, out, errs)
	}
	code, out, _ = answer(good.String(), "-ref=ref", "-compare=same", "-metric=chrf")
	if code != 0 || !strings.Contains(out, "difference +0.00") || !strings.Contains(out, "p = 1.0000") {
		t.Errorf("the same system: exit %d, %s", code, out)
	}
	dots := strings.Repeat("...\n", 60)
	if code, _, errs = answer(dots, "-ref=ref", "-compare=dots"); code != 0 ||
		!strings.Contains(errs, "neither system translates") {
		t.Errorf("no translations: exit %d, %s", code, errs)
	}
	if code, _, errs = answer(good.String(), "-ref=ref", "-compare=dots", "-tok=none"); code != 0 ||
		strings.Contains(errs, "neither") {
		t.Errorf("one translates: exit %d, %s", code, errs)
	}
	if code, _, errs = answer("The dog sat\n", "-ref=line", "-compare=line", "-metric=chrf"); code != 1 ||
		!strings.Contains(errs, "there is one: give more lines") {
		t.Errorf("a paired test of one line: exit %d, %q", code, errs)
	}
	if code, _, errs = answer(good.String(), "-ref=ref", "-compare=short"); code != 1 ||
		!strings.Contains(errs, "short has 1 lines and standard input 60") {
		t.Errorf("another length: exit %d, %s", code, errs)
	}
	if code, _, errs = answer("", "-ref=ref", "-compare=bad", "-f1-train=train"); code != 2 ||
		!strings.Contains(errs, "one at a time") {
		t.Errorf("both: exit %d, %s", code, errs)
	}
	if code, _, errs = answer("", "-ref=ref", "-compare=bad", "-multi-bleu", "-metric=chrf"); code != 2 ||
		!strings.Contains(errs, "-compare does not go with -multi-bleu") {
		t.Errorf("multi-bleu of two: exit %d, %s", code, errs)
	}
	for _, flag := range []string{"-lc", "-ci", "-multi-bleu", "-metric=chrf", "-tok=none", "-smooth=none"} {
		if code, _, errs = answer("", "-ref=ref", "-f1-train=train", flag); code != 2 ||
			!strings.Contains(errs, "-f1-train does not go with "+strings.Split(flag, "=")[0]) {
			t.Errorf("%s by frequency: exit %d, %s", flag, code, errs)
		}
	}
	var rows []frequencyRow
	if _, _, errs = answer(strings.Repeat("dog .\n", 120), "-ref=one", "-f1-train=train"); strings.Contains(errs, "detokenised") {
		t.Errorf("tokenised text by frequency: %s", errs)
	}
	code, out, errs = answer("dog dog the\n", "-ref=one", "-f1-train=train", "-json")
	if code != 1 || !strings.Contains(errs, "one") {
		t.Errorf("no references: exit %d, %s%s", code, out, errs)
	}
	if err := os.WriteFile("one", []byte("the dog barks\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, _ = answer("dog dog the\n", "-ref=one", "-f1-train=train", "-json")
	if err := json.Unmarshal([]byte(out), &rows); code != 0 || err != nil || len(rows) != 9 {
		t.Fatalf("exit %d, %s, %v", code, out, err)
	}
	// barks is new, dog was seen once and output twice, the was seen twice.
	if *rows[0].F1 != 0 || rows[0].Reference != 1 || rows[0].Precision != nil || *rows[1].Precision != 0.5 ||
		*rows[1].Recall != 1 || *rows[2].F1 != 1 ||
		rows[3].F1 != nil || rows[8].High != nil || rows[8].Name != "1000+" {
		t.Errorf("by frequency: %s", out)
	}
	if code, out, _ = answer("dog dog the\n", "-ref=one", "-f1-train=train"); code != 0 ||
		!strings.Contains(out, "1000+") || !strings.Contains(out, "10-99") ||
		!strings.Contains(out, "\n0                   1          0          -     0.0000     0.0000\n") {
		t.Errorf("the table: %d, %s", code, out)
	}
}
