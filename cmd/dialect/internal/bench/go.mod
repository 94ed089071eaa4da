module github.com/command-dialect/dialect/cmd/dialect/internal/bench

go 1.26.0
