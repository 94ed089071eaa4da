//go:build !unix

package guard

import "errors"

const folderParent = ""

func folderPath(string) string { return "" }

func privateFolder(string) (string, error) {
	return "", errors.New("this system has no directory that is root's and everybody's")
}
