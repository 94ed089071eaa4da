package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/stdlib"
)

func newSkill(u *ui) *cobra.Command {
	var install string
	cmd := &cobra.Command{
		Use:   "skill",
		Short: "print the skill that teaches an agent the dialect",
		Long: `Print the SKILL.md (agentskills format, under 400 tokens) that teaches an agent the dialect: how a
line is written, how it is run, what to hand up.

--install writes it where agents look, DIR/dialect/SKILL.md. An existing file is left unchanged.`,
		Example: `  dialect skill
  dialect skill --install .claude/skills`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, _ := stdlib.Skill("dialect")
			if install == "" {
				_, err := u.Out.Write(text)
				return err
			}
			path := filepath.Join(install, "dialect", "SKILL.md")
			if err := outfile.Inside(path); err != nil {
				return exit.Usagef("--install %s: %v", install, err)
			}
			if _, err := os.Lstat(path); err == nil {
				u.Notef("%s exists already and was left unchanged", path)
				return nil
			}
			if err := outfile.MakeFolder(path, 0o777); err != nil {
				return exit.Usagef("--install %s: %v", install, err)
			}
			file := outfile.File{Flag: "--install", Name: path, Fresh: true, Inside: true}
			if err := outfile.Settle(outfile.InUse{}, &file); err != nil {
				return err
			}
			if err := file.Create(text, 0o666); err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			u.Notef("wrote %s", path)
			return nil
		},
	}
	cmd.Flags().StringVar(&install, "install", "", "write it below `DIR`, such as .claude/skills")
	return cmd
}
