package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// malformed are requests that no server should stumble over, and the status that they are answered with: 0 where the
// caller goes without waiting for an answer.
func malformed(source, target string) []struct {
	name, request string
	status        int
} {
	post := func(path, kind, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
			path, kind, len(body), body)
	}
	pair := fmt.Sprintf(`"source":%q,"target":%q`, source, target)
	q := func(value string) string { return post("/translate", jsonType, `{"q":`+value+`,`+pair+`}`) }
	deep := strings.Repeat("[", 20000)
	return []struct {
		name, request string
		status        int
	}{
		{"JSON cut off", post("/translate", jsonType, `{"q":"a`), 400},
		{"no JSON", post("/translate", jsonType, "q=a"), 400},
		{"an array", post("/translate", jsonType, "[1]"), 400},
		{"null", post("/translate", jsonType, "null"), 400},
		{"two objects", post("/translate", jsonType, "{}{}"), 400},
		{"deep", post("/translate", jsonType, `{"q":`+deep), 400},
		{"empty", post("/translate", jsonType, ""), 400},
		{"a number for q", q("1"), 400},
		{"an object for q", q(`{"a":"b"}`), 400},
		{"numbers in q", q(`["a",1]`), 400},
		{"no q", post("/translate", jsonType, "{"+pair+"}"), 400},
		{"no source", post("/translate", jsonType, `{"q":"a","target":"x"}`), 400},
		{"a list for source", post("/translate", jsonType, `{"q":"a","source":["x"],"target":"x"}`), 400},
		{"an unknown source", post("/translate", jsonType, `{"q":"a","source":"xx","target":"`+target+`"}`), 400},
		{"an unknown target", post("/translate", formType, "q=a&source="+source+"&target=%E2%98%83"), 400},
		{"another format", post("/translate", formType, "q=a&format=pdf&source="+source+"&target="+target), 400},
		{"many alternatives", post("/translate", jsonType, `{"q":"a","alternatives":1e9,`+pair+`}`), 400},
		{"half an alternative", post("/translate", jsonType, `{"q":"a","alternatives":0.5,`+pair+`}`), 400},
		{"NUL", q(`"a\u0000b"`), 400},
		{"NUL in a form", post("/translate", formType, "q=%00&source="+source+"&target="+target), 400},
		{"half a surrogate", q(`"\ud800"`), 400},
		{"the other half", q(`"a\\\udc00\ud83d"`), 400},
		{"no UTF-8", q("\"\xff\""), 400},
		{"no UTF-8 in a form", post("/translate", formType, "q=%ff&source="+source+"&target="+target), 400},
		{"JSON as a form", post("/translate", formType, `{"q":"a",`+pair+`}`), 400},
		{"a bad form", post("/translate", "multipart/form-data; boundary=x", "--x\r\nrubbish"), 400},
		{"a form without boundary", post("/translate", "multipart/form-data", "x"), 400},
		{"XML", post("/translate", "text/xml", "<q/>"), 415},
		{"a bad type", post("/translate", ";;;", "q"), 415},
		{"a bad pattern", post("/translate", jsonType, `{"q":"a","keep":"(",`+pair+`}`), 400},
		{"bad terms", post("/translate", jsonType, `{"q":"a","terms":{"a":1},`+pair+`}`), 400},
		{"NUL in a term", post("/translate", jsonType, `{"q":"a","terms":{"a\u0000":"b"},`+pair+`}`), 400},
		{"half a surrogate pair in terms of a form", post("/translate", formType, `terms={"a":"\ud800"}&q=a&source=`+source+"&target="+
			target), 400},
		{"empty terms", post("/translate", jsonType, `{"q":"a","terms":{"a":""},`+pair+`}`), 400},
		{"many characters", q(`"` + strings.Repeat("é", 20001) + `"`), 413},
		{"many texts", q("[" + strings.Repeat(`"",`, 300) + `""]`), 413},
		{"a word beyond all positions", q(`"` + strings.Repeat("z", 19000) + `"`), 400},
		{"50 MB", strings.Replace(q(""), "Content-Length: ", "Content-Length: 52428800\r\nX: ", 1) + strings.Repeat("a", 1<<20), 413},
		{"DeepL without a text", post("/v2/translate", jsonType, `{"target_lang":"`+target+`"}`), 400},
		{"DeepL in pieces", post("/v2/translate", jsonType, `{"text":[["a"]],"target_lang":"`+target+`"}`), 400},
		{"PUT", strings.Replace(q(`"a"`), "POST", "PUT", 1), 405},
		{"another path", strings.Replace(q(`"a"`), "/translate", "/../../etc/passwd", 1), 307},
		{"many headers", "GET /health HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 60) + "\r\n", 431},
		{"no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		{"a bad length", "POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
		{"two lengths", "POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", 400},
		{"gone in a header", "POST /translate HTTP/1.1\r\nHost", 0},
		{"gone in a body", strings.Replace(q(`"a"`), "Content-Length: ", "Content-Length: 9", 1), 0},
		{"gone while it waits", q(`"a b c"`), 0},
		{"nothing", "", 0},
	}
}

// send sends a request as it stands. It reads the answer, and the whole of it; a caller that waits for none goes.
func send(address, request string, wait, half bool) (status int, body []byte, err error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(60 * time.Second))
	go io.WriteString(c, request) // a server may answer and close before it has read all
	if half {
		time.Sleep(time.Millisecond)
		c.(*net.TCPConn).CloseWrite()
	}
	if !wait {
		time.Sleep(time.Millisecond)
		return 0, nil, nil
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// TestMalformed: whatever comes, the answer has a status of 4xx and the door's shape, or leads from a path with dots to
// the one that it means; others are answered meanwhile, and afterwards there are no more goroutines, descriptors and
// memory than before. APERTURE_TEST_EVERYTHING=1 sends 10,000.
func TestMalformed(t *testing.T) {
	a := started(t)
	address, _ := listening(t, a)
	source, target := a.models[0].pair()
	good := fmt.Sprintf(`{"q":"a line","source":%q,"target":%q}`, source, target)
	requests := malformed(source, target)
	count := 5 * len(requests)
	if os.Getenv("APERTURE_TEST_EVERYTHING") == "1" {
		count = 10000
	}
	client := &http.Client{Transport: &http.Transport{}}
	answered := func() {
		if status, answer, _ := ask(t, client, "http://"+address+"/translate", jsonType, good); status != 200 {
			t.Errorf("a good request: %d %s", status, says(answer))
		}
	}
	answered()
	client.CloseIdleConnections()
	before := usedNow(t)
	quit := make(chan bool)
	var others, senders sync.WaitGroup
	var fine atomic.Int64
	others.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				answered()
				fine.Add(1)
			}
		}
	})
	next := make(chan int)
	for range 16 {
		senders.Go(func() {
			for i := range next {
				r := requests[i%len(requests)]
				status, body, err := send(address, r.request, r.status != 0, r.status == 0 && i%2 == 0)
				if err != nil && r.status == 413 && strings.Contains(err.Error(), "reset") {
					continue // the caller was still sending when the answer, and then the end, came
				}
				if r.status == 307 && status == 301 { // which Go before 1.26 says
					status = 307
				}
				if err != nil || status != r.status {
					t.Errorf("%s: %d, %v, %.200q", r.name, status, err, body)
				}
				var answer map[string]string
				if status >= 400 && json.Unmarshal(body, &answer) != nil && !fromHTTP(body) {
					t.Errorf("%s: the answer is %.200q", r.name, body)
				}
				if text := answer["error"] + answer["message"]; strings.Contains(text, "goroutine") || len(text) > 500 {
					t.Errorf("%s: the answer is %.700q", r.name, text)
				}
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	senders.Wait()
	close(quit)
	others.Wait()
	client.CloseIdleConnections()
	if fine.Load() == 0 {
		t.Error("no good request was answered meanwhile")
	}
	after := returned(t, before)
	t.Logf("%d requests, %d good ones meanwhile; before %+v, after %+v", count, fine.Load(), before, after)
}

// returned waits until a process uses no more than before.
func returned(t *testing.T, before used) (after used) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		after = usedNow(t)
		if after.goroutines <= before.goroutines && after.files <= before.files || time.Now().After(deadline) {
			break
		}
	}
	if after.goroutines > before.goroutines || after.files > before.files || after.heap > before.heap+16<<20 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	return after
}

// fromHTTP reports whether an answer is that of package net/http itself, to what is no HTTP that it can read.
func fromHTTP(body []byte) bool {
	return bytes.HasPrefix(body, []byte("400 Bad Request")) || bytes.HasPrefix(body, []byte("431 Request Header"))
}

// used is what a process uses.
type used struct {
	goroutines, files int
	heap              uint64
}

func usedNow(t *testing.T) (u used) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("the system does not list the files of a process")
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return used{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}
