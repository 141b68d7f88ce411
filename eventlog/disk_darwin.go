package eventlog

import "golang.org/x/sys/unix"

func renameNoReplace(from, to string) error {
	return unix.RenamexNp(from, to, unix.RENAME_EXCL)
}

// bootID names this boot of this machine.
func bootID() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }
