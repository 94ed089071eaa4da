package stdlib

import "path"

// Skill returns the SKILL.md of a skill; ok is false if there is none of that name.
func Skill(name string) (text []byte, ok bool) {
	if path.Base(name) != name {
		return nil, false
	}
	text, err := files.ReadFile("skills/" + name + "/SKILL.md")
	return text, err == nil
}

// Skills returns the names of the skills, sorted.
func Skills() (names []string) {
	entries, err := files.ReadDir("skills")
	if err != nil {
		return nil // the files are embedded: a test reads them
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
