package keys_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/keys"
)

// wheels and lamps are two parts of a vehicle.
type (
	vehicle struct {
		Name string `toml:"name" default:"cart" help:"what it is called"`
		keys.Parts[fittings]
	}
	wheels struct {
		Wheels int     `toml:"wheels" default:"4" range:"[1,20]" help:"how many"`
		Size   float64 `toml:"size" default:"0.5" range:"(0,inf)" help:"of each, in metres"`
	}
	lamps struct {
		brightness
		Plan string `toml:"plan" path:"file" resume:"location" help:"file that says where they are"`
	}
	brightness struct {
		Bright bool `toml:"bright" default:"true" help:"whether they are bright"`
	}
	fittings struct{}
)

func (fittings) Structs() []any { return []any{wheels{}, lamps{}} }

var vehicles = keys.New[struct {
	Vehicle vehicle `toml:"vehicle"`
}]("")

// TestParts: the keys of parts stand in the section that holds them, in the order of the list, with their defaults, and
// are set, checked and printed like any other.
func TestParts(t *testing.T) {
	var names []string
	for _, k := range vehicles.Keys() {
		names = append(names, k.Name+k.Path)
	}
	if diff := cmp.Diff([]string{"vehicle.name", "vehicle.wheels", "vehicle.size", "vehicle.bright",
		"vehicle.planfile"}, names); diff != "" {
		t.Error(diff)
	}
	c := vehicles.Defaults()
	if got := keys.Part[wheels](c.Vehicle.Parts); got != (wheels{4, 0.5}) {
		t.Errorf("the defaults are %+v", got)
	}
	if got := keys.Part[wheels](vehicle{}.Parts); got != (wheels{}) {
		t.Errorf("the zero value holds %+v", got)
	}
	if err := vehicles.Set(&c, "vehicle.wheels", "21"); err == nil ||
		!strings.Contains(err.Error(), "vehicle.wheels = 21 is out of range") {
		t.Errorf("too many wheels: %v", err)
	}
	again := vehicles.Defaults()
	tree, err := keys.Parse("[vehicle]\nwheels = 3\nbright = false\nplan = \"here\"", "text")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vehicles.Lay(&again, tree, "text", false); err != nil {
		t.Fatal(err)
	}
	if got := keys.Part[lamps](again.Vehicle.Parts); got != (lamps{Plan: "here"}) {
		t.Errorf("the lamps are %+v", got)
	}
	if text := vehicles.Print(&again, ""); !strings.Contains(text, "wheels = 3\n") ||
		!strings.Contains(text, "size = 0.5\n") {
		t.Errorf("it prints\n%s", text)
	}
	if len(vehicles.Differences(&c, &again)) == 0 {
		t.Error("the differences leave out the parts")
	}
}

// TestPartsAreAValue: a change of a copy leaves the original and other copies alone.
func TestPartsAreAValue(t *testing.T) {
	a := vehicles.Defaults()
	b := a
	for _, x := range []struct {
		wheels int
		size   float64
	}{{2, 1}, {3, 0.25}} {
		if err := vehicles.Put(&b, "vehicle.wheels", x.wheels); err != nil {
			t.Fatal(err)
		}
		if err := vehicles.Put(&b, "vehicle.size", x.size); err != nil {
			t.Fatal(err)
		}
		if got := keys.Part[wheels](b.Vehicle.Parts); got.Wheels != x.wheels || got.Size != x.size {
			t.Errorf("the copy has %+v, want %+v", got, x)
		}
		if got := keys.Part[wheels](a.Vehicle.Parts); got != (wheels{4, 0.5}) {
			t.Errorf("the original became %+v", got)
		}
	}
}

// TestPut: a value of another type is refused, a whole number is a number.
func TestPut(t *testing.T) {
	c := vehicles.Defaults()
	if err := vehicles.Put(&c, "vehicle.size", 2); err != nil || keys.Part[wheels](c.Vehicle.Parts).Size != 2 {
		t.Errorf("a whole number for a number: %v", err)
	}
	for name, value := range map[string]any{"vehicle.wheels": 2.5, "vehicle.name": 3, "vehicle.bright": "true",
		"vehicle.wheel": 2} {
		if err := vehicles.Put(&c, name, value); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s = %v: %v", name, value, err)
		}
	}
}
