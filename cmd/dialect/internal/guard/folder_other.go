//go:build !unix

package guard

import "errors"

func folderPath() string { return "" }

func privateFolder() (string, error) {
	return "", errors.New("this system has no directory that is root's and everybody's")
}
