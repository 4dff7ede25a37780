package translation_test

import (
	"path/filepath"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/torch"
)

// FuzzRun gives the configuration of a run folder, or a file of its tokenizer, any content.
func FuzzRun(f *testing.F) {
	var run string
	torch.Do(func() {
		made := fresh(f, small(f))
		defer made.Free()
		run = folder(f, smallConfig, made)
	})
	files, err := filepath.Glob(filepath.Join(run, bitext.TokenizerFolder, "*"))
	if err != nil {
		f.Fatal(err)
	}
	fixtures.FuzzFiles(f, append(files, filepath.Join(run, "config.toml")), func(t *testing.T, _ string) (err error) {
		torch.Test(t, func() {
			var opened *translation.Translator
			if opened, err = translation.Load(run, torch.CPU); err == nil {
				opened.Free()
			}
		})
		return err
	})
}
