package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// page returns the figures of this run as a page of the documentation.
func (r *reportData) page() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# How fast is it?

Made by `+"`make bench`"+` from one run on %d CPUs, %s/%s, %s. A subject is a whole process; those of a case take turns, and the figure is the
median of %d rounds, or of a fifth of that where a round takes seconds. Times move with the machine: the ratio, to the first line of a
case, is what can be compared. The floor is what the same work takes without dialect: a program that links SQLite, runs the commands in
sessions of their own, hashes their output, reads the files twice and keeps as many records in as many transactions, and nothing else.
The column has its ratio beside what has a budget; a budget that is missed says what the time goes to, and what remains is dialect's own.

![Times of dialect and of what else runs the same steps, as ratios to a bare loop](benchmarks.svg)
`, r.Machine.CPUs, r.Machine.OS, r.Machine.Arch, r.Machine.Go, r.Rounds)
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "\n## %s\n\n| | median ms | least | most | ratio | floor | RSS MB |\n|---|---|---|---|---|---|---|\n", strings.ToUpper(c.Name[:1])+c.Name[1:])
		for _, s := range c.Samples {
			label := strings.TrimSpace(s.Name + " " + s.Version)
			if s.Failed != "" {
				fmt.Fprintf(&b, "| %s | could not run | | | | | |\n", label)
				continue
			}
			ratio, least, rss := "", "", ""
			if first := c.Samples[0]; first.Failed == "" {
				ratio = fmt.Sprintf("%.2f", s.Median/first.Median)
				for _, v := range c.Budgets {
					if v.Subject == s.Name && v.Floor != nil && v.Kind != memory {
						least = fmt.Sprintf("%.2f", (s.Median-v.Floor.Own)/first.Median)
					}
				}
			}
			if s.RSS > 0 {
				rss = fmt.Sprintf("%.1f", float64(s.RSS)/1e6)
			}
			fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.2f | %s | %s | %s |\n", label, s.Median, s.Min, s.Max, ratio, least, rss)
		}
		for i, v := range c.Budgets {
			if i == 0 {
				b.WriteString("\n")
			}
			result := v.Result
			if result == missed {
				result = "**missed**"
			}
			fmt.Fprintf(&b, "- %s: %s\n", result, v)
			if text := v.least(); text != "" {
				fmt.Fprintf(&b, "  %s\n", text)
			}
		}
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "\nNot installed, and so not compared: %s. `make bench-peers` installs what can be had.\n", strings.Join(r.Missing, ", "))
	}
	return b.Bytes()
}

// Sizes of the chart, in pixels.
const (
	chartWidth = 720
	nameWidth  = 260
	barHeight  = 18
)

// chart returns the cases that compare runners of steps as bars, each as long as its ratio to the first of its case.
func (r *reportData) chart() []byte {
	var body bytes.Buffer
	y := 0
	for _, c := range r.Cases {
		first := c.Samples[0]
		if first.Name != bare || first.Failed != "" {
			continue
		}
		longest := 1.0
		for _, s := range c.Samples {
			longest = max(longest, s.Median/first.Median)
		}
		y += 28
		fmt.Fprintf(&body, `<text x="0" y="%d" class="case">%s</text>`+"\n", y, html.EscapeString(c.Name))
		for _, s := range c.Samples {
			if s.Failed != "" || s.Name == nothing || s.Name == floorLinked || s.Name == floorTree { // parts of the bars that are shown
				continue
			}
			y += barHeight + 4
			ratio := s.Median / first.Median
			class := "peer"
			switch {
			case s.Name == bare, strings.HasPrefix(s.Name, "floor:"):
				class = "bare"
			case strings.HasPrefix(s.Name, "dialect"):
				class = "own"
			}
			width := ratio / longest * (chartWidth - nameWidth - 60)
			fmt.Fprintf(&body, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%.1f" height="%d" class="%s"/><text x="%.1f" y="%d">%.2f</text>`+"\n",
				nameWidth-8, y, html.EscapeString(strings.TrimSpace(s.Name+" "+s.Version)), nameWidth, y-barHeight+5, width, barHeight-2, class, nameWidth+width+6, y, ratio)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="12">
<style>text{fill:#333}.case{font-weight:bold;font-size:14px}.bare{fill:#999}.own{fill:#2563eb}.peer{fill:#d4a72c}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>
`, chartWidth, y+16, chartWidth, y+16)
	b.Write(body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}
