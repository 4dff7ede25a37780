package experiment

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/command"
)

var update = flag.Bool("update", false, "write docs/keys.md anew")

// docsCommand writes docs/keys.md anew.
const docsCommand = "go test ./runs/internal/experiment -run TestKeysDoc -update"

// TestKeysDoc: docs/keys.md is what the keys' tags make it.
func TestKeysDoc(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "keys.md")
	want := keysDoc()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, k := range schema.Keys() {
		if k.Section() != "" && sectionDocs[k.Section()] == "" {
			t.Fatalf("sectionDocs does not say what the section %s is about", k.Section())
		}
	}
	if string(have) != want {
		t.Errorf("docs/keys.md is not what the keys say: run %s", docsCommand)
	}
}

const docIntroduction = `# Keys

A training run is described by keys such as "train.learning_rate": "train" is the section, "learning_rate" the key within it. A key
is a number, a text, true or false, or a list of texts. Each has a default, so you give only those that you want otherwise. There
are four places to give them, and each wins over those before it:

1. the preset, a file "runs/RUN/NAME.toml" that "-preset=NAME" chooses; "-h" lists the presets;
2. a file of your own, "-config FILE";
3. single keys, "-set train.max_tokens=2000", repeated as often as you like; a text needs no quotes there, and commas separate the items of a list;
4. FLAGS.

In a file, keys stand below the name of their section, in TOML:

    [train]
    learning_rate = 0.001
    epochs = 20

"-print-config" prints the configuration that all of this comes to, every key with its meaning, and stops: a good start for a
file of your own. A run's folder holds the same text as "config.toml", and given with "-config" it repeats the run. An unknown
key, or a value that its key cannot have, ends the command before anything is trained; the message names the nearest key, or
says what the key may be.

Below, each section has a table of the keys that both translation and language models have, and then of those that only one of
them has. The column *resume* says whether a run that is continued with "-resume" may change the key, or you in a run folder's
"config.toml":

- **yes**, or **no** where it would be another experiment;
- **by hand**: only where you ask for it, so that another machine's default does not change the run;
- **path**: the file or folder may be somewhere else now.

## The settings that matter

TWENTY
`

// twenty are the keys that a newcomer changes first.
var twenty = []string{
	"objective.method", "data.dir", "data.merges", "data.target_units", "model.kind", "model.width", "model.dropout",
	"model.tying",
	"objective.label_smoothing", "train.learning_rate", "train.optimizer", "train.max_tokens", "train.columns",
	"train.accumulate",
	"train.steps", "train.epochs", "train.seed", "schedule.warmup", "checkpoint.every", "decode.beam",
}

// docTwenty is their table, in that order.
func docTwenty() string {
	var b strings.Builder
	b.WriteString("| key | default | meaning |\n|---|---|---|")
	for _, name := range twenty {
		k, err := schema.Lookup(name)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "\n| `%s` | %s | %s |", name, docDefault(k), docText(k.Help))
	}
	return b.String()
}

// docFlags names the flags that stand for a key, with their keys, in lines of a list's item.
func docFlags() string {
	var all []string
	flags, _ := SpecOf("wmt14").flags(&options{})
	flags.VisitAll(func(f *pflag.Flag) {
		if key := f.Annotations[command.KeyOf]; key != nil {
			all = append(all, fmt.Sprintf(`"-%s" (%s)`, f.Name, key[0]))
		}
	})
	return "the flags that stand for one key each:\n   " + strings.Join(all, ",\n   ")
}

// sectionDocs say what a section's keys are about.
var sectionDocs = map[string]string{
	"data": "Which text is read, and how it becomes symbols. Paths are relative to the folder that the command " +
		"runs in.",
	"model": "The network, up to its hidden states.",
	"objective": "The output layer: the method, and the constants of all methods. A method reads its own, whose " +
		"meaning begins with its name.",
	"train": "The optimisation. An update is one step of the optimizer, over one batch or several accumulated " +
		"ones.",
	"schedule":   "The course of the learning rate over the updates.",
	"decode":     "How text is produced from a trained model.",
	"checkpoint": "What is saved while training.",
	"report":     "What is measured and drawn beside the log.",
}

