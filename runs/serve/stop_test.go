package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/torch"
)

// TestDrain: callers of many connections go on asking while the server is told to stop; each request that it has
// accepted is answered.
func TestDrain(t *testing.T) {
	a := started(t)
	address, stop := listening(t, a)
	source, target := a.models[0].pair()
	body := fmt.Sprintf(`{"q":"a line of words","source":%q,"target":%q}`, source, target)
	var answered, refused atomic.Int64
	quit := make(chan bool)
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			for {
				select {
				case <-quit:
					return
				default:
				}
				response, err := client.Post("http://"+address+"/translate", jsonType, strings.NewReader(body))
				if err != nil {
					refused.Add(1) // the connection was not accepted any more, as the count below shows
					return
				}
				text, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || response.StatusCode != 200 || !strings.Contains(string(text), "translatedText") {
					t.Errorf("%d %s %v", response.StatusCode, text, err)
				}
				answered.Add(1)
			}
		})
	}
	for answered.Load() < 100 {
		time.Sleep(time.Millisecond)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	close(quit)
	wait.Wait()
	t.Logf("%d answers; %d connections came too late", answered.Load(), refused.Load())
	families, err := a.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	read := 0.0
	for _, f := range families {
		if f.GetName() == "aperture_http_requests_total" {
			for _, m := range f.GetMetric() {
				read += m.GetCounter().GetValue()
			}
		}
	}
	if int64(read) != answered.Load() {
		t.Errorf("the server has read %v requests, and %d answers came", read, answered.Load())
	}
}

// TestGrace: a request of any model that has no answer when the grace is over hears so, and the error says what to do.
func TestGrace(t *testing.T) {
	a := started(t, "-grace", "200ms")
	address, stop := listening(t, a)
	source, target := a.models[0].pair()
	release := holdTorch(t)
	answer := make(chan string)
	pair := "&source=" + source + "&target=" + target
	for path, body := range map[string]string{"/translate": "q=a" + pair, "/predict": "q="} {
		go func() {
			status, x, _ := ask(t, http.DefaultClient, "http://"+address+path, formType, body)
			answer <- fmt.Sprint(path, " ", status, " ", says(x))
		}()
	}
	eventually(t, "a translation waits", func() bool { return a.models[0].waiting() == 1 })
	eventually(t, "a prediction waits", func() bool { return len(a.models[1].predictor.turn) == 1 })
	stopped := make(chan error)
	go func() { stopped <- stop() }()
	for range a.models {
		if got := <-answer; !strings.HasSuffix(got, ` 503 {"error":"the server is stopping"}`) {
			t.Error(got)
		}
	}
	release()
	if err := <-stopped; err == nil || !strings.Contains(err.Error(), "raise -grace") {
		t.Error(err)
	}
}

