// Package markup takes the texts out of HTML or XML, and puts translations of them in their places, with tags around
// the words that they stood around. It needs no libtorch.
//
// # Basics
//
//	document := markup.Parse("<p>a <b>red</b> car</p>", markup.Options{})
//	texts := document.Texts() // one, "a red car"
//	html := document.Translated([]markup.Translation{{Text: "une voiture rouge", Words: [][]int{{0}, {2}, {1}}}})
//	// <p>une voiture <b>rouge</b></p>
//
// # Caveats
//
// Contents of scripts, of code and the like, and of elements with translate="no" or the class notranslate, come out to
// the letter. Elsewhere space may move by a tag, and entities that HTML can do without become characters. References to
// entities that a document of XML declares stay as they are.
package markup
