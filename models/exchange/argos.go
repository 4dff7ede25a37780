package exchange

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// WriteArgos writes a package (.argosmodel) that Argos Translate and LibreTranslate install: a zip archive with one
// folder, which holds metadata.json, CTranslate2's folder as model, and the byte-pair codes as bpe.model. With those
// the program normalises and splits text by sacremoses, without splitting at hyphens and with escaping
// (argostranslate/tokenizer.py), so other text paths are refused.
//
// scratch is an empty folder, in which the model is made before it is packed.
func WriteArgos(w io.Writer, scratch string, m *Model, o Options) error {
	const who = "Argos Translate"
	if m.Text.Lowercase {
		return unheld(who, "lower-cases nothing", "data.lowercase", true, "data.lowercase = false")
	}
	if err := m.heldBySacremoses(who, false); err != nil {
		return err
	}
	if err := writeCTranslate2(scratch, m, o.Quantise); err != nil {
		return err
	}
	from, to := m.Text.Source, m.Text.Target
	metadata, err := json.MarshalIndent(map[string]any{
		"package_version": "1.0", "argos_version": "1.9", "links": []string{},
		"from_code": from, "from_name": LanguageName(from), "to_code": to, "to_name": LanguageName(to),
	}, "", "  ")
	if err != nil {
		return err
	}
	top := fmt.Sprintf("translate-%s_%s-1_0/", from, to)
	archive := zip.NewWriter(w)
	add := func(name string, from io.Reader) error {
		f, err := archive.CreateHeader(&zip.FileHeader{Name: top + name, Method: zip.Deflate, Modified: earliest})
		if err == nil {
			_, err = io.Copy(f, from)
		}
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{"metadata.json", metadata}, {"bpe.model", m.Codes}, {readmeFile, m.readmeOfArgos()}} {
		if err := add(f.name, bytes.NewReader(f.data)); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(scratch)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		f, err := os.Open(filepath.Join(scratch, entry.Name()))
		if err != nil {
			return err
		}
		err = add("model/"+entry.Name(), f)
		f.Close()
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

// earliest is the first day that a zip archive can name: packages of the same run are the same.
var earliest = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// LanguageName is the English name of a language by its code, or the code where it has none.
func LanguageName(code string) string {
	tag, err := language.Parse(code)
	if err != nil {
		return code
	}
	if name := display.English.Languages().Name(tag); name != "" {
		return name
	}
	return code
}
