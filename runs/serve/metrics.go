package main

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/aperture-ml/aperture/models/translation"
)

// metrics are what /metrics shows.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	errors    *prometheus.CounterVec
	sentences *prometheus.HistogramVec
	padded    *prometheus.HistogramVec
	took      *prometheus.HistogramVec
	tokens    *prometheus.CounterVec
	chars     atomic.Int64 // of texts that were translated
	begun     atomic.Int64 // requests that are being answered
}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "aperture", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Namespace: "aperture", Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: counter("http_requests_total", "Requests by path and status.", "path", "status"),
		seconds: histogram("http_request_duration_seconds", "Time from a request's header to its answer, by path.",
			prometheus.ExponentialBuckets(0.001, 2, 17), "path"),
		errors:    counter("errors_total", "Requests, batches and reloads that failed, by kind.", "kind"),
		sentences: histogram("batch_sentences", "Sentences of a batch.", prometheus.ExponentialBuckets(1, 2, 10), "model"),
		padded: histogram("batch_tokens", "Source tokens of a batch, padding included.",
			prometheus.ExponentialBuckets(8, 2, 12), "model"),
		took: histogram("batch_duration_seconds", "Time that a batch computes.",
			prometheus.ExponentialBuckets(0.001, 2, 17), "model"),
		tokens: counter("tokens_total", "Tokens read (source) and written (target).", "model", "side"),
	}
	chars := prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "aperture", Name: "characters_total",
		Help: "Characters of the texts that were translated."}, func() float64 { return float64(m.chars.Load()) })
	inFlight := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "aperture", Name: "http_requests_in_flight",
		Help: "Requests that are being answered."}, func() float64 { return float64(m.begun.Load()) })
	m.registry.MustRegister(m.requests, m.seconds, inFlight, m.errors, m.sentences, m.padded, m.took, m.tokens, chars,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// watch adds the length of each model's queue.
func (m *metrics) watch(models []*model) {
	for _, x := range models {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "aperture",
			Name: "queue_sentences", Help: "Sentences that wait for their batch, or texts for a language model.",
			ConstLabels: prometheus.Labels{"model": x.name}}, func() float64 { return float64(x.waiting()) }))
	}
}

func (m *metrics) batch(model string, b translation.BatchStats) {
	if b.Err != nil {
		m.failed("batch")
	}
	m.sentences.WithLabelValues(model).Observe(float64(b.Sentences))
	m.padded.WithLabelValues(model).Observe(float64(b.Padded))
	m.took.WithLabelValues(model).Observe(b.Took.Seconds())
	m.tokens.WithLabelValues(model, "source").Add(float64(b.Tokens))
	m.tokens.WithLabelValues(model, "target").Add(float64(b.Symbols))
}

func (m *metrics) failed(kind string) { m.errors.WithLabelValues(kind).Inc() }

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// answer is a response that remembers its status.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// count counts the requests of a path. Paths that are not the server's own share one name.
func (m *metrics) count(path string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m.begun.Add(1)
		defer m.begun.Add(-1)
		began, a := time.Now(), &answer{ResponseWriter: w}
		next(a, r)
		m.requests.WithLabelValues(path, strconv.Itoa(a.status)).Inc()
		m.seconds.WithLabelValues(path).Observe(time.Since(began).Seconds())
	}
}
