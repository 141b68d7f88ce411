package eventlog

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The kinds that are met in practice, by the number statfs(2) gives.
var kinds = map[uint32]struct {
	name    string
	network bool
}{
	unix.EXT4_SUPER_MAGIC:      {"ext4", false}, // ext2 and ext3 have the same number
	unix.XFS_SUPER_MAGIC:       {"xfs", false},
	unix.BTRFS_SUPER_MAGIC:     {"btrfs", false},
	unix.F2FS_SUPER_MAGIC:      {"f2fs", false},
	unix.TMPFS_MAGIC:           {"tmpfs", false},
	unix.RAMFS_MAGIC:           {"ramfs", false},
	unix.OVERLAYFS_SUPER_MAGIC: {"overlay", false},
	unix.MSDOS_SUPER_MAGIC:     {"vfat", false},
	unix.EXFAT_SUPER_MAGIC:     {"exfat", false},
	0x2fc12fc1:                 {"zfs", false},
	0xca451a4e:                 {"bcachefs", false},
	0x5346544e:                 {"ntfs", false},
	0x7366746e:                 {"ntfs3", false},
	unix.NFS_SUPER_MAGIC:       {"nfs", true},
	unix.CIFS_SUPER_MAGIC:      {"cifs", true},
	unix.SMB2_SUPER_MAGIC:      {"smb2", true},
	unix.SMB_SUPER_MAGIC:       {"smb", true},
	unix.AFS_SUPER_MAGIC:       {"afs", true},
	unix.CEPH_SUPER_MAGIC:      {"ceph", true},
	unix.CODA_SUPER_MAGIC:      {"coda", true},
	unix.V9FS_MAGIC:            {"9p", true},
	0x0bd00bd0:                 {"lustre", true},
	0x47504653:                 {"gpfs", true},
	// FUSE may be anything, sshfs among it, so it is taken for a network's.
	unix.FUSE_SUPER_MAGIC: {"fuse", true},
}

func filesystem(dir string) (string, bool, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	number := uint32(st.Type)
	if kind, ok := kinds[number]; ok {
		return kind.name, kind.network, nil
	}
	return fmt.Sprintf("unknown (0x%x)", number), false, nil
}
