package harness

import "testing"

func TestMountIsTheLongestAboveThePathAndNamesNoPath(t *testing.T) {
	const info = `22 1 0:20 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/a:/var/lib/b,upperdir=/c,volatile
30 22 0:21 / /data rw,nosuid,relatime shared:1 - ext4 /dev/vda1 rw,data=ordered
31 22 0:22 / /database ro - tmpfs tmpfs rw
32 22 0:23 / /with\040space rw - xfs /dev/x rw
33 30 0:24 / /data/on/top rw,noatime - btrfs /dev/y rw,subvol=/home/u
`
	for _, test := range []struct{ path, filesystem, options string }{
		{"/data", "ext4", "rw,nosuid,relatime,data=ordered"},
		{"/data/x/y", "ext4", "rw,nosuid,relatime,data=ordered"},
		{"/data/on/top/x", "btrfs", "rw,noatime"},
		{"/datab", "overlay", "rw,relatime,volatile"},
		{"/database/x", "tmpfs", "ro,rw"},
		{"/with space/x", "xfs", "rw"},
		{"/", "overlay", "rw,relatime,volatile"},
	} {
		if fs, options := mountOf(info, test.path); fs != test.filesystem || options != test.options {
			t.Errorf("%s: %s %q; want %s %q", test.path, fs, options, test.filesystem, test.options)
		}
	}
}
