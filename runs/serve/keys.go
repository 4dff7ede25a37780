package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/aperture-ml/aperture/runs/serve/internal/request"
	"github.com/aperture-ml/aperture/tokenize"
)

// keyring is the digests of the keys that callers may give; nil lets any caller in. Looking a digest up tells nothing
// of the key by the time that it takes.
type keyring map[[sha256.Size]byte]bool

// readKeys reads a file of keys, a line each. Empty lines, and those that begin with #, say nothing.
func readKeys(path string) (keyring, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ring := keyring{}
	lines := tokenize.NewLines(file, path)
	for lines.Next() {
		key := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if key != "" && !strings.HasPrefix(key, "#") {
			ring[sha256.Sum256([]byte(key))] = true
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(ring) == 0 {
		return nil, fmt.Errorf("%s has no key: write one a line", path)
	}
	return ring, nil
}

// check is an error where a caller has no key that counts.
func (k keyring) check(key string) error {
	switch {
	case k == nil || k[sha256.Sum256([]byte(key))]:
		return nil
	case key == "":
		return &request.Error{Status: http.StatusForbidden, Kind: "key", Text: "this server answers callers with an API key"}
	}
	return &request.Error{Status: http.StatusForbidden, Kind: "key", Text: "Invalid API key"}
}
