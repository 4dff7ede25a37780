package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	for name, test := range map[string]struct {
		in   string
		want string
		ok   bool
	}{
		"all kinds": {
			in: `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: fine\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"run","Package":"p","Test":"TestB/one"}
{"Action":"output","Package":"p","Test":"TestB/one","Output":"=== RUN   TestB/one\n"}
{"Action":"output","Package":"p","Test":"TestB/one","Output":"    b_test.go:9: got 1, want 2\n"}
{"Action":"output","Package":"p","Test":"TestB/one","Output":"    --- FAIL: TestB/one (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestB/one"}
{"Action":"run","Package":"p","Test":"TestB/two"}
{"Action":"pass","Package":"p","Test":"TestB/two"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- FAIL: TestB (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"run","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:7: data not found: x\n"}
{"Action":"output","Package":"p","Test":"TestC","Output":"--- SKIP: TestC (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"run","Package":"p","Test":"TestD"}
{"Action":"output","Package":"p","Test":"TestD","Output":"    d_test.go:8: data not found: x\n"}
{"Action":"skip","Package":"p","Test":"TestD"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: `    b_test.go:9: got 1, want 2
    --- FAIL: TestB/one (0.00s)
--- FAIL: TestB (0.00s)
FAIL	p	0.1s
skipped 2: data not found: x (TestC, TestD)
2 passed, 1 failed, 2 skipped
`,
		},
		"success": {
			in: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"skip","Package":"q"}
`,
			want: "ok  \tp\t0.1s\n1 passed, 0 failed, 0 skipped\n",
			ok:   true,
		},
		"a package that does not compile": {
			in: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p/x_test.go:5: undefined: y\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`,
			want: "p/x_test.go:5: undefined: y\nFAIL\tp [build failed]\n0 passed, 1 failed, 0 skipped\n",
		},
		"a process that dies inside a test": {
			in: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"SIGSEGV: segmentation violation\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "SIGSEGV: segmentation violation\nFAIL\tp\t0.1s\n0 passed, 1 failed, 0 skipped\n",
		},
		"times": {
			in: `{"Action":"phase-end","Output":"build","Elapsed":20.4,"CPU":31}
{"Action":"phase","Output":"tests"}
{"Action":"pass","Package":"x/p","Test":"TestA","Elapsed":3}
{"Action":"pass","Package":"x/p","Test":"TestB/part","Elapsed":4}
{"Action":"pass","Package":"x/p","Test":"TestB","Elapsed":4.26}
{"Action":"pass","Package":"x/p","Test":"TestQuick","Elapsed":0.9}
{"Action":"pass","Package":"x/p","Elapsed":8.2}
{"Action":"pass","Package":"x/q","Elapsed":0.1}
{"Action":"phase-end","Output":"tests","Elapsed":8.5,"CPU":12}
{"Action":"phase","Output":"avx2"}
{"Action":"pass","Package":"x/p","Test":"TestA","Elapsed":5}
{"Action":"phase-end","Output":"avx2","Elapsed":5,"CPU":5}
`,
			want: `slowest packages, in seconds:
     8.2  p (tests)
slowest tests, in seconds:
     5.0  p.TestA (avx2)
     4.3  p.TestB (tests)
     3.0  p.TestA (tests)
phases, in seconds and seconds of CPU:
    20     31  build
     8     12  tests
     5      5  avx2
    34     48  in all
5 passed, 0 failed, 0 skipped
`,
			ok: true,
		},
		"a line of another program": {
			in:   "go: warning: something\n",
			want: "go: warning: something\n0 passed, 0 failed, 0 skipped\n",
			ok:   true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			r := newReport(&out)
			if err := r.read(strings.NewReader(test.in)); err != nil {
				t.Fatal(err)
			}
			if ok := r.finish(); ok != test.ok {
				t.Errorf("finish says %v", ok)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
