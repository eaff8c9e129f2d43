package main

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/pintle-dev/pintle/bench/result"
)

// Sizes in picture units. A picture is as wide as the text of a page.
const (
	pictureWidth = 760
	labelWidth   = 200 // of the labels left of the bars
	valueWidth   = 80  // of the value after the longest bar
	barHeight    = 16
	groupGap     = 14
	headHeight   = 56
	footHeight   = 40
)

// colours are the colours of series. They have enough contrast on light and dark pages.
var colours = []string{"#3b7dd8", "#9a9a9a", "#d9822b", "#4c9a5b", "#a45ec2", "#c2484d"}

// drawing writes an SVG file. It takes the colours of text and background from the reader's scheme.
type drawing struct {
	text   strings.Builder
	height int
}

func draw(title string, height int) *drawing {
	d := &drawing{height: height}
	fmt.Fprintf(&d.text, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">
<title>%s</title>
<style>
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 14px; font-weight: 600 }
.ground { fill: #ffffff }
.rule { stroke: #d0d7de; stroke-width: 1 }
.goal { stroke: #c2484d; stroke-width: 1.5; stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .ground { fill: #0d1117 }
  .rule { stroke: #3d444d }
  .goal { stroke: #ff7b72 }
}
</style>
<rect class="ground" width="100%%" height="100%%" rx="6"/>
`, pictureWidth, height, pictureWidth, height, html.EscapeString(title), html.EscapeString(title))
	d.say(12, 22, "start", "title", title)
	return d
}

func (d *drawing) say(x, y float64, anchor, class, text string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(&d.text, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, class, html.EscapeString(text))
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&d.text, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

func (d *drawing) bar(x, y, width, height float64, colour string) {
	fmt.Fprintf(&d.text, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2" fill="%s"/>`+"\n", x, y, width, height, colour)
}

// legendRow is the height of one line of a legend.
const legendRow = 18

// place is the position of the name of a series: from the left, and the line of the legend.
type place struct {
	x    float64
	line int
}

// legend returns the positions of the names of series, and the height that they need below the first line.
func legend(series []string) (places []place, more int) {
	at := place{x: 12}
	for _, name := range series {
		width := 35 + 6.6*float64(len(name))
		if at.x+width > pictureWidth && at.x > 12 {
			at = place{12, at.line + 1}
		}
		places = append(places, at)
		at.x += width
	}
	return places, at.line * legendRow
}

// name writes the legend below the title.
func (d *drawing) name(series []string, places []place) {
	for i, at := range places {
		y := 34 + float64(at.line*legendRow)
		d.bar(at.x, y, 10, 10, colours[i%len(colours)])
		d.say(at.x+15, y+9, "start", "", series[i])
	}
}

func (d *drawing) end() string {
	return d.text.String() + "</svg>\n"
}

// group is a group of bars: one number for each series, or NaN if a series has none.
type group struct {
	name   string
	values []float64
}

// bars draws groups of horizontal bars that begin at 0. goal is a number to mark; 0 marks none.
func bars(title, unit string, series []string, groups []group, goal float64) string {
	places, more := legend(series)
	if len(series) == 1 {
		places = nil // the title is enough
	}
	head := headHeight + more
	height, most := head+footHeight, goal
	for _, g := range groups {
		height += groupGap
		for _, value := range g.values {
			if !math.IsNaN(value) {
				height += barHeight
				most = max(most, value)
			}
		}
	}
	d := draw(title, height)
	d.name(series, places)
	scale := (pictureWidth - labelWidth - valueWidth) / max(most, math.SmallestNonzeroFloat32)
	y := float64(head)
	for _, g := range groups {
		top := y
		for i, value := range g.values {
			if math.IsNaN(value) {
				continue
			}
			d.bar(labelWidth, y, value*scale, barHeight-3, colours[i%len(colours)])
			d.say(labelWidth+value*scale+6, y+barHeight-5, "start", "", strings.TrimSpace(result.Number(value)+" "+unit))
			y += barHeight
		}
		d.say(labelWidth-8, (top+y)/2+3, "end", "", g.name)
		y += groupGap
	}
	d.line(labelWidth, float64(head-4), labelWidth, y-groupGap+4, "rule")
	if goal > 0 {
		x := labelWidth + goal*scale
		d.line(x, float64(head-4), x, y-groupGap+4, "goal")
		d.say(x, y+10, "middle", "", "goal: "+strings.TrimSpace(result.Number(goal)+" "+unit))
	}
	return d.end()
}

// curve is one series of points, by growing x.
type curve struct {
	name string
	x, y []float64
}

// curves draws curves with logarithmic axes, so that linear growth is a straight line with a fixed slope.
func curves(title, xTitle, unit string, list []curve) string {
	const left, right = 70, 20
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.name
	}
	places, more := legend(names)
	height := 400 + more
	top, bottom := float64(headHeight+4+more), float64(height-50)
	d := draw(title, height)
	d.name(names, places)
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, c := range list {
		for j := range c.x {
			for axis, n := range [2]float64{math.Log10(c.x[j]), math.Log10(c.y[j])} {
				low[axis], high[axis] = min(low[axis], math.Floor(n)), max(high[axis], math.Ceil(n))
			}
		}
	}
	for axis := range low {
		if high[axis] <= low[axis] {
			high[axis] = low[axis] + 1
		}
	}
	at := func(x, y float64) (float64, float64) {
		along, up := (math.Log10(x)-low[0])/(high[0]-low[0]), (math.Log10(y)-low[1])/(high[1]-low[1])
		return left + along*(pictureWidth-left-right), bottom - up*(bottom-top)
	}
	for power := low[0]; power <= high[0]; power++ {
		x, _ := at(math.Pow(10, power), 1)
		d.line(x, top, x, bottom, "rule")
		d.say(x, bottom+18, "middle", "", result.Number(math.Pow(10, power)))
	}
	for power := low[1]; power <= high[1]; power++ {
		_, y := at(1, math.Pow(10, power))
		d.line(left, y, pictureWidth-right, y, "rule")
		d.say(left-8, y+4, "end", "", fmt.Sprintf("%g %s", math.Pow(10, power), unit))
	}
	d.say(pictureWidth/2, float64(height-10), "middle", "", xTitle)
	for i, c := range list {
		colour := colours[i%len(colours)]
		var points []string
		for j := range c.x {
			x, y := at(c.x[j], c.y[j])
			points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
			fmt.Fprintf(&d.text, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x, y, colour)
		}
		fmt.Fprintf(&d.text, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colour)
	}
	return d.end()
}
