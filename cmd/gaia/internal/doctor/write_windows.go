package doctor

import (
	"io/fs"
	"os"
)

// mayWrite tells a file that is marked read-only. What a list of rights denies
// can't be told there without trying.
func mayWrite(path string) error {
	fi, err := os.Stat(path)
	if err == nil && !fi.IsDir() && fi.Mode().Perm()&0o200 == 0 {
		err = fs.ErrPermission
	}
	return err
}
