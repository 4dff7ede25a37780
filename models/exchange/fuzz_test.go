package exchange

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzMarianFiles reads an array of a .npz, and Marian's YAML: numbers that fit the file, and tokens with an id each.
func FuzzMarianFiles(f *testing.F) {
	array := func(header, content string) []byte {
		return []byte("\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header + content)
	}
	const shape = "{'descr': '<f4', 'fortran_order': False, 'shape': "
	for _, data := range [][]byte{
		array(shape+"(1, 2), }\n", "abcdefgh"), array(shape+"(0, 9223372036854775807), }\n", ""), array(shape+"(), }\n", "abcd"),
		array(shape+"(4611686018427387904, 4), }\n", "abcd"), array("{'descr': '\x1b', 'fortran_order': False, 'shape': (1,)}", "a"),
		[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), []byte("</s>: 0\n\"\\u2581the\": 1\n? long\n: 2\n"), []byte("a: b: 3\n'': 4\n"),
		[]byte("\"\\x1b[2J\\n\": 1\n\"\\x1b[2J\\n\": 2\n"), []byte("x: -1\n"), []byte(strings.Repeat("y", 3000)), []byte("? a\n? b\n: 1\n"),
		[]byte("type: transformer\ndim-emb: 512\ntied: [a, \"b\"]\nlist:\n  - x\n"), []byte("\"\\U0010ffff\\q\\\": 3\n"),
	} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fixtures.Promise(t, len(data), func() error {
			a, err := readNPY(bytes.NewReader(data), int64(len(data)))
			count := 1
			for _, n := range a.shape {
				count *= n
			}
			if err == nil && count != len(a.values)+len(a.bytes) {
				t.Errorf("an array of %v has %d and %d elements", a.shape, len(a.values), len(a.bytes))
			}
			return err
		})
		fixtures.Promise(t, len(data), func() error {
			ids, err := readYAMLVocabulary(data)
			for token := range ids {
				if token == "" || !utf8.ValidString(token) {
					t.Errorf("the token %q", token)
				}
			}
			return err
		})
		fixtures.Promise(t, len(data), func() error {
			c := readSettings(data)
			c.number("dim-emb", 1)
			c.real("tied", 1)
			return nil
		})
	})
}

// FuzzImport gives one file of a model that another program wrote any content.
func FuzzImport(f *testing.F) {
	var all []string
	read := map[string]func(folder string) (bool, error){}
	for _, importer := range importers {
		folder := f.TempDir()
		importer.fill(f, folder)
		found, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, found...)
		read[folder] = importer.read
	}
	fixtures.FuzzFiles(f, all, func(t *testing.T, file string) error {
		folder := filepath.Dir(file)
		_, err := read[folder](folder)
		return err
	}, "models:\n- x\xb0\x1b\n")
}
