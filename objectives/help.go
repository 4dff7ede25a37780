package objectives

import (
	"fmt"
	"strings"
)

// helpWidth is how many letters a line of the help has at most.
const helpWidth = 120

// Help describes every method, what it costs and what it joins with, for a reader at a terminal.
func Help() string {
	var b strings.Builder
	write := func(indent, text string) {
		for i, line := range wrap(text, helpWidth-len([]rune(indent))) {
			if i > 0 {
				indent = strings.Repeat(" ", len([]rune(indent)))
			}
			b.WriteString(indent + line + "\n")
		}
	}
	write("", "Methods of the output layer. A plus joins methods, as in -method=spectrum+adversarial, unless two of "+
		"them set the same piece: the parameterisation of W [V,D], the score of a hidden state h [D] against its "+
		"target y, or the perturbation of that score. Parameters and cost are those beyond mle's, for a "+
		"vocabulary of V words, a width of D and the N targets of a training step, forward and backward. The "+
		"constants are keys of the section objective. docs/methods.md explains each method.")
	for _, row := range methods {
		joins := strings.Join(Joins(row.Name), ", ")
		switch {
		case row.Name == mle.Name:
			joins = "(every method with a softmax starts from it)"
		case joins == "":
			joins = "nothing"
		}
		fmt.Fprintf(&b, "\n%s\n", row.Name)
		write("    minimises   ", row.Formula)
		write("    parameters  ", row.Parameters)
		write("    cost        ", row.Cost)
		write("    joins with  ", joins)
	}
	return b.String()
}

// Joins lists the methods that a method joins with by a plus, in the order of Methods. mle is left out: it is what a
// method does where it says nothing else.
func Joins(name string) []string {
	var others []string
	for _, other := range methods[1:] {
		s := Defaults()
		s.Method = name + "+" + other.Name
		if _, err := s.Resolve(); err == nil {
			others = append(others, other.Name)
		}
	}
	return others
}

// wrap splits a text at spaces into lines of at most width letters; a longer word has a line of its own.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
