package corpus

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/bytebpe"
)

// StoreSettings are keys of the section data.
type StoreSettings struct {
	Store string `toml:"store" resume:"free" help:"folder that keeps encoded training text for other runs; empty is aperture/corpora in the user's cache, and none keeps it in memory"`
}

// Cache is a folder that keeps what was made of texts: ids, codes, vocabularies, sums of files. Names are hashes of
// what went in, so that nothing is ever out of date; anything may be deleted. If it cannot be used, all is made anew in
// memory.
type Cache struct {
	folder  string
	prepare sync.Once
	problem error // why it cannot be used
}

// Cache is the one that the settings name.
func (s StoreSettings) Cache() *Cache {
	c := &Cache{folder: s.Store}
	switch s.Store {
	case "none":
		c.folder, c.problem = "", ErrSwitchedOff
	case "":
		user, err := os.UserCacheDir()
		c.folder, c.problem = filepath.Join(user, "aperture", "corpora"), err
	}
	return c
}

// ErrSwitchedOff is why a cache keeps nothing by choice.
var ErrSwitchedOff = errors.New(`data.store = "none"`)

// writable makes the folder, and says why it cannot be written.
func (c *Cache) writable() error {
	c.prepare.Do(func() {
		if c.problem == nil {
			c.problem = os.MkdirAll(c.folder, 0o777)
		}
	})
	return c.problem
}

// Key names something by what it was made from.
type Key [sha256.Size]byte

// sources are this package's: how lines are read, words are split off and stores are laid out. Those of package bytebpe,
// which splits words into pieces, belong to them.
//
//go:embed *.go
var sources embed.FS

var edition = sync.OnceValue(func() string { return tokenize.Edition(sources, bytebpe.Sources) })

// NewKey hashes parts, each with its length, and the edition of the program that reads and splits text.
func NewKey(parts ...string) Key {
	sum := sha256.New()
	for _, part := range append([]string{edition()}, parts...) {
		fmt.Fprintf(sum, "%d %s\n", len(part), part)
	}
	return Key(sum.Sum(nil))
}

func (k Key) String() string { return hex.EncodeToString(k[:]) }

func (c *Cache) path(key Key, ending string) string {
	return filepath.Join(c.folder, key.String()[:32]+ending)
}

// Get reads what Put kept under a key, false where there is nothing whole.
func (c *Cache) Get(key Key) ([]byte, bool) { return c.get(key, ".learnt") }

// Put keeps something small under a key, behind the key and its sum.
func (c *Cache) Put(key Key, data []byte) error { return c.put(key, ".learnt", data) }

// mostKept bounds what is read into memory at once, in bytes.
const mostKept = 1 << 28

func (c *Cache) get(key Key, ending string) ([]byte, bool) {
	if c.problem != nil {
		return nil, false
	}
	file, size, err := openRegular(c.path(key, ending))
	if err != nil {
		return nil, false
	}
	defer file.Close()
	if size < 2*sha256.Size || size > mostKept {
		return nil, false
	}
	data := make([]byte, size)
	if readAt(file, data, 0) != nil {
		return nil, false
	}
	body := data[2*sha256.Size:]
	sum := sha256.Sum256(body)
	return body, [sha256.Size]byte(data) == key && [sha256.Size]byte(data[sha256.Size:]) == sum
}

func (c *Cache) put(key Key, ending string, data []byte) error {
	if err := c.writable(); err != nil {
		return err
	}
	if len(data) > mostKept-2*sha256.Size {
		return fmt.Errorf("%d bytes are more than the %d that a cache keeps", len(data), mostKept-2*sha256.Size)
	}
	sum := sha256.Sum256(data)
	return files.Write(c.path(key, ending), append(append(key[:], sum[:]...), data...))
}
