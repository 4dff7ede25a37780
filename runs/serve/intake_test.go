package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// slowly sends count requests without the last byte of their bodies, and returns their connections.
func slowly(t *testing.T, a *app, address, body string, count int) (senders []net.Conn) {
	t.Helper()
	for range count {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := fmt.Fprintf(c, "POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
			jsonType, len(body), body[:len(body)-1]); err != nil {
			t.Fatal(err)
		}
		senders = append(senders, c)
	}
	return senders
}

// arrivals counts the bodies that are arriving.
func (in *intake) arrivals() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.order.Len()
}

// status reads the answer to a request.
func status(c net.Conn) (code int, body string) {
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// TestSlowSenders: more callers than there are slots send their bodies slowly. Others are answered meanwhile, and so
// are the slow ones when they have sent all.
func TestSlowSenders(t *testing.T) {
	a := started(t)
	address, _ := listening(t, a)
	source, target := a.models[0].pair()
	body := fmt.Sprintf(`{"q":"a line","source":%q,"target":%q}`, source, target)
	client := &http.Client{Transport: &http.Transport{}}
	good := func() {
		t.Helper()
		if code, answer, _ := ask(t, client, "http://"+address+"/translate", jsonType, body); code != 200 {
			t.Errorf("a good request: %d %s", code, says(answer))
		}
	}
	good()
	client.CloseIdleConnections()
	before := usedNow(t)
	senders := slowly(t, a, address, body, 600)
	for a.bodies.arrivals() < len(senders) {
		time.Sleep(time.Millisecond)
	}
	for range 20 {
		good()
	}
	if n := a.bodies.arrivals(); n != len(senders) {
		t.Errorf("of %d slow senders %d were waited for", len(senders), n)
	}
	for i, c := range senders {
		if i%2 == 0 {
			c.Close()
			continue
		}
		if i%3 == 0 {
			c.(*net.TCPConn).CloseWrite()
			continue
		}
		io.WriteString(c, body[len(body)-1:])
	}
	for i, c := range senders {
		want := 200
		switch {
		case i%2 == 0:
			continue
		case i%3 == 0:
			want = 499 // half closed before the end of the body
		}
		if code, text := status(c); code != want {
			t.Errorf("sender %d: %d %s, want %d", i, code, text, want)
		}
		c.Close()
	}
	client.CloseIdleConnections()
	returned(t, before)
	if a.bodies.free != arriving*a.bodies.limit {
		t.Errorf("%d bytes of the budget are free, and no body is arriving", a.bodies.free)
	}
}

// TestCrowd: where slow senders hold what the server has for bodies, the oldest ones give way to whoever comes.
func TestCrowd(t *testing.T) {
	a := started(t, "-max-chars", "1")
	address, _ := listening(t, a)
	source, target := a.models[0].pair()
	body := fmt.Sprintf(`{"q":"a","source":%q,"target":%q}`, source, target)
	room := int(a.bodies.free / (connectionBytes + int64(len(body)-1)))
	var gone atomic.Int64
	for _, c := range slowly(t, a, address, body, room+50) {
		go func() {
			code, text := status(c)
			if code == 408 && text == says(map[string]string{"error": errCrowded.Text})+"\n" {
				gone.Add(1)
			} else if code != 0 { // 0 at the end of the test
				t.Errorf("%d %s", code, text)
			}
		}()
	}
	for gone.Load() < 50 {
		time.Sleep(time.Millisecond)
	}
	if code, answer, _ := ask(t, http.DefaultClient, "http://"+address+"/translate", jsonType, body); code != 200 {
		t.Errorf("a good request: %d %s", code, says(answer))
	}
	if n := gone.Load(); n > 51 {
		t.Errorf("%d gave way, and 51 had to", n)
	}
}

// TestSlowBody: a body that lasts longer than the server reads is 408.
func TestSlowBody(t *testing.T) {
	a := started(t)
	server := httptest.NewUnstartedServer(a.handler())
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Start()
	defer server.Close()
	c := slowly(t, a, server.Listener.Addr().String(), `{"q":"a"}`, 1)[0]
	if code, text := status(c); code != 408 || text != says(map[string]string{"error": errSlow.Text})+"\n" {
		t.Errorf("%d %s", code, text)
	}
}
