package torch

// #include "api.h"
import "C"

// InProducts calls f, on the torch thread, and returns how many seconds of it went into matrix products, those of its
// backward passes included: into libtorch's products, with the addition of a bias, and into our own of recurrent
// layers. Convolutions are not among them. Work on a GPU goes on after its operator has returned, so the
// seconds tell nothing there.
//
// Looking costs about a microsecond an operator. Calls cannot be nested.
func InProducts(f func()) (seconds float64) {
	check("InProducts", C.ap_products_begin())
	var spent C.double
	defer func() {
		check("InProducts", C.ap_products_end(&spent))
		seconds = float64(spent)
	}()
	f()
	return
}
