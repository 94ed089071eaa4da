package stdlib

import "path"

// Script returns the script that a pack ships under a name, without its extension; ok is false
// if there is none.
func Script(pack, name string) (text []byte, ok bool) {
	if path.Base(pack) != pack || path.Base(name) != name {
		return nil, false
	}
	text, err := files.ReadFile("scripts/" + pack + "/" + name + ".dlct")
	return text, err == nil
}
