package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "receipts.db")
	fill(b, openAt(b, path), "r-1", 10)
	for b.Loop() {
		s, err := Open(ctx, path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

func BenchmarkCreate(b *testing.B) {
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		s, err := Open(ctx, filepath.Join(dir, fmt.Sprint(i)), Options{})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

// BenchmarkOne is what `dialect exec` asks of a store.
func BenchmarkOne(b *testing.B) {
	path := filepath.Join(b.TempDir(), "receipts.db")
	openAt(b, path).Close()
	for i := 0; b.Loop(); i++ {
		s, err := Open(ctx, path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		run := fmt.Sprint("r-", i)
		if err := s.Append(ctx, mustRecord(&receipts.Run{Version: 1, Run: run, Session: run, Started: at(0), Planned: []receipts.Planned{}, Script: receipts.File{Path: receipts.Text("x")}})); err != nil {
			b.Fatal(err)
		}
		if err := s.Durable(ctx, s.Submit(makeReceipt(run, 0))); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

func BenchmarkAppend(b *testing.B) {
	s := tempStore(b)
	for i := 0; b.Loop(); i++ {
		if err := s.Append(ctx, makeReceipt("r-1", i)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRun is a hundred receipts as a run submits them, and their gate.
func BenchmarkRun(b *testing.B) {
	s := tempStore(b)
	for i := 0; b.Loop(); i++ {
		run := fmt.Sprint("r-", i)
		d, err := s.Gate(ctx, request(run, fill(b, s, run, 100)))
		if err != nil || !d.Passed() {
			b.Fatal(reasons(d), err)
		}
	}
}

func BenchmarkAmong(b *testing.B) {
	for _, n := range []int{1000, 100000} {
		s := tempStore(b)
		hs := fill(b, s, "r-1", n)
		b.Run(fmt.Sprint("validate/", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if d, err := s.Validate(ctx, hs[i*7919%n].String()); err != nil || !d.Passed() {
					b.Fatal(reasons(d), err)
				}
			}
		})
		next := 0
		b.Run(fmt.Sprint("consume/", n), func(b *testing.B) {
			for b.Loop() {
				if next == n {
					b.Skip("all are consumed")
				}
				d, err := s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{hs[next].String()}, By: "x", At: receipts.Time{Time: time.Unix(int64(next), 0)}})
				if err != nil || !d.Passed() {
					b.Fatal(reasons(d), err)
				}
				next++
			}
		})
	}
}
