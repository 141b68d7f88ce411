package text

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// A Page collects a command's text. Its methods escape what they are given.
type Page struct {
	buf   bytes.Buffer
	width int
	color bool
}

// NewPage makes a page for a terminal so many columns wide. 0 is no terminal:
// lines are then never broken, so that scripts can search them.
func NewPage(width int, color bool) *Page { return &Page{width: width, color: color} }

// Bytes is the page so far.
func (p *Page) Bytes() []byte { return p.buf.Bytes() }

// A Style is how a line's first word looks on a terminal with colours.
type Style string

// The styles.
const (
	Plain Style = ""
	Good  Style = "\x1b[32m"
	Bad   Style = "\x1b[31m"
	Warn  Style = "\x1b[33m"
	Head  Style = "\x1b[1m"
)

// Blank separates two parts of the page.
func (p *Page) Blank() { p.buf.WriteByte('\n') }

// Heading starts a part of the page.
func (p *Page) Heading(format string, args ...any) {
	p.hang(Head, "", fmt.Sprintf(format, args...), "")
}

// Line is a paragraph, broken at the page's width.
func (p *Page) Line(format string, args ...any) {
	p.hang(Plain, "", fmt.Sprintf(format, args...), "")
}

// Mark is a paragraph behind a word that says what it is: ok, FAIL, warning.
func (p *Page) Mark(s Style, mark, format string, args ...any) {
	p.hang(s, mark, fmt.Sprintf(format, args...), strings.Repeat(" ", textWidth(mark)))
}

// Field is a named value.
func (p *Page) Field(name, format string, args ...any) {
	p.Mark(Plain, fmt.Sprintf("%-14s ", name), format, args...)
}

// Body quotes untrusted text of any number of lines, each behind a bar, so
// that none can be taken for a line of the page itself.
func (p *Page) Body(text string) {
	for line := range strings.Lines(text) {
		p.hang(Plain, "  | ", strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), "  | ")
	}
}

// hang prints mark and text, and continues broken lines behind indent.
func (p *Page) hang(s Style, mark, text, indent string) {
	mark, text = Escape(mark), Escape(text)
	lines := []string{text}
	if p.width > 0 {
		lines = wrap(text, max(p.width-textWidth(indent), 20))
	}
	for i, line := range lines {
		line = strings.TrimRight(line, " ")
		switch {
		case mark == "":
			line = p.paint(s, line) // the text itself is what is styled
		case i == 0:
			p.buf.WriteString(p.paint(s, mark))
		default:
			p.buf.WriteString(indent)
		}
		p.buf.WriteString(line)
		p.buf.WriteByte('\n')
	}
}

func (p *Page) paint(s Style, text string) string {
	if !p.color || s == Plain {
		return text
	}
	return string(s) + text + "\x1b[0m"
}

// Table aligns columns two spaces apart. On a terminal the widest columns are
// cut with an ellipsis until the table fits.
func (p *Page) Table(head []string, rows [][]string) {
	widths := make([]int, len(head))
	all := append([][]string{head}, rows...)
	for i, row := range all {
		all[i] = make([]string, len(head))
		for j := range head {
			all[i][j] = Escape(row[j])
			widths[j] = max(widths[j], textWidth(all[i][j]))
		}
	}
	if p.width > 0 {
		fit(widths, p.width-2*(len(head)-1))
	}
	for i, row := range all {
		var b strings.Builder
		for j, cell := range row {
			cell = cut(cell, widths[j])
			b.WriteString(cell)
			if j < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[j]-textWidth(cell)+2))
			}
		}
		line := strings.TrimRight(b.String(), " ")
		if i == 0 {
			line = p.paint(Head, line)
		}
		p.buf.WriteString(line + "\n")
	}
}

// fit narrows the widest columns until they take no more than total together.
func fit(widths []int, total int) {
	for {
		sum, widest := 0, 0
		for i, w := range widths {
			sum += w
			if w > widths[widest] {
				widest = i
			}
		}
		if sum <= total || widths[widest] <= 4 {
			return
		}
		widths[widest]--
	}
}

// cut shortens s to so many columns.
func cut(s string, width int) string {
	if textWidth(s) <= width {
		return s
	}
	var b strings.Builder
	used, state := 0, -1
	for s != "" {
		var cluster string
		var w int
		cluster, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		if used+w > width-1 {
			break
		}
		b.WriteString(cluster)
		used += w
	}
	return b.String() + "…"
}

// wrap breaks text at spaces, and words longer than a line anywhere.
func wrap(text string, width int) []string {
	var lines []string
	for textWidth(text) > width {
		used, space, end, state := 0, -1, 0, -1
		for rest := text; rest != ""; {
			var cluster string
			var w int
			cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
			if cluster == " " {
				space = end
			}
			if used+w > width {
				break
			}
			used += w
			end += len(cluster)
		}
		if space > 0 && strings.TrimLeft(text[:space], " ") != "" {
			lines = append(lines, text[:space])
			text = strings.TrimLeft(text[space:], " ")
			continue
		}
		if end == 0 {
			break
		}
		lines = append(lines, text[:end])
		text = text[end:]
	}
	return append(lines, text)
}

func textWidth(s string) int { return uniseg.StringWidth(s) }
