package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/tokenize/align"
)

// printer writes results.
type printer struct {
	*bufio.Writer
	scored, links, confidence, json bool
}

// line writes a text as it is given.
func (p *printer) line(id int, score float64, text string) {
	if p.scored {
		fmt.Fprintf(p, "%d\t%.4f\t", id, score)
	}
	fmt.Fprintln(p, text)
}

// translations writes those of a line, the best first.
func (p *printer) translations(id int, list []translation.Translation) {
	if p.json {
		p.object(list)
		return
	}
	for _, x := range list {
		text := x.Text
		if p.links {
			text += "\t" + align.Format(links(x))
		}
		if p.confidence {
			d := details(x)
			text += fmt.Sprintf("\t%.4f", d.Confidence)
			for _, word := range d.Words {
				text += fmt.Sprintf(" %.4f", word.Confidence)
			}
		}
		p.line(id, x.Score, text)
	}
}

// details are those of a translation; one without any, as of an empty line, has no words.
func details(x translation.Translation) translation.Details {
	if x.Details == nil {
		return translation.Details{}
	}
	return *x.Details
}

// links are those between words of a line and of its translation.
func links(x translation.Translation) (all []align.Link) {
	for target, word := range details(x).Words {
		for _, source := range word.Source {
			all = append(all, align.Link{Source: int32(source), Target: int32(target)})
		}
	}
	return all
}

// object is a translation as -json prints it.
type object struct {
	Text       string   `json:"text"`
	Score      float64  `json:"score"`
	Confidence *float64 `json:"confidence"` // null where the output layer has no probabilities
	Words      []word   `json:"words"`
}

type word struct {
	Text       string   `json:"text"`
	Confidence *float64 `json:"confidence"`
	Source     []int    `json:"source"`
}

func newObject(x translation.Translation) object {
	d := details(x)
	o := object{Text: x.Text, Score: x.Score, Words: []word{}}
	if x.Details != nil { // an empty line has none
		o.Confidence = known(d.Confidence)
	}
	for _, w := range d.Words {
		o.Words = append(o.Words, word{w.Text, known(w.Confidence), append([]int{}, w.Source...)})
	}
	return o
}

// known is nil for a number that is none.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// object writes the translations of a line, the list of them where -nbest asks for it.
func (p *printer) object(list []translation.Translation) {
	line := struct {
		object
		NBest []object `json:"nbest"`
		Error string   `json:"error,omitempty"`
	}{object: newObject(list[0]), NBest: []object{}}
	for _, x := range list {
		if p.scored {
			line.NBest = append(line.NBest, newObject(x))
		}
	}
	if err := list[0].Err; err != nil {
		var bad *translation.LineError // it counts the lines of a batch, and an object stands for a line
		if errors.As(err, &bad) {
			err = bad.Err
		}
		line.Error = err.Error()
	}
	encoder := json.NewEncoder(p)
	encoder.SetEscapeHTML(false)
	encoder.Encode(line) // a failed write is the writer's, which the next flush returns
}
