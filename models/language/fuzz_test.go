package language_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// FuzzRun gives the configuration of a run folder, or its vocabulary, any content.
func FuzzRun(f *testing.F) {
	words := corpus.NewWords()
	read(f, counting(1, 20, 20), words)
	path := run(f, countConfig, words)
	files, err := filepath.Glob(filepath.Join(path, language.TokenizerFolder, "*"))
	if err != nil {
		f.Fatal(err)
	}
	fixtures.FuzzFiles(f, append(files, filepath.Join(path, "config.toml")), func(t *testing.T, _ string) (err error) {
		torch.Test(t, func() {
			var opened *language.Model
			if opened, err = language.Load(path, torch.CPU); err == nil {
				opened.Free()
			}
		})
		return err
	}, strings.Repeat("<unk>\f", 1000))
}
