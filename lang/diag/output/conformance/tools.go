//go:build tools

package conformance

// For the schema of SARIF in its test data.
import _ "github.com/securego/gosec/v2/report/sarif"
