package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

// TestBadUsage: a command line that means nothing, or that would answer callers of other machines unasked, is refused
// in one sentence before anything is read.
func TestBadUsage(t *testing.T) {
	for says, args := range map[string][]string{
		"-model is missing":                     nil,
		"unexpected argument \"x\"":             {"-model", "a", "x"},
		"give -api-key FILE, or -open":          {"-model", "a", "-listen", "0.0.0.0:5000"},
		"can be reached from other machines":    {"-model", "a", "-listen", ":5000"},
		"-listen=[2001:db8::1]:80 can be":       {"-model", "a", "-listen", "[2001:db8::1]:80"},
		"it wants an address and a port":        {"-model", "a", "-listen", "localhost"},
		"-open does not go with -api-key":       {"-model", "a", "-open", "-api-key", "f"},
		"-debug=0.0.0.0:6060: profiles are for": {"-model", "a", "-debug", "0.0.0.0:6060"},
		"-grace=soon: it wants a time":          {"-model", "a", "-grace", "soon"},
		"-timeout=-1s: it wants a time":         {"-model", "a", "-timeout=-1s"},
		"-int8 computes on the CPU":             {"-model", "a", "-int8", "-device", "cuda"},
		"-max-chars=0: it wants a whole number": {"-model", "a", "-max-chars", "0"},
	} {
		_, err := parse(args)
		var usage *command.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, listen := range []string{"127.0.0.1:0", "localhost:5000", "[::1]:80"} {
		if _, err := parse([]string{"-model", "a", "-listen", listen}); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
	}
	empty := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(empty, []byte("# none\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"nowhere":                        {"-model", "/nowhere"},
		"has no key":                     {"-model", "/nowhere", "-api-key", empty},
		`the name "\xff" is no UTF-8`:    {"-model", "\xff=/nowhere"},
		`the name "a\xff" is no UTF-8: `: {"-model", "/nowhere/a\xff"},
	} {
		f, err := parse(args)
		if err != nil {
			t.Fatal(err)
		}
		if err := run(f); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestNoTranslator: flags of translators alone are refused where no model is one.
func TestNoTranslator(t *testing.T) {
	folder, err := languageRun()
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"-int8", "-shortlist=pieces"} {
		f, err := parse([]string{"-model", folder, flag, "-threads=1", "-device=cpu"})
		if err != nil {
			t.Fatal(err)
		}
		a, err := newApp(f, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err == nil {
			a.close(t.Context())
		}
		if command.ExitCode(err) != 2 || !strings.Contains(err.Error(), "no model is one") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// TestTranslateWithoutTranslator: a server of language models alone says which of its doors they stand behind.
func TestTranslateWithoutTranslator(t *testing.T) {
	if _, err := (&app{}).find("de", "en", ""); err == nil ||
		err.Error() != "this server has no translator: POST /predict asks its language models" {
		t.Error(err)
	}
}

// TestNamed: a folder with an equals sign in its name is a folder.
func TestNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("a=b/lr=0.1", 0o755); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string][2]string{"a=b": {"", "a=b"}, "a=b/lr=0.1": {"", "a=b/lr=0.1"}, "m=run": {"m", "run"},
		"m=a=b": {"m", "a=b"}, "m=": {"", "m="}, "runs/x=1": {"", "runs/x=1"}} {
		if name, folder := named(given); [2]string{name, folder} != want {
			t.Errorf("-model %s is %q in %q, want %q", given, name, folder, want)
		}
	}
}

// TestLibreTranslate: the answers have LibreTranslate's shapes, for JSON and forms, strings and arrays.
func TestLibreTranslate(t *testing.T) {
	a := started(t)
	server := httptest.NewServer(a.handler())
	defer server.Close()
	source, target := a.models[0].pair()
	first, second := "a first line of words", "and another one"
	want := translated(t, a, first, second)
	number := regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?`)
	pair := fmt.Sprintf(`"source":%q,"target":%q`, source, target)
	for _, test := range []struct{ kind, body, want string }{
		{jsonType, `{"q":"` + first + `",` + pair + `}`, `{"translatedText":` + says(want[0]) + `}`},
		{jsonType, `{"q":["` + first + `","` + second + `",""],` + pair + `,"api_key":""}`,
			`{"translatedText":[` + says(want[0]) + "," + says(want[1]) + `,""]}`},
		{jsonType, `{"q":[],` + pair + `}`, `{"translatedText":[]}`},
		{jsonType, `{"q":"` + first + `","source":"` + strings.ToUpper(source) + `","target":"` + strings.ToUpper(target) + `"}`,
			`{"translatedText":` + says(want[0]) + `}`},
		{formType, "q=" + strings.ReplaceAll(first, " ", "+") + "&source=" + source + "&target=" + target + "&format=text&alternatives=",
			`{"translatedText":` + says(want[0]) + `}`},
		{"multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\n" + first +
			"\r\n--x\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nauto\r\n--x\r\n" +
			"Content-Disposition: form-data; name=\"target\"\r\n\r\n" + target + "\r\n--x--\r\n",
			`{"detectedLanguage":{"confidence":0,"language":"` + source + `"},"translatedText":` + says(want[0]) + `}`},
		{formType, "q=" + strings.ReplaceAll(first, " ", "+") + "&source=AUTO&target=" + target,
			`{"detectedLanguage":{"confidence":0,"language":"` + source + `"},"translatedText":` + says(want[0]) + `}`},
		{jsonType, `{"q":"<p>` + first + `</p>","format":"html",` + pair + `}`,
			`{"translatedText":` + says("<p>"+want[0]+"</p>") + `}`},
		{jsonType, `{"q":"` + first + `\n\n` + second + `\n",` + pair + `}`,
			`{"translatedText":` + says(want[0]+"\n\n"+want[1]+"\n") + `}`},
	} {
		status, answer, h := ask(t, server.Client(), server.URL+"/translate", test.kind, test.body)
		if status != 200 || says(answer) != test.want || h.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s\nanswers %d %s\nwant %s", test.body, status, says(answer), test.want)
		}
	}
	// Alternatives are others than the first, and own fields have their shapes; numbers vary.
	_, answer, _ := ask(t, server.Client(), server.URL+"/translate", jsonType,
		`{"q":"`+first+`",`+pair+`,"alternatives":3,"links":true,"confidence":true,"prefix":"`+strings.Fields(want[1])[0]+`"}`)
	object, _ := answer.(map[string]any)
	alternatives, _ := object["alternatives"].([]any)
	details, _ := object["details"].([]any)
	if len(alternatives) == 0 || len(details) != 4 || !strings.HasPrefix(fmt.Sprint(object["translatedText"]),
		strings.Fields(want[1])[0]) {
		t.Errorf("alternatives and details: %s", says(answer))
	}
	shape := number.ReplaceAllString(says(details[0].(map[string]any)["words"].([]any)[0]), "0")
	if !regexp.MustCompile(`^\{"confidence":0,"source":\[0\],"text":".*"\}$`).MatchString(shape) {
		t.Errorf("a word is %s", shape)
	}
	_, answer, _ = ask(t, server.Client(), server.URL+"/translate", jsonType,
		`{"q":"`+first+`",`+pair+`,"terms":{"line":"Ünïque"},"keep":["of w.*"]}`)
	if text := says(answer); !strings.Contains(text, "Ünïque") || !strings.Contains(text, "of words") {
		t.Errorf("terms and kept text: %s", text)
	}
	for path, want := range map[string]string{
		"/languages": `[{"code":"` + source + `","name":"` + exchange.LanguageName(source) + `","targets":["` + target + `"]},` +
			`{"code":"` + target + `","name":"` + exchange.LanguageName(target) + `","targets":[]}]`,
		"/health":    `{"status":"ok"}`,
		"/ready":     `{"status":"ready"}`,
		"/nowhere":   `{"error":"Not Found"}`,
		"/translate": `{"error":"Method Not Allowed"}`,
	} {
		if _, answer, _ := ask(t, server.Client(), server.URL+path, "", ""); says(answer) != want {
			t.Errorf("%s answers %s", path, says(answer))
		}
	}
	if status, answer, h := ask(t, server.Client(), server.URL+"/", formType, "q=x"); status != 405 ||
		says(answer) != `{"error":"Method Not Allowed"}` || h.Get("Allow") != "GET" {
		t.Errorf("a form for the page: %d, %s, %v", status, says(answer), h)
	}
	_, answer, _ = ask(t, server.Client(), server.URL+"/translate", jsonType,
		`{"q":"x","source":"`+target+`","target":"`+source+`"}`)
	if says(answer) != `{"error":"`+source+` is not available as a target language from `+target+`"}` {
		t.Errorf("the pair the other way: %s", says(answer))
	}
	for body, kind := range map[string]string{"q=x": formType, `{"q":["x","y"]}`: jsonType} {
		_, answer, _ := ask(t, server.Client(), server.URL+"/detect", kind, body)
		if says(answer) != `[{"confidence":0,"language":"`+source+`"}]` {
			t.Errorf("/detect answers %s", says(answer))
		}
	}
	_, answer, _ = ask(t, server.Client(), server.URL+"/frontend/settings", "", "")
	if s := answer.(map[string]any); s["charLimit"] != 20000.0 || s["keyRequired"] != false ||
		!strings.Contains(says(s["language"]), source) {
		t.Errorf("/frontend/settings answers %s", says(answer))
	}
	response, err := server.Client().Get(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	for _, name := range []string{`aperture_http_requests_total{path="/translate",status="200"}`, "go_goroutines",
		`aperture_batch_sentences_count{model="mt"}`, `aperture_queue_sentences{model="mt"} 0`,
		`aperture_tokens_total{model="mt",side="target"}`} {
		if !strings.Contains(string(text), name) {
			t.Errorf("/metrics has no %s", name)
		}
	}
}

// translated are lines as the translator gives them by itself.
func translated(t *testing.T, a *app, lines ...string) (texts []string) {
	t.Helper()
	made, err := translation.Open(a.models[0].folder, translation.Options{Device: "cpu", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	out, err := made.Translate(t.Context(), lines, decode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range out {
		texts = append(texts, x.Text)
	}
	return texts
}

// TestDeepL: the second door has DeepL's shapes, also for what goes wrong.
func TestDeepL(t *testing.T) {
	a := started(t)
	server := httptest.NewServer(a.handler())
	defer server.Close()
	source, target := a.models[0].pair()
	upper := strings.ToUpper(source)
	want := translated(t, a, "a first line", "One two. Three four.", "One two.", "Three four.", "a b")
	one := func(text string, chars int) string {
		return fmt.Sprintf(`{"billed_characters":%d,"detected_source_language":%q,"text":%s}`, chars, upper, says(text))
	}
	url := server.URL + "/v2/translate"
	for _, test := range []struct {
		kind, body string
		status     int
		want       string
	}{
		{jsonType, `{"text":["a first line"],"target_lang":"` + strings.ToUpper(target) + `-AT"}`, 200,
			`{"translations":[` + one(want[0], 12) + `]}`},
		{formType, "text=a+first+line&text=a+b&target_lang=" + target + "&source_lang=" + upper, 200,
			`{"translations":[` + one(want[0], 12) + "," + one(want[4], 3) + `]}`},
		{jsonType, `{"text":["One two. Three four."],"split_sentences":"1","target_lang":"` + target + `"}`, 200,
			`{"translations":[` + one(want[2]+" "+want[3], 20) + `]}`},
		{jsonType, `{"text":["a\nb"],"split_sentences":0,"target_lang":"` + target + `"}`, 200,
			`{"translations":[` + one(want[4], 3) + `]}`},
		{jsonType, `{"text":["a\nb\n"],"split_sentences":0,"target_lang":"` + target + `"}`, 200,
			`{"translations":[` + one(want[4]+"\n", 4) + `]}`},
		{jsonType, `{"text":["a b"],"glossary_id":null,"glossary_ids":[],"target_lang":"` + target + `"}`, 200,
			`{"translations":[` + one(want[4], 3) + `]}`},
		{jsonType, `{"text":["<b>a</b><br>a first line"],"tag_handling":"xml","target_lang":"` + target + `"}`, 200, ""},
		{jsonType, `{"text":["x"]}`, 400, `{"message":"Parameter 'target_lang' not specified."}`},
		{jsonType, `{"target_lang":"` + target + `"}`, 400, `{"message":"Invalid request: missing text parameter"}`},
		{jsonType, `{"text":["x"],"target_lang":"xx"}`, 400, `{"message":"xx is not supported"}`},
		{jsonType, `{"text":["<p>x</p>"],"tag_handling":"html","confidence":true,"target_lang":"` + target + `"}`, 400,
			`{"message":"confidence and links are given for plain text alone: leave them out, or the tags"}`},
		{jsonType, `{"text":["x"],"target_lang":"` + target + `","formality":"xx"}`, 400,
			`{"message":"Value for 'formality' not supported."}`},
		{jsonType, `["x"]`, 400, `{"message":"the body must be a JSON object, and is of the type array"}`},
		{jsonType, `{"text":["x"],"target_lang":"` + target + `","glossary_id":"g"}`, 400,
			`{"message":"this server keeps no glossaries: send their terms in the field terms"}`},
		{jsonType, `{"text":["x"],"target_lang":"` + target + `","glossary_ids":["g"]}`, 400,
			`{"message":"this server keeps no glossaries: send their terms in the field terms"}`},
	} {
		status, answer, _ := ask(t, server.Client(), url, test.kind, test.body)
		if status != test.status || test.want != "" && says(answer) != test.want {
			t.Errorf("%s\nanswers %d %s\nwant %s", test.body, status, says(answer), test.want)
		}
	}
	// A line break of HTML ends no sentence unless it is asked for, and stays where nothing is translated.
	html := func(document, more string) string {
		_, answer, _ := ask(t, server.Client(), url, jsonType,
			`{"text":["`+document+`"],"tag_handling":"html","target_lang":"`+target+`"`+more+`}`)
		return says(answer)
	}
	whole := html("<p>a first line</p><pre>a b</pre>", "")
	for more, same := range map[string]bool{"": true, `,"split_sentences":"nonewlines"`: true, `,"split_sentences":"0"`: true,
		`,"split_sentences":"1"`: false} {
		got := html(`<p>a first\nline</p><pre>a\nb</pre>`, more)
		if (strings.ReplaceAll(got, `a\nb`, "a b") == whole) != same || !strings.Contains(got, `a\nb`) {
			t.Errorf("%s: %s, and on one line %s", more, got, whole)
		}
	}
	for _, ignored := range []string{`["X","y"]`, `"y,x"`} {
		_, answer, _ := ask(t, server.Client(), url, jsonType, `{"text":["a <x>B</x> c"],"tag_handling":"xml","ignore_tags":`+
			ignored+`,"target_lang":"`+target+`"}`)
		if !strings.Contains(says(answer), strings.Trim(says("<x>B</x>"), `"`)) {
			t.Errorf("ignore_tags = %s: %s", ignored, says(answer))
		}
	}
	_, answer, _ := ask(t, server.Client(), url, jsonType, `{"text":["a b"],"scores":true,"links":1,"target_lang":"`+target+`"}`)
	if !regexp.MustCompile(`"details":{"score":-[^}]*"words":\[{"source":`).MatchString(says(answer)) {
		t.Errorf("details: %s", says(answer))
	}
	split := func(more string) string {
		_, answer, _ := ask(t, server.Client(), url, jsonType, `{"text":["<d>a <x>b</x></d>"],"tag_handling":"xml",`+more+
			`"target_lang":"`+target+`"}`)
		return says(answer)
	}
	apart := split(`"splitting_tags":"x",`)
	if inside := split(""); inside == apart || split(`"splitting_tags":["y"],"outline_detection":"0",`) != inside {
		t.Errorf("splitting_tags: %s and %s", inside, apart)
	}
	if got := split(`"outline_detection":"maybe",`); !strings.Contains(got, "outline_detection must be true or false") {
		t.Errorf("outline_detection: %s", got)
	}
	// What DeepL's clients, and Weblate, ask besides.
	for path, want := range map[string]string{
		"/v2/usage":                   `{"character_count":324,"character_limit":1000000000000}`,
		"/v2/glossaries":              `{"glossaries":[]}`,
		"/v2/glossary-language-pairs": `{"supported_languages":[]}`,
		"/v2/document":                `{"message":"Not Found"}`,
		"/v3/languages":               `{"message":"Not Found"}`,
	} {
		if _, answer, _ := ask(t, server.Client(), server.URL+path, "", ""); says(answer) != want {
			t.Errorf("%s answers %s", path, says(answer))
		}
	}
	for query, code := range map[string]string{"?type=source": source, "?type=target": target, "": source} {
		_, answer, _ := ask(t, server.Client(), server.URL+"/v2/languages"+query, "", "")
		if strings.Count(says(answer), `"language":`) != 1 ||
			!strings.Contains(says(answer), `"language":"`+strings.ToUpper(code)+`"`) {
			t.Errorf("languages: %s", says(answer))
		}
	}
	inBody, err := http.NewRequest("GET", server.URL+"/v2/languages", strings.NewReader("type=target"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(inBody)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); !strings.Contains(string(text), `"supports_formality":false`) {
		t.Errorf("languages asked for in a body: %s", text)
	}
	form := &counted{rest: "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n" +
		strings.Repeat("a", 1<<20)}
	request := httptest.NewRequest("GET", "/v2/languages", form)
	request.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	a.handler().ServeHTTP(httptest.NewRecorder(), request)
	if form.read > 1<<16 {
		t.Errorf("%d bytes of a form that nobody asked for are read", form.read)
	}
}

// counted counts what is read of a text.
type counted struct {
	rest string
	read int
}

func (c *counted) Read(p []byte) (n int, err error) {
	if n = copy(p, c.rest); n == 0 {
		err = io.EOF
	}
	c.rest, c.read = c.rest[n:], c.read+n
	return n, err
}

// TestUntranslatedCharacters: what was not translated does not count as if it had been.
func TestUntranslatedCharacters(t *testing.T) {
	a := started(t)
	server := httptest.NewServer(a.handler())
	defer server.Close()
	source, target := a.models[0].pair()
	for _, c := range []struct {
		terms  string
		status int
		chars  int64
	}{{`{"x":" "}`, 400, 0}, {`{}`, 200, 3}} {
		body := fmt.Sprintf(`{"q":"a b","source":%q,"target":%q,"terms":%s}`, source, target, c.terms)
		status, answer, _ := ask(t, server.Client(), server.URL+"/translate", jsonType, body)
		if got := a.metrics.chars.Load(); status != c.status || got != c.chars {
			t.Errorf("%d %s: %d characters, want %d", status, says(answer), got, c.chars)
		}
	}
}

// TestPredict: a language model tells the loss of each word, which is Score's, and what may follow.
func TestPredict(t *testing.T) {
	a := started(t)
	server := httptest.NewServer(a.handler())
	defer server.Close()
	words := a.models[1].predictor.model.Words
	text := words.Word(3) + " " + words.Word(4) + "  " + words.Word(3) + "\n"
	status, answer, _ := ask(t, server.Client(), server.URL+"/predict", jsonType, `{"top":3,"q":`+says(text)+`}`)
	object, _ := answer.(map[string]any)
	score, err := a.models[1].predictor.model.Score(t.Context(), text)
	if status != 200 || err != nil || object["tokens"] != float64(score.Tokens) ||
		fmt.Sprintf("%.3f", object["loss"]) != fmt.Sprintf("%.3f", score.NLL) || len(object["next"].([]any)) != 3 ||
		len(object["words"].([]any)) != 4 {
		t.Errorf("%d %s, and Score says %+v, %v", status, says(answer), score, err)
	}
	if status, answer, _ := ask(t, server.Client(), server.URL+"/predict", formType, "q=&top=2"); status != 200 ||
		answer.(map[string]any)["perplexity"] != nil {
		t.Errorf("no words: %d %s", status, says(answer))
	}
	if status, answer, _ := ask(t, server.Client(), server.URL+"/predict", formType, "q=Qwrtz"); status != 400 ||
		!strings.Contains(says(answer), "does not know") {
		t.Errorf("an unknown word: %d %s", status, says(answer))
	}
	if err := a.models[1].predictor.reload(); err != nil {
		t.Error(err)
	}
}