// keysDoc is the text of docs/keys.md.
func keysDoc() string {
	var b strings.Builder
	introduction := strings.ReplaceAll(strings.Replace(docIntroduction, "FLAGS", docFlags(), 1), `"`, "`")
	b.WriteString(strings.Replace(introduction, "TWENTY", docTwenty(), 1))
	section := ""
	for _, k := range schema.Keys() {
		if k.Section() == section {
			continue
		}
		section = k.Section()
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", section, sectionDocs[section])
		for _, of := range []struct{ task, title string }{
			{"", ""}, {string(Translation), "only translation"}, {string(LanguageModel), "only language models"},
		} {
			table := keysOf(section, of.task)
			if len(table) == 0 {
				continue
			}
			if of.title != "" {
				fmt.Fprintf(&b, "\n### %s: %s\n", section, of.title)
			}
			b.WriteString("\n| key | default | values | resume | meaning |\n|---|---|---|---|---|\n")
			for _, k := range table {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Base(), docDefault(k), docValues(k), docResume[k.Resume], docText(k.Help))
			}
		}
	}
	b.WriteString("\n## Where a run came from\n\nTwo keys stand above all sections of a run's `config.toml`:\n\n")
	for _, k := range keysOf("", "") {
		fmt.Fprintf(&b, "- `%s`: %s\n", k.Name, docText(k.Help))
	}
	b.WriteString("\n## The header of a preset\n\nA preset's file says above its first section what it is, and holds the keys that differ from its base, or from the defaults:\n\n")
	for _, k := range presetSchema.Keys() {
		fmt.Fprintf(&b, "- `%s`: %s\n", k.Name, docText(k.Help))
	}
	fmt.Fprintf(&b, "\nThis page is made of the keys' tags in the source, by `%s`.\n", docsCommand)
	return b.String()
}

// keysOf lists the keys of a section that a task alone reads, or, for no task, all tasks.
func keysOf(section, task string) (some []keys.Key) {
	for _, k := range schema.Keys() {
		if k.Section() == section && k.Task == task {
			some = append(some, k)
		}
	}
	return some
}

// docResume are the tags of resume in words.
var docResume = map[string]string{"": "no", "free": "yes", "named": "by hand", "location": "path"}

// docDefault is a key's default as TOML; empty texts are left out.
func docDefault(k keys.Key) string {
	c := Default()
	value := schema.Value(&c, k)
	switch {
	case value == `""`:
		return "empty"
	case k.Default != "" && !strings.ContainsAny(value[:1], `"[`):
		value = k.Default // a number as its tag has it
	}
	return "`" + value + "`"
}

// docValues says in words what a key may be.
func docValues(k keys.Key) string {
	if n := len(k.Choices); n > 1 {
		return "`" + strings.Join(k.Choices[:n-1], "`, `") + "` or `" + k.Choices[n-1] + "`"
	}
	switch wants := k.Wants(); wants {
	case "a text in quotes":
		return "text"
	case `a list of texts such as ["a", "b"]`:
		return "list of texts"
	default:
		return longNumber.ReplaceAllStringFunc(strings.TrimPrefix(wants, "a "), thousands)
	}
}

// thousands parts the digits of a number by commas.
func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

var (
	longNumber = regexp.MustCompile(`\d{5,}`)
	ofNames    = regexp.MustCompile(`^([a-z0-9-]+(?:, [a-z0-9-]+)*): (.*)$`)
)

// docText makes a sentence of a key's help, with nothing in it that a table takes for its own. Where it begins with
// names of methods or the like, as in "vmf: ...", they stay as they are typed.
func docText(help string) string {
	help = strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;").Replace(help)
	if names := ofNames.FindStringSubmatch(help); names != nil {
		return "`" + strings.ReplaceAll(names[1], ", ", "`, `") + "`: " + names[2] + "."
	}
	return strings.ToUpper(help[:1]) + help[1:] + "."
}
