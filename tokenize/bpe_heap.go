package tokenize

// heap is a binary heap whose first item comes before all others.
type heap[T any] struct {
	items  []T
	before func(a, b T) bool
}

func (h *heap[T]) push(item T) {
	h.items = append(h.items, item)
	at := len(h.items) - 1
	for at > 0 {
		parent := (at - 1) / 2
		if !h.before(item, h.items[parent]) {
			break
		}
		h.items[at] = h.items[parent]
		at = parent
	}
	h.items[at] = item
}

// pop takes the first item; the heap must not be empty.
func (h *heap[T]) pop() T {
	first := h.items[0]
	last := len(h.items) - 1
	item := h.items[last]
	h.items = h.items[:last]
	if last == 0 {
		return first
	}
	at := 0
	for {
		child := 2*at + 1
		if child >= last {
			break
		}
		if child+1 < last && h.before(h.items[child+1], h.items[child]) {
			child++
		}
		if !h.before(h.items[child], item) {
			break
		}
		h.items[at] = h.items[child]
		at = child
	}
	h.items[at] = item
	return first
}
