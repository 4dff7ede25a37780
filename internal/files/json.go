package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// ReadJSON reads a file's value.
func ReadJSON(path string, value any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("%s: %w", path, Plain(err))
	}
	return nil
}

// WriteJSON writes a value, indented, whole or not at all.
func WriteJSON(path string, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return Write(path, text.Bytes())
}
