package exchange

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// array is an array of NumPy: numbers, or bytes where its elements have one byte.
type array struct {
	shape  []int
	values []float32
	bytes  []byte
}

// largestModel bounds a .npz, which is read whole: OPUS-MT's have about 300 MB.
const largestModel = 4 << 30

// readNPZ reads the arrays of a .npz, a ZIP archive of .npy files, by name.
func (d *directory) readNPZ(name string) (map[string]array, error) {
	data, err := d.read(name, largestModel)
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%s is no .npz: %w", d.path(name), err)
	}
	arrays := map[string]array{}
	total := int64(0)
	for _, file := range archive.File {
		// A stored array has its size; one that is packed may be any, and no writer of Marian packs.
		if file.Method != zip.Store {
			return nil, refuse("%s: %s is packed, which Marian's files are not, and is not supported", d.path(name), file.Name)
		}
		total += int64(file.CompressedSize64)
		if file.CompressedSize64 > uint64(len(data)) || total > int64(len(data)) {
			return nil, fmt.Errorf("%s is damaged: its arrays are larger than the file", d.path(name))
		}
		r, err := file.Open()
		if err == nil {
			var a array
			a, err = readNPY(r, int64(file.CompressedSize64))
			arrays[strings.TrimSuffix(file.Name, ".npy")] = a
			r.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", d.path(name), file.Name, err)
		}
	}
	return arrays, nil
}

// The header of a .npy, a Python dict.
var (
	npyType    = regexp.MustCompile(`'descr':\s*'([^']*)'`)
	npyFortran = regexp.MustCompile(`'fortran_order':\s*False`)
	npyShape   = regexp.MustCompile(`'shape':\s*\(([0-9, ]*)\)`)
)

// readNPY reads a .npy of that size in bytes: version, header, numbers.
func readNPY(r io.Reader, size int64) (a array, err error) {
	data, err := io.ReadAll(io.LimitReader(r, size+1)) // to its end, where a ZIP compares its checksum
	if err != nil {
		return a, err
	}
	damaged := fmt.Errorf("it is no array of NumPy")
	if len(data) < 12 || string(data[:6]) != "\x93NUMPY" {
		return a, damaged
	}
	begin, length := 10, int(binary.LittleEndian.Uint16(data[8:]))
	if data[6] > 1 {
		begin, length = 12, int(min(binary.LittleEndian.Uint32(data[8:]), math.MaxInt32))
	}
	if length > len(data)-begin {
		return a, damaged
	}
	header, content := string(data[begin:begin+length]), data[begin+length:]
	kind, shape := npyType.FindStringSubmatch(header), npyShape.FindStringSubmatch(header)
	if kind == nil || shape == nil || !npyFortran.MatchString(header) {
		return a, damaged
	}
	count := 1
	for _, field := range strings.FieldsFunc(shape[1], func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(field)
		if err != nil || n > 0 && count > len(content)/n {
			return a, damaged
		}
		count *= n
		a.shape = append(a.shape, n)
	}
	switch kind[1] {
	case "<f4":
		if len(content) != 4*count {
			return a, damaged
		}
		a.values = make([]float32, count)
		for i := range a.values {
			a.values[i] = math.Float32frombits(binary.LittleEndian.Uint32(content[4*i:]))
		}
	case "|i1", "<i1", "|u1", "|S1":
		if len(content) != count {
			return a, damaged
		}
		a.bytes = content
	default:
		return a, refuse("its numbers have the type %q, and only float32 is supported", kind[1])
	}
	return a, nil
}

// settings are the keys of a configuration of Marian with their values, of which lists have several.
type settings map[string][]string