// TestUnusedConnection: a connection on which no request has come makes no stop fail.
func TestUnusedConnection(t *testing.T) {
	a := started(t, "-grace", "200ms")
	address, stop := listening(t, a)
	unused, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer unused.Close()
	later := &http.Client{Transport: &http.Transport{}} // an answer to which comes when unused has been accepted
	if status, _, _ := ask(t, later, "http://"+address+"/health", "", ""); status != 200 {
		t.Errorf("/health answers %d", status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestSecondSignal: it ends the server at once, and the error does not speak of the grace.
func TestSecondSignal(t *testing.T) {
	a := started(t, "-grace", "1m")
	signals := make(chan os.Signal, 2)
	address, stop := listeningFor(t, a, signals)
	release := holdTorch(t)
	answer := make(chan any)
	go func() {
		_, x, _ := ask(t, http.DefaultClient, "http://"+address+"/predict", formType, "q=")
		answer <- x
	}()
	eventually(t, "a prediction waits", func() bool { return len(a.models[1].predictor.turn) == 1 })
	signals <- os.Interrupt
	stopped := make(chan error)
	go func() { stopped <- stop() }()
	<-answer
	release()
	if err := <-stopped; err == nil || err.Error() != "some requests were not answered when a second signal came" {
		t.Error(err)
	}
}

// TestHangup: SIGHUP comes while 64 requests wait. They are answered by the model that they came for, and later ones by
// what has come into its folder; a folder that cannot be read leaves that model in place.
func TestHangup(t *testing.T) {
	first, err := translatorRun()
	if err != nil {
		t.Fatal(err)
	}
	second, err := successorRun()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(folder, os.DirFS(first)); err != nil {
		t.Fatal(err)
	}
	a := started(t, "-model", "served="+folder, "-model", "next="+second)
	address, _ := listening(t, a)
	source, target := a.models[0].pair()
	says := func(model string) string { // with the score, of which the batch decides the rounding
		status, answer, _ := ask(t, http.DefaultClient, "http://"+address+"/translate", jsonType,
			fmt.Sprintf(`{"q":"a line of words","source":%q,"target":%q,"scores":true,"model":%q}`, source, target, model))
		object, _ := answer.(map[string]any)
		details, _ := object["details"].([]any)
		if status != 200 || len(details) != 1 {
			t.Errorf("%d %s", status, says(answer))
			return ""
		}
		return fmt.Sprintf("%s, score %.4f", object["translatedText"], details[0].(map[string]any)["score"])
	}
	before, after := says("served"), says("next")
	if before == after {
		t.Fatalf("two models answer %s", before)
	}
	release := holdTorch(t)
	var wait sync.WaitGroup
	for range 64 {
		wait.Go(func() {
			if got := says("served"); got != before {
				t.Errorf("in flight: %s, want %s", got, before)
			}
		})
	}
	for a.models[2].translator.Waiting() < 64 {
		time.Sleep(time.Millisecond)
	}
	if err := os.Rename(folder, folder+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(folder, os.DirFS(second)); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(os.Getpid(), syscall.SIGHUP)
	release()
	wait.Wait()
	eventually(t, "the new model answers", func() bool { return says("served") == after })

	if err := os.Rename(folder, folder+".new"); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(os.Getpid(), syscall.SIGHUP)
	eventually(t, "the reload fails", func() bool {
		w := httptest.NewRecorder()
		a.metrics.handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return strings.Contains(w.Body.String(), `aperture_errors_total{kind="reload"} 1`)
	})
	if got := says("served"); got != after {
		t.Errorf("without a folder: %s, want %s", got, after)
	}
}

// holdTorch keeps the torch thread busy until release, or until the test ends: one that fails ends all the same.
func holdTorch(t *testing.T) (release func()) {
	t.Helper()
	began, end := make(chan bool), make(chan bool)
	go torch.Do(func() {
		close(began)
		<-end
	})
	<-began
	release = sync.OnceFunc(func() { close(end) })
	t.Cleanup(release)
	return release
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came that %s", what)
		}
	}
}

// TestBusy: a full queue is 429 with the time to come back, a request that lasts too long 504.
func TestBusy(t *testing.T) {
	a := started(t, "-queue", "2", "-timeout", "300ms")
	server := httptest.NewServer(a.handler())
	defer server.Close()
	source, target := a.models[0].pair()
	release := holdTorch(t)
	body := fmt.Sprintf(`{"q":["a","b"],"source":%q,"target":%q}`, source, target)
	slow := make(chan int)
	go func() {
		status, _, _ := ask(t, server.Client(), server.URL+"/translate", jsonType, body)
		slow <- status
	}()
	for a.models[0].translator.Waiting() < 2 {
		time.Sleep(time.Millisecond)
	}
	status, answer, h := ask(t, server.Client(), server.URL+"/translate", jsonType, body)
	if status != 429 || h.Get("Retry-After") == "" || !strings.Contains(says(answer), "queue is full with 2 waiting") {
		t.Errorf("%d %s, Retry-After %q", status, says(answer), h.Get("Retry-After"))
	}
	if status, answer, _ := ask(t, server.Client(), server.URL+"/ready", "", ""); status != 503 {
		t.Errorf("/ready: %d %s", status, says(answer))
	}
	if status := <-slow; status != 504 || a.models[0].translator.Waiting() != 0 {
		t.Errorf("a request that waits too long: %d, and %d wait", status, a.models[0].translator.Waiting())
	}
	release()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := a.models[0].translator.Translate(ctx, []translation.Request{{Line: "a"}}, decode.Options{},
		translation.SplitLong); err != nil {
		t.Error(err)
	}
}

// TestBusyLanguageModel: the queue of a language model is bounded, too.
func TestBusyLanguageModel(t *testing.T) {
	a := started(t, "-queue", "2")
	server := httptest.NewServer(a.handler())
	defer server.Close()
	p := a.models[1].predictor
	release := holdTorch(t)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	for range 3 {
		go func() {
			_, err := p.predict(ctx, p.model.Words.Word(3), 1)
			left <- err
		}()
	}
	eventually(t, "two wait behind one", func() bool { return p.waiting() == 2 && len(p.turn) == 1 })
	status, answer, h := ask(t, server.Client(), server.URL+"/predict", formType, "q=")
	if status != 429 || h.Get("Retry-After") != "1" || !strings.Contains(says(answer), "queue is full with 2 waiting") {
		t.Errorf("%d %s, Retry-After %q", status, says(answer), h.Get("Retry-After"))
	}
	if status, answer, _ := ask(t, server.Client(), server.URL+"/ready", "", ""); status != 503 {
		t.Errorf("/ready: %d %s", status, says(answer))
	}
	w := httptest.NewRecorder()
	a.metrics.handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(w.Body.String(), `aperture_queue_sentences{model="ptb"} 2`) {
		t.Error("/metrics has no queue of two texts")
	}
	cancel()
	for range 3 {
		if err := <-left; err != context.Canceled {
			t.Errorf("a prediction that is not wanted any more: %v", err)
		}
	}
	release()
	if status, answer, _ := ask(t, server.Client(), server.URL+"/predict", formType, "q="); status != 200 {
		t.Errorf("after it: %d %s", status, says(answer))
	}
}

// TestTurns: a translation does not stand behind all predictions that came before it.
func TestTurns(t *testing.T) {
	a := started(t)
	p := a.models[1].predictor
	word := p.model.Words.Word(3) + " "
	text := strings.Repeat(word, 20000/len(word)) // which takes long enough to see the order
	release := holdTorch(t)
	ctx, cancel := context.WithCancel(t.Context())
	const predictions = 40
	var done atomic.Int64
	var wait sync.WaitGroup
	for range predictions {
		wait.Go(func() {
			if _, err := p.predict(ctx, text, 1); err == nil {
				done.Add(1)
			}
		})
	}
	eventually(t, "all predictions wait", func() bool { return p.waiting() == predictions-1 && len(p.turn) == 1 })
	time.Sleep(100 * time.Millisecond) // for the first to stand at the torch thread
	before := make(chan int64)
	go func() {
		_, err := a.models[0].translator.Translate(t.Context(), []translation.Request{{Line: "a"}}, decode.Options{},
			translation.SplitLong)
		if err != nil {
			t.Error(err)
		}
		before <- done.Load()
	}()
	eventually(t, "a translation waits", func() bool { return a.models[0].translator.Waiting() == 1 })
	release()
	if n := <-before; n > predictions/2 {
		t.Errorf("%d of %d predictions were made before a translation", n, predictions)
	}
	cancel() // the rest
	wait.Wait()
}
