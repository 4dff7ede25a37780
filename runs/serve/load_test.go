package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
)

// TestLoad measures a server, as docs/serving.md says: APERTURE_SERVE_RUN names a run folder and APERTURE_SERVE_LINES a
// file of lines. With 1, 8 and 64 clients, each of which sends a line and waits for its answer, every answer must be
// what the translator gives to all lines in one call, as runs/translate makes it; the two are timed in turn.
func TestLoad(t *testing.T) {
	folder, file := os.Getenv("APERTURE_SERVE_RUN"), os.Getenv("APERTURE_SERVE_LINES")
	if folder == "" || file == "" {
		t.Skip("APERTURE_SERVE_RUN and APERTURE_SERVE_LINES do not name a run folder and a file of lines")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	f, err := parse([]string{"-model", folder, "-threads=1"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(f, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer a.close(t.Context())
	address, _ := listening(t, a)
	made, err := translation.Open(folder, translation.Options{Device: "cpu", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	var want []translation.Translation
	alone := func() {
		began, cpu := time.Now(), fixtures.ProcessorTime()
		if want, err = made.Translate(t.Context(), lines, decode.Options{}); err != nil {
			t.Fatal(err)
		}
		report(t, "one call", len(lines), time.Since(began), fixtures.ProcessorTime()-cpu, nil)
	}
	source, target := a.models[0].pair()
	alone()
	for range 3 {
		for _, clients := range []int{64, 8, 1} {
			some := lines
			if clients == 1 {
				some = lines[:min(len(lines), 200)]
			}
			transport := &http.Transport{MaxIdleConnsPerHost: clients}
			client := &http.Client{Transport: transport}
			var next atomic.Int64
			var wait sync.WaitGroup
			times := make([]time.Duration, len(some))
			began, cpu := time.Now(), fixtures.ProcessorTime()
			for range clients {
				wait.Go(func() {
					for {
						i := int(next.Add(1)) - 1
						if i >= len(some) {
							return
						}
						body, _ := json.Marshal(map[string]string{"q": some[i], "source": source, "target": target})
						sent := time.Now()
						status, answer, _ := ask(t, client, "http://"+address+"/translate", jsonType, string(body))
						times[i] = time.Since(sent)
						if got := says(map[string]string{"translatedText": want[i].Text}); status != 200 || says(answer) != got {
							t.Errorf("line %d: %d %s, want %s", i+1, status, says(answer), got)
						}
					}
				})
			}
			wait.Wait()
			report(t, fmt.Sprintf("%d clients", clients), len(some), time.Since(began), fixtures.ProcessorTime()-cpu, times)
			transport.CloseIdleConnections()
		}
		alone()
	}
}

func report(t *testing.T, what string, n int, wall, cpu time.Duration, times []time.Duration) {
	line := fmt.Sprintf("%-10s  %6.1f lines/s  %6.1f lines a CPU second", what, float64(n)/wall.Seconds(),
		float64(n)/cpu.Seconds())
	if slices.Sort(times); len(times) > 0 {
		for _, p := range []int{50, 95, 99} {
			line += fmt.Sprintf("  p%d %v", p, times[len(times)*p/100].Round(time.Millisecond))
		}
	}
	t.Log(line)
}
