package score

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Version is the release of sacreBLEU whose results BLEU and CHRF equal; their signatures name it.
const Version = "2.6.0"

// Result is the score of a corpus or of a sentence.
type Result struct {
	Name  string  // BLEU, chrF2, chrF2++
	Score float64 // percent

	// Of BLEU only; index n-1 is for n-grams. Smoothing shows in the precisions (percent), not in matches.
	Precisions     []float64
	Matches        []int
	BP             float64 // brevity penalty
	HypLen, RefLen int     // tokens

	// The 95 % confidence interval is Mean ± HalfWidth, in percent; Samples is 0 where none was asked for.
	Mean, HalfWidth float64
	Samples         int
	Seed            uint64

	references int // of each segment, or variable
	options    []parameter
}

// parameter is one item of a signature.
type parameter struct{ key, value string }

func caseName(lowercase bool) string {
	if lowercase {
		return "lc"
	}
	return "mixed"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (r Result) parameters() []parameter {
	references := strconv.Itoa(r.references)
	if r.references == variable {
		references = "var"
	}
	out := []parameter{{"nrefs", references}}
	if r.Samples > 0 {
		out = append(out, parameter{"bs", strconv.Itoa(r.Samples)}, parameter{"seed", strconv.FormatUint(r.Seed, 10)})
	}
	out = append(out, r.options...)
	return append(out, parameter{"version", Version})
}

// Signature is sacreBLEU's long form: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0".
func (r Result) Signature() string {
	var parts []string
	for _, p := range r.parameters() {
		parts = append(parts, p.key+":"+p.value)
	}
	return strings.Join(parts, "|")
}

// Format is sacreBLEU's line, with width digits after the point (its command prints 1, its library 2).
func (r Result) Format(width int) string {
	line := r.Name + "|" + r.Signature() + " = " + fixed(r.Score, width)
	if r.hasInterval() {
		line += " (" + r.interval(width) + ")"
	}
	if verbose := r.verbose(); verbose != "" {
		line += " " + verbose
	}
	return line
}

// JSON is sacreBLEU's JSON object, indented by one space.
func (r Result) JSON(width int) string {
	var object object
	object.add("name", quote(r.Name))
	object.add("score", pythonFloat(r.Score, width))
	object.add("signature", quote(r.Signature()))
	if r.hasInterval() {
		object.add("confidence_mean", pythonFloat(r.Mean, width))
		object.add("confidence_var", pythonFloat(r.HalfWidth, width))
		object.add("confidence", quote(r.interval(width)))
	}
	if verbose := r.verbose(); verbose != "" {
		object.add("verbose_score", quote(verbose))
	}
	for _, p := range r.parameters() {
		object.add(p.key, quote(p.value))
	}
	return object.String()
}

// hasInterval: sacreBLEU leaves an interval out whose mean is 0.
func (r Result) hasInterval() bool { return r.Samples > 0 && r.Mean > 0 }

func (r Result) interval(width int) string {
	return "μ = " + fixed(r.Mean, width) + " ± " + fixed(r.HalfWidth, width)
}

// verbose is the part of the line that only BLEU has.
func (r Result) verbose() string {
	if len(r.Precisions) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (BP = %.3f ratio = %.3f hyp_len = %d ref_len = %d)",
		slashed(r.Precisions), r.BP, lengthRatio(r.HypLen, r.RefLen), r.HypLen, r.RefLen)
}

// lengthRatio is 0 without a reference.
func lengthRatio(hypLen, refLen int) float64 {
	if refLen == 0 {
		return 0
	}
	return float64(hypLen) / float64(refLen)
}

func slashed(precisions []float64) string {
	parts := make([]string, len(precisions))
	for i, p := range precisions {
		parts[i] = fixed(p, 1)
	}
	return strings.Join(parts, "/")
}

func fixed(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

// pythonFloat rounds x to digits after the point and writes it as Python's json: shortest, ".0" after a whole number.
func pythonFloat(x float64, digits int) string {
	text := fixed(x, digits)
	// What FormatFloat wrote, ParseFloat reads.
	x, _ = strconv.ParseFloat(text, 64)
	if x != 0 && x < 1e-4 {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	short := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(short, ".") {
		short += ".0"
	}
	return short
}

// object writes a JSON object whose keys keep their order.
type object struct{ lines []string }

func (o *object) add(key, value string) { o.lines = append(o.lines, " "+quote(key)+": "+value) }

func (o *object) String() string { return "{\n" + strings.Join(o.lines, ",\n") + "\n}" }

// quote writes a JSON string and leaves letters beyond ASCII as they are.
func quote(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	// A string always encodes, and a buffer always takes it.
	_ = encoder.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}
