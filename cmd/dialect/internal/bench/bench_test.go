package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		sorted []time.Duration
		want   time.Duration
	}{
		{[]time.Duration{7}, 7},
		{[]time.Duration{1, 3}, 2},
		{[]time.Duration{1, 2, 90}, 2},
		{[]time.Duration{1, 2, 4, 90}, 3},
	} {
		if got := median(c.sorted); got != c.want {
			t.Errorf("median(%v) = %d, want %d", c.sorted, got, c.want)
		}
	}
}

func TestSumInits(t *testing.T) {
	got, err := sumInits("init internal/bytealg @0.008 ms, 0.25 ms clock, 0 bytes, 0 allocs\n" +
		"dialect devel\ninit os @0.3 ms, 1e-3 ms clock, 4616 bytes, 22 allocs\n")
	if want := 251 * time.Microsecond; err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := sumInits("dialect devel\n"); err == nil {
		t.Error("output without a trace was accepted")
	}
}

// fixedReport has one of everything that a report can show.
func fixedReport() *reportData {
	samples := []sample{
		{Name: bare, Median: 100, Min: 90, Max: 120, RSS: 3_000_000},
		{Name: unkept, Median: 119, Min: 110, Max: 130, RSS: 12_000_000},
		{Name: kept, Median: 250, Min: 230, Max: 260, RSS: 31_000_000},
		{Name: "just", Version: "1.2.3", Median: 240, Min: 200, Max: 300, RSS: 5_000_000},
		{Name: "task", Version: "3.0", Failed: "exit status 1\nno such task"},
		{Name: nothing, Median: 20},
		{Name: floorLinked, Median: 30},
		{Name: floorCommands, Median: 105},
		{Name: floorTree, Median: 106},
		{Name: floorStore, Median: 150},
	}
	return &reportData{
		Machine: machine{CPUs: 2, OS: "linux", Arch: "amd64", Go: "go1.x"},
		Rounds:  21,
		Missing: []string{"ninja", "witness"},
		Cases: []caseResult{judge("100 steps in sequence", 21, samples, []budget{
			{subject: unkept, kind: ratio, limit: 1.2, yardstick: bare, floor: floorCommands},
			{subject: kept, kind: ratio, limit: 2, yardstick: bare, floor: floorStore},
			{subject: unkept, kind: ahead, limit: 1, yardstick: "just"},
			{subject: kept, kind: ahead, limit: 1, yardstick: "task"},
			{subject: unkept, kind: difference, limit: 18, yardstick: bare},
			{subject: unkept, kind: throughput, limit: 0.8, yardstick: bare},
			{subject: unkept, kind: duration, limit: 119},
			{subject: kept, kind: memory, limit: 30},
			{subject: "absent", kind: memory, limit: 30},
		})},
	}
}

func TestReport(t *testing.T) {
	r := fixedReport()
	var got bytes.Buffer
	if err := r.text(&got); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "report.golden")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("%s: the report is another\n--- got\n%s\n--- want\n%s", path, got.String(), want)
	}
	if !r.broken() {
		t.Error("a subject could not run, and the exit status would not say so")
	}

	got.Reset()
	if err := r.json(&got); err != nil {
		t.Fatal(err)
	}
	var back reportData
	if err := json.Unmarshal(got.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Cases) != 1 || len(back.Cases[0].Samples) != 10 || back.Cases[0].Budgets[0].Result != "met" {
		t.Errorf("the JSON form lost something: %s", got.String())
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-n", "0"}, {"-filter", "("}, {"extra"}, {"-unknown"}} {
		if got := run(args, &bytes.Buffer{}, &bytes.Buffer{}); got != 2 {
			t.Errorf("run(%q) = %d, want 2", args, got)
		}
	}
}

// TestMeasure times the baselines, and peers that every machine has.
func TestMeasure(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the yardsticks fork")
	}
	dir := t.TempDir()
	b := new(builds)
	for name, path := range map[string]*string{"spawn": &b.spawn, "loop": &b.loop, "tee": &b.tee, "flood": &b.flood} {
		*path = filepath.Join(dir, name)
		if out, err := exec.Command("go", "build", "-o", *path, "./testdata/"+name).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip("there is no true(1)")
	}
	if program, err = filepath.Abs(program); err != nil {
		t.Fatal(err)
	}
	calls := 0
	subjects := []subject{
		{name: "loop", dir: dir, argv: []string{b.loop, program, "3", "1"}},
		{name: "parallel", dir: dir, argv: []string{b.loop, program, "9", "8"}},
		{name: "tee", dir: dir, argv: []string{b.tee, dir, "1000", b.flood, "100000", "2000"}},
		{name: "fails", dir: dir, argv: []string{b.loop, "/no/such/program", "1", "1"}},
		{name: "metric", dir: dir, argv: []string{program}, metric: func(string) (time.Duration, error) {
			calls++
			return time.Duration(calls) * time.Millisecond, nil
		}},
	}
	got := measure(b.spawn, subjects, 3)
	for i, s := range got {
		switch {
		case s.Name != subjects[i].name:
			t.Errorf("subject %d is called %q, want %q", i, s.Name, subjects[i].name)
		case s.Name == "fails":
			if !strings.Contains(s.Failed, "no such file") || s.Median != 0 {
				t.Errorf("fails: %+v, want the reason and no figure", s)
			}
		case s.Failed != "":
			t.Errorf("%s failed: %s", s.Name, s.Failed)
		case s.Min <= 0 || s.Median < s.Min || s.Max < s.Median:
			t.Errorf("%s: %+v, want 0 < min <= median <= max", s.Name, s)
		case s.Name != "metric" && runtime.GOOS == "linux" && (s.RSS < 100<<10 || s.RSS > 100<<20):
			t.Errorf("%s: peak of %d bytes is not believable", s.Name, s.RSS)
		}
	}
	if got[4].Median != 2 || calls != 3 {
		t.Errorf("metric: median %v ms after %d calls, want 2 after 3", got[4].Median, calls)
	}
	for name, size := range map[string]int64{"stdout": 1000, "stderr": 1000} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != size {
			t.Errorf("tee kept %v of %s (%v), want %d bytes", info, name, err, size)
		}
	}
}

