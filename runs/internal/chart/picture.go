package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/aperture-ml/aperture/internal/files"
)

// sheet is charts on one canvas, row by row, their axes aligned; the legend of a row's first chart stands at its end.
type sheet struct {
	columns       int
	plots         [][]*plot.Plot
	legends       []plot.Legend
	square        bool
	beside        vg.Length // width of the legends
	width, height vg.Length
}

func newSheet(charts []*Chart, columns int) *sheet {
	s := &sheet{columns: columns, square: charts[0].Square, width: vg.Length(float64(columns) * charts[0].Width)}
	for i, c := range charts {
		drawn, legend := c.plot()
		if i%columns == 0 {
			s.plots = append(s.plots, make([]*plot.Plot, columns))
			s.legends = append(s.legends, legend)
			s.height += vg.Length(c.Height)
			if width := legend.Rectangle(draw.Canvas{}).Size().X; width > 0 {
				s.beside = max(s.beside, vg.Length(math.Ceil(float64(width)))+2*gap)
			}
		}
		s.plots[i/columns][i%columns] = drawn
	}
	return s
}

const gap = 8 // around charts, in points

// draw draws a sheet, with legends where they have a place.
func (s *sheet) draw(on draw.Canvas) {
	on.SetColor(color.White)
	on.Fill(on.Rectangle.Path())
	tiles := draw.Tiles{Rows: len(s.plots), Cols: s.columns, PadX: 14, PadY: 14, PadTop: gap, PadBottom: gap,
		PadLeft: gap, PadRight: s.beside + gap}
	for i, row := range plot.Align(s.plots, tiles, on) {
		for j, cell := range row {
			p := s.plots[i][j]
			if p == nil {
				continue
			}
			if s.square {
				size := p.DataCanvas(cell).Size()
				square(&p.X, float64(size.X), &p.Y, float64(size.Y))
			}
			p.Draw(cell)
		}
		beside := row[0]
		beside.Min.X, beside.Max.X = on.Max.X-s.beside, on.Max.X
		beside.Max.Y -= 24 // below the title's line
		s.legends[i].Draw(beside)
	}
}

// square widens one range until a unit is as long on both axes, which are so long.
func square(x *plot.Axis, width float64, y *plot.Axis, height float64) {
	unit := max((x.Max-x.Min)/width, (y.Max-y.Min)/height)
	for axis, length := range map[*plot.Axis]float64{x: width, y: height} {
		middle := (axis.Min + axis.Max) / 2
		axis.Min, axis.Max = middle-unit*length/2, middle+unit*length/2
	}
}

// SVG draws the chart without a legend, to stand in a page that has one.
func (c *Chart) SVG() string {
	s := newSheet([]*Chart{c}, 1)
	s.beside, s.legends[0] = 0, plot.NewLegend()
	return s.svg(c.Title)
}

// File draws the chart as a picture of its own, with its legend beside it.
func (c *Chart) File() string { return newSheet([]*Chart{c}, 1).svg(c.Title) }

func (s *sheet) svg(title string) string {
	canvas := vgsvg.NewWith(vgsvg.UseWH(s.width+s.beside, s.height))
	s.draw(draw.New(canvas))
	var b bytes.Buffer
	canvas.WriteTo(&b) // a buffer takes all
	_, drawn, _ := strings.Cut(b.String(), `xlink">`)
	// A reader without this font has another one of its widths.
	drawn = strings.ReplaceAll(drawn, "font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,sans-serif;")
	return fmt.Sprintf(`<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" `+
		`width="%[1]g" height="%[2]g" role="img" aria-label="%[3]s">%[4]s`,
		s.width+s.beside, s.height, html.EscapeString(files.Shown(title)), drawn)
}

// Plot is a drawn picture of one or more charts.
type Plot struct {
	Name  string // file name without folder, as in training.png
	Title string
	PNG   []byte
}

// Draw draws charts of one size as one picture with a number of columns. Empty charts are left out; without others
// there is no picture.
func Draw(name, title string, columns int, charts ...*Chart) []Plot {
	if charts = Drawn(charts...); charts == nil {
		return nil
	}
	s := newSheet(charts, columns)
	img := vgimg.NewWith(vgimg.UseWH(s.width+s.beside, s.height), vgimg.UseDPI(144))
	s.draw(draw.New(img))
	var png bytes.Buffer
	vgimg.PngCanvas{Canvas: img}.WriteTo(&png) // a buffer takes all
	return []Plot{{name, title, png.Bytes()}}
}

// Save writes plots into a folder, which is made where it is missing.
func Save(folder string, plots []Plot) error {
	if err := files.MakeFolder(folder); err != nil {
		return err
	}
	for _, p := range plots {
		if err := files.Write(filepath.Join(folder, p.Name), p.PNG); err != nil {
			return err
		}
	}
	return nil
}
