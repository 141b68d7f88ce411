package eventlog

import (
	"os"

	"golang.org/x/sys/windows"
)

func filesystem(dir string) (string, bool, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return "", false, err
	}
	root := make([]uint16, windows.MAX_LONG_PATH)
	if err := windows.GetVolumePathName(path, &root[0], uint32(len(root))); err != nil {
		return "", false, &os.PathError{Op: "GetVolumePathName", Path: dir, Err: err}
	}
	network := windows.GetDriveType(&root[0]) == windows.DRIVE_REMOTE
	name := make([]uint16, windows.MAX_PATH+1)
	if err := windows.GetVolumeInformation(&root[0], nil, 0, nil, nil, nil, &name[0], uint32(len(name))); err != nil {
		return "", network, &os.PathError{Op: "GetVolumeInformation", Path: dir, Err: err}
	}
	return windows.UTF16ToString(name), network, nil
}
