package hook

import (
	"os"
	"testing"
)

// No filter of git gets what a report would hide.
func TestForgetKeys(t *testing.T) {
	for name, gone := range map[string]bool{
		"OPENAI_API_KEY": true, "GITHUB_TOKEN": true, "GITHUB_PAT": true, "PGPASSWORD": true, "DB_PASSWD": true, "NPM_AUTH": true, "SIGN_KEY_2": true, "gcp_credentials": true,
		"MONKEY": false, "KEYBOARD": false, "DIALECT_KEY_FD": false, "SSH_PUBLIC_PATH": false,
	} {
		t.Setenv(name, "v")
		forgetKeys()
		if _, kept := os.LookupEnv(name); kept == gone {
			t.Errorf("%s: kept %t", name, kept)
		}
	}
}
