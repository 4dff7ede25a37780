package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Plot is a drawn picture.
type Plot struct {
	Name  string // file name without folder, as in training.png
	Title string
	PNG   []byte
}

// CurvesFile is the picture of the training curves.
const CurvesFile = "training.png"

// Draw draws every plot that records have data for.
func Draw(records []Record) ([]Plot, error) {
	var plots []Plot
	for _, kind := range []struct {
		name, title string
		draw        func([]Record) ([]byte, error)
	}{
		{CurvesFile, "Training", TrainingCurves},
		{"singular_values.png", "Singular values of the output matrix", SingularValuePlot},
		{"cosine_histogram.png", "Cosine between rows of the output matrix", CosinePlot},
	} {
		png, err := kind.draw(records)
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", kind.name, err)
		}
		if png != nil {
			plots = append(plots, Plot{kind.name, kind.title, png})
		}
	}
	return plots, nil
}

// SavePlots writes plots into a folder, which is made where it is missing.
func SavePlots(folder string, plots []Plot) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, p := range plots {
		if err := os.WriteFile(filepath.Join(folder, p.Name), p.PNG, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Colours that stay apart for colour-blind readers (Okabe and Ito's palette).
var (
	blue   = color.RGBA{0, 114, 178, 255}
	orange = color.RGBA{213, 94, 0, 255}
	green  = color.RGBA{0, 158, 115, 255}
	purple = color.RGBA{204, 121, 167, 255}
	sky    = color.RGBA{86, 180, 233, 255}
	amber  = color.RGBA{230, 159, 0, 255}
	black  = color.RGBA{0, 0, 0, 255}
	grey   = color.RGBA{225, 225, 225, 255}
)

// panel is a plot with its legend beside it, where no curve can cross it.
type panel struct {
	*plot.Plot
	legend plot.Legend
	log    bool // the y axis is logarithmic: it holds log10 of the values
}

// newPanel returns an empty panel with a grid, its texts large enough to read.
func newPanel(title, x, y string, log bool) *panel {
	p := &panel{plot.New(), plot.NewLegend(), log}
	p.Title.Text = title
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text, p.Y.Label.Text = x, y
	sans := func(f *font.Font, size float64) {
		f.Variant, f.Size = "Sans", vg.Points(size)
	}
	sans(&p.Title.TextStyle.Font, 13)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		sans(&axis.Label.TextStyle.Font, 11)
		sans(&axis.Tick.Label.Font, 10)
		axis.Label.Padding = vg.Points(4)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(LinearTicks), plot.TickerFunc(LinearTicks)
	if log { // gonum's own logarithmic axis makes room for its label in the wrong place
		p.Y.Tick.Marker = plot.TickerFunc(LogTicks)
	}
	sans(&p.legend.TextStyle.Font, 10)
	p.legend.Top, p.legend.Left = true, true
	p.legend.Padding = vg.Points(2)
	p.BackgroundColor = color.White
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = grey, grey
	p.Add(grid)
	return p
}

// addLine adds a line, with dots where there are few points, and a legend entry. Points that cannot be drawn (NaN, and zero
// on a logarithmic axis) are left out; where none is left, the line is nil.
func (p *panel) addLine(name string, xs, ys []float64, c color.Color, dots bool) (*plotter.Line, error) {
	var points plotter.XYs
	for i, y := range ys {
		if p.log {
			y = math.Log10(y)
		}
		if !math.IsNaN(y) && !math.IsInf(y, 0) {
			points = append(points, plotter.XY{X: xs[i], Y: y})
		}
	}
	if len(points) == 0 {
		return nil, nil
	}
	line, scatter, err := plotter.NewLinePoints(points)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width = c, vg.Points(1.6)
	scatter.Color, scatter.Radius, scatter.Shape = c, vg.Points(2.4), draw.CircleGlyph{}
	p.Add(line)
	if dots && len(points) <= 60 || len(points) == 1 {
		p.Add(scatter)
		p.legend.Add(name, line, scatter)
	} else {
		p.legend.Add(name, line)
	}
	return line, nil
}

// addDensity adds a histogram as a staircase of area one, so that samples of different size compare, and a legend entry. It
// returns the line, nil where nothing was counted, and the range outside which nobody would see the tails.
func (p *panel) addDensity(name string, h Histogram, c color.Color) (line *plotter.Line, low, high float64, err error) {
	low, high = h.High, h.Low
	if !(h.Num > 0) {
		return nil, low, high, nil
	}
	var stairs plotter.XYs
	width := h.Edge(1) - h.Edge(0)
	for bin, count := range h.Counts {
		density := count / h.Num / width
		stairs = append(stairs, plotter.XY{X: h.Edge(bin), Y: density}, plotter.XY{X: h.Edge(bin + 1), Y: density})
		if count > 0.0005*h.Num {
			low, high = min(low, h.Edge(bin)), max(high, h.Edge(bin+1))
		}
	}
	if line, err = plotter.NewLine(stairs); err != nil {
		return nil, low, high, err
	}
	line.Color, line.Width = c, vg.Points(1.6)
	p.Add(line)
	p.legend.Add(fmt.Sprintf("%s, mean %.3f", name, h.Sum/h.Num), line)
	return line, low, high, nil
}

// showCosines limits the axes of densities over cosines to what they show.
func (p *panel) showCosines(low, high float64) {
	margin := 0.05 * (high - low)
	p.X.Min, p.X.Max = max(-1, low-margin), min(1, high+margin)
	p.Y.Min = 0
}

// render draws panels, one above another, their axes aligned, each of the given size in points.
func render(panels []*panel, width, height float64) ([]byte, error) {
	return renderGrid(panels, 1, width, height)
}

// renderGrid draws panels row by row, so many to a row, their axes aligned. A row of the given width in points stands for
// one panel and the legends; each further column adds as much as a panel without them.
func renderGrid(panels []*panel, columns int, width, height float64) ([]byte, error) {
	rows := (len(panels) + columns - 1) / columns
	grid := make([][]*plot.Plot, rows)
	for i := range grid {
		grid[i] = make([]*plot.Plot, columns)
		for j := range columns {
			if k := i*columns + j; k < len(panels) {
				grid[i][j] = panels[k].Plot
			}
		}
	}
	const gap = 8
	img := vgimg.NewWith(vgimg.UseWH(vg.Points(width+float64(columns-1)*0.7*width), vg.Points(height*float64(rows))), vgimg.UseDPI(144))
	canvas := draw.New(img)
	var legends vg.Length // width of the widest
	for _, p := range panels {
		legends = max(legends, p.legend.Rectangle(canvas).Size().X)
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: 14, PadY: 14, PadTop: gap, PadBottom: gap, PadLeft: gap, PadRight: legends + 3*gap}
	for _, p := range panels { // where all values are one, gonum draws from one less to one more
		p.X.Min, p.X.Max = Room(p.X.Min, p.X.Max)
		p.Y.Min, p.Y.Max = Room(p.Y.Min, p.Y.Max)
	}
	for i, row := range plot.Align(grid, tiles, canvas) {
		for j, cell := range row {
			k := i*columns + j
			if k >= len(panels) {
				break
			}
			panels[k].Draw(cell)
			beside := cell
			beside.Min.X = canvas.Max.X - legends - gap
			beside.Max.X = canvas.Max.X
			beside.Max.Y -= 24 // below the title's line
			panels[k].legend.Draw(beside)
		}
	}
	var png bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(&png); err != nil {
		return nil, err
	}
	return png.Bytes(), nil
}
