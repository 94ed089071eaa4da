package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/stdlib"
)

func newSkill(u *ui) *cobra.Command {
	var install string
	cmd := &cobra.Command{
		Use:   "skill",
		Short: "print the skill that teaches an agent the dialect",
		Long: `Print the one SKILL.md (agentskills format, under 400 tokens) that teaches an agent the
dialect: how a line is written, how it is run, what to hand up.

--install puts it where agents look, DIR/dialect/SKILL.md; nothing that exists is overwritten.`,
		Example: `  dialect skill
  dialect skill --install .claude/skills`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, _ := stdlib.Skill("dialect")
			if install == "" {
				_, err := u.out.Write(text)
				return err
			}
			path := filepath.Join(install, "dialect", "SKILL.md")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return failf(exitFailed, "%v", err)
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if os.IsExist(err) {
				u.notef("%s is there already and was left as it is", path)
				return nil
			}
			if err != nil {
				return failf(exitFailed, "%v", err)
			}
			_, err = f.Write(text)
			if cerr := f.Close(); err == nil {
				err = cerr
			}
			if err != nil {
				return failf(exitFailed, "%v", err)
			}
			u.notef("wrote %s", path)
			return nil
		},
	}
	cmd.Flags().StringVar(&install, "install", "", "write it below `DIR`, such as .claude/skills")
	return cmd
}