// TestPeers runs the generated scripts of the peers that are there: what is not
// run as generated is not compared.
func TestPeers(t *testing.T) {
	program, err := exec.LookPath("touch")
	if err != nil {
		t.Skip("there is no touch(1)")
	}
	found, missing := findPeers()
	t.Logf("not on PATH: %v", missing)
	for _, p := range found {
		if p.runner == nil {
			continue
		}
		for _, jobs := range []int{1, 8} {
			dir := t.TempDir()
			mark := filepath.Join(dir, "ran")
			args, err := p.runner(dir, program+" "+mark, 12, jobs)
			if err != nil {
				t.Fatal(err)
			}
			if why := probe(subject{dir: dir, argv: append([]string{p.path}, args...)}); why != "" {
				t.Errorf("%s, %d jobs: %s", p.name, jobs, why)
			}
			if _, err := os.Stat(mark); err != nil {
				t.Errorf("%s, %d jobs: no step ran: %v", p.name, jobs, err)
			}
		}
	}
}

func TestTail(t *testing.T) {
	var out tail
	for range 100 {
		if n, err := out.Write(bytes.Repeat([]byte("x"), 100)); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := out.Write(append(bytes.Repeat([]byte("y"), tailSize), "end\xff"...)); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); len(s) != tailSize || !strings.HasSuffix(s, "yend?") || strings.Contains(s, "x") {
		t.Errorf("a tail of %d bytes that ends in %q", len(s), s[len(s)-8:])
	}
}

// TestPage holds the page and the chart to their golden files: every subject and every budget is there, a missed one by name.
func TestPage(t *testing.T) {
	rep := fixedReport()
	for name, got := range map[string][]byte{"testdata/page.golden": rep.page(), "testdata/chart.golden": rep.chart()} {
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s (run with -update):\n%s", name, got)
		}
	}
	if list := rep.missed(); len(list) != 3 || !strings.HasPrefix(list[0], "100 steps in sequence: dialect, receipts and gate: 2.50 x") {
		t.Errorf("missed: %q", list)
	}
}

// TestLeast holds the floor of a budget that is missed to what the subjects took: the parts add up to the floor, and the rest is dialect's own. Memory has no
// parts.
func TestLeast(t *testing.T) {
	c := fixedReport().Cases[0]
	met, lost := c.Budgets[0], c.Budgets[1]
	if met.least() != "" || met.Floor == nil || met.Floor.Value != 1.05 {
		t.Errorf("a budget that is met: %q, %+v", met.least(), met.Floor)
	}
	if lost.Floor.Value != 1.5 || lost.Floor.Own != 100 {
		t.Errorf("the floor is %v, and dialect's own %v ms", lost.Floor.Value, lost.Floor.Own)
	}
	sum := 0.0
	for _, p := range lost.Floor.Parts {
		sum += p.MS
	}
	if len(lost.Floor.Parts) != 5 || sum != 150 {
		t.Errorf("the parts are %+v", lost.Floor.Parts)
	}
	if c.Budgets[len(c.Budgets)-1].Floor != nil {
		t.Error("a subject that is not there has a floor")
	}
	of := judge("", 1, []sample{{Name: "a", RSS: 30_000_000}, {Name: started, RSS: 18_000_000}}, []budget{{subject: "a", kind: memory, limit: 20, floor: started}})
	if got, want := of.Budgets[0].least(), "floor 18.0 MB: the program once it has started, most of it pages of its file; what it does takes 12.0 MB"; got != want {
		t.Errorf("of memory: %q", got)
	}
}

// TestFloor runs the floor: each record is kept, whatever the number of commands and jobs.
func TestFloor(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its commands get sessions of their own")
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip("there is no true(1)")
	}
	dir := t.TempDir()
	floor := filepath.Join(dir, "floor")
	if out, err := exec.Command("go", "build", "-o", floor, "./floor").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := 0
	for _, c := range []struct{ count, jobs int }{{0, 1}, {1, 1}, {150, 8}} {
		db := filepath.Join(dir, "s.db")
		if out, err := exec.Command(floor, program, strconv.Itoa(c.count), strconv.Itoa(c.jobs), "testdata", db).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want += c.count + 3
		s, err := sql.Open("sqlite", db)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := s.QueryRow("SELECT count(*) FROM record").Scan(&n); err != nil || n != want {
			t.Errorf("after %d commands: %d records, %v; want %d", c.count, n, err, want)
		}
		s.Close()
	}
	if err := exec.Command(floor, filepath.Join(dir, "absent"), "1", "1").Run(); err == nil {
		t.Error("a program that is not there ran")
	}
}