// readSettings reads the part of YAML that Marian writes: `key: value` lines, lists in brackets, or of lines that begin
// with a dash.
func readSettings(text []byte) settings {
	c := settings{}
	key := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n ")
		item, isItem := strings.CutPrefix(strings.TrimLeft(line, " "), "- ")
		switch {
		case isItem && key != "":
			c[key] = append(c[key], unquoted(uncommented(item)))
		case line == "" || line[0] == ' ' || line[0] == '#':
		default:
			name, value, found := strings.Cut(line, ":")
			if !found {
				continue
			}
			key = name
			if value = uncommented(strings.TrimSpace(value)); value == "" || value == "[]" {
				continue
			}
			if list, ok := strings.CutPrefix(value, "["); ok {
				for field := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ",") {
					c[key] = append(c[key], unquoted(strings.TrimSpace(field)))
				}
				continue
			}
			c[key] = append(c[key], unquoted(value))
		}
	}
	return c
}

// uncommented takes a comment from behind a value, unless quotes may hold what looks like one.
func uncommented(value string) string {
	if strings.HasPrefix(value, "#") {
		return ""
	}
	if at := strings.Index(value, " #"); at >= 0 && value[0] != '"' && value[0] != '\'' {
		value = strings.TrimRight(value[:at], " ")
	}
	return value
}

func (c settings) text(key, otherwise string) string {
	if len(c[key]) == 0 {
		return otherwise
	}
	return c[key][0]
}

func (c settings) real(key string, otherwise float64) float64 {
	x, err := strconv.ParseFloat(c.text(key, ""), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return otherwise
	}
	return x
}

func (c settings) number(key string, otherwise int) int {
	x, err := strconv.Atoi(c.text(key, ""))
	if err != nil {
		return otherwise
	}
	return x
}

// readYAMLVocabulary reads `token: id` lines. A long token stands behind a question mark, with its id in the next line.
// Tokens hold anything, so that the last colon counts.
func readYAMLVocabulary(data []byte) (map[string]int, error) {
	ids := map[string]int{}
	number, waiting := 0, ""
	isWaiting := false
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if token, long := strings.CutPrefix(line, "? "); long && !isWaiting {
			waiting, isWaiting = token, true
			continue
		}
		at := strings.LastIndex(line, ":")
		if at < 0 {
			return nil, fmt.Errorf(":%d: a line is a token, a colon and its id", number)
		}
		token := line[:at]
		if isWaiting {
			token, isWaiting = waiting, false
		}
		id, err := strconv.Atoi(strings.TrimSpace(line[at+1:]))
		if err != nil {
			return nil, fmt.Errorf(":%d: a line is a token, a colon and its id", number)
		}
		token = unquoted(token)
		if _, twice := ids[token]; twice || token == "" || !utf8.ValidString(token) {
			return nil, fmt.Errorf(":%d: the token %.80q is empty, is no UTF-8 or stands there twice", number, token)
		}
		ids[token] = id
	}
	return ids, nil
}

// yamlEscapes are the escapes of YAML's double quotes that stand for one character, but for numbers.
var yamlEscapes = map[byte]string{'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", 'n': "\n", 'v': "\v", 'f': "\f",
	'r': "\r", 'e': "\x1b", ' ': " ", '"': `"`, '/': "/", '\\': `\`, 'N': "\u0085", '_': "\u00a0", 'L': "\u2028",
	'P': "\u2029"}

// unquoted is a scalar of YAML without its quotes.
func unquoted(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] {
		return s
	}
	inner := s[1 : len(s)-1]
	switch s[0] {
	case '\'':
		return strings.ReplaceAll(inner, "''", "'")
	case '"':
	default:
		return s
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' || i+1 == len(inner) {
			b.WriteByte(inner[i])
			continue
		}
		i++
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[inner[i]]
		if digits > 0 && i+digits < len(inner) {
			if code, err := strconv.ParseUint(inner[i+1:i+1+digits], 16, 32); err == nil {
				b.WriteRune(rune(code))
				i += digits
				continue
			}
		}
		if escaped, known := yamlEscapes[inner[i]]; known {
			b.WriteString(escaped)
		} else {
			b.WriteString(inner[i-1 : i+1])
		}
	}
	return b.String()
}
