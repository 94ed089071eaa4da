module github.com/command-dialect/dialect/cmd/dialect/internal/field

go 1.26.0
