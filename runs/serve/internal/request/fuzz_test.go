package request

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzRequest reads the body, the type and the address of a request: fields, or a sentence with a status of the
// caller's.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{`{"q":"a","source":"en","target":"de","terms":{"a":"b"},"keep":["x+"]}`, "q=a&q=b&target=de", "", "{", "null",
		`{"q":"\ud800"}`, `{"q":` + strings.Repeat("[", 500), "--x\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\na\r\n--x--\r\n",
		`{"terms":{"\u001b[2J":3}}`, `{"keep":"(((("}`, `{"n":1e400}`, "q=%zz", `{"format":"\u0000"}`, `{"` + strings.Repeat("k", 2000) + `":1}`} {
		for _, kind := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "",
			"multipart/form-data", "text/\x1b", "text/" + strings.Repeat("|", 2000)} {
			f.Add(body, kind, "alternatives=3&q=x")
		}
	}
	f.Fuzz(func(t *testing.T, body, kind, query string) {
		r := httptest.NewRequest(http.MethodPost, "/translate", nil)
		r.Header.Set("Content-Type", kind)
		r.URL.RawQuery = query
		fixtures.Promise(t, 20*(len(body)+len(kind)+len(query)), func() error {
			found, err := Read(r, []byte(body))
			if err == nil {
				for _, read := range []func(string) error{
					func(name string) error { _, err := found.Text(name); return err },
					func(name string) error { _, _, err := found.Texts(name); return err },
					func(name string) error { _, err := found.Whole(name, 0, 0, 9); return err },
					func(name string) error { _, err := found.Flag(name); return err },
					func(name string) error { _, err := found.Terms(name); return err },
					func(name string) error { _, err := found.Patterns(name); return err },
				} {
					for name := range found {
						if err := read(name); err != nil {
							fixtures.Sentence(t, err.Error())
						}
					}
				}
			}
			return err
		})
	})
}
