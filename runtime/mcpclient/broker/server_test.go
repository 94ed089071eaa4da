package broker

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
)

// TestURLOfPieces: a value that ends the host of an address too early is in no message, and no name is looked up.
func TestURLOfPieces(t *testing.T) {
	for _, text := range []string{"https://app:${P}@127.0.0.1:1/mcp", "https://${P}@127.0.0.1:1/mcp", "https://${P}/mcp"} {
		for _, value := range []string{"half/Kx93mQz", "half?Kx93mQz", "half#Kx93mQz"} {
			s := &server{name: "s"}
			_, err := s.transport(Options{Environ: []string{"P=" + value}}, plan.Server{URL: text, Origin: "routing.toml"})
			if err == nil || strings.Contains(err.Error(), "Kx93mQz") || !strings.Contains(err.Error(), "has to be escaped for URLs") {
				t.Errorf("%s with %s: %v", text, value, err)
			}
		}
	}
	for _, text := range []string{"https://app:${P}@127.0.0.1:1/mcp", "https://${P}/mcp", "https://127.0.0.1/${P}", "${Q}"} {
		s := &server{name: "s"}
		if _, err := s.transport(Options{Environ: []string{"P=plain", "Q=https://127.0.0.1/x"}}, plan.Server{URL: text}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
