// Package request reads what a caller sends to the server: fields by name, from JSON, a form or the address. It needs
// no libtorch.
//
// # Basics
//
//	fields, err := request.Read(r, body)
//	texts, one, err := fields.Texts("q")
//	count, err := fields.Whole("alternatives", 0, 0, 10)
//
// # Caveats
//
// Each error is an *Error with a status and a sentence for the caller. Who calls Read bounds the body.
package request
