package parallel

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strconv"
	"sync"
	"time"
)

// tokenVariable holds the secret of a run's processes on several hosts.
const tokenVariable = "APERTURE_GROUP_TOKEN"

// shortestToken is how long a token is at least: whoever connects can try tokens at home.
const shortestToken = 16

const loopback = "127.0.0.1"

// A gate stands before a store that listens on the loopback alone, and lets in from other hosts who knows the token.
// Both sides of a connection prove it by TLS with one key, which follows from the token, so that strangers can neither
// read nor write.
type gate struct{ config *tls.Config }

var errStranger = errors.New("the other side has another token")

func newGate(token string) (gate, error) {
	seed := hmac.New(sha256.New, []byte(token))
	seed.Write([]byte("aperture store"))
	key := ed25519.NewKeyFromSeed(seed.Sum(nil))
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return gate{}, err
	}
	return gate{&tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // the key is checked, and nobody has signed it
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if !key.Public().(ed25519.PublicKey).Equal(s.PeerCertificates[0].PublicKey) {
				return errStranger
			}
			return nil
		},
	}}, nil
}

// open lets in, at an address of this machine, who knows the token, and connects them to the store at a port of the
// loopback.
func (g gate) open(address string, store int) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil { // too many open files, say
				time.Sleep(beat)
				continue
			}
			go func() {
				outer, err := g.known(tls.Server(c, g.config))
				if err != nil {
					return
				}
				inner, err := net.Dial("tcp", net.JoinHostPort(loopback, strconv.Itoa(store)))
				if err != nil {
					outer.Close()
					return
				}
				join(outer, inner)
			}()
		}
	}()
	return nil
}

// reach gives the port of the loopback at which one connection reaches the store behind the gate at an address.
func (g gate) reach(address string) (port int, err error) {
	outer, err := net.DialTimeout("tcp", address, brief)
	if err != nil {
		return 0, err
	}
	if outer, err = g.known(tls.Client(outer, g.config)); err != nil {
		return 0, fmt.Errorf("what answers there does not know this process's %s: set it to the same on all hosts (%w)",
			tokenVariable, err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		outer.Close()
		return 0, err
	}
	go func() {
		inner, err := l.Accept()
		l.Close()
		if err != nil {
			outer.Close()
			return
		}
		join(outer, inner)
	}()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// known closes a connection whose other side does not prove that it knows the token.
func (g gate) known(c *tls.Conn) (net.Conn, error) {
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if err := c.Handshake(); err != nil {
		c.Close()
		return nil, err
	}
	c.SetDeadline(time.Time{})
	return c, nil
}

// join passes on what either of two connections says, until one ends.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			io.Copy(way[0], way[1]) // an error ends it as the end does
			a.Close()
			b.Close()
		})
	}
	both.Wait()
}
