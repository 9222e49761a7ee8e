"""The numbers of system calls on the two architectures that the filters know."""

import platform
from collections.abc import Iterable
from dataclasses import dataclass

_ABSENT = -1
_OLD_CALLS = {
    # name: x86-64, ARM64
    "accept": (43, 202), "accept4": (288, 242), "acct": (163, 89), "add_key": (248, 217),
    "adjtimex": (159, 171), "bind": (49, 200), "bpf": (321, 280), "chmod": (90, _ABSENT),
    "chown": (92, _ABSENT), "chroot": (161, 51), "clock_adjtime": (305, 266),
    "clock_settime": (227, 112), "clone": (56, 220), "connect": (42, 203), "creat": (85, _ABSENT),
    "delete_module": (176, 106), "execve": (59, 221), "execveat": (322, 281),
    "fallocate": (285, 47), "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    "fchmod": (91, 52), "fchmodat": (268, 53), "fchown": (93, 55), "fchownat": (260, 54),
    "fcntl": (72, 25), "finit_module": (313, 273), "fork": (57, _ABSENT),
    "fremovexattr": (199, 16), "fsetxattr": (190, 7), "ftruncate": (77, 46),
    "futimesat": (261, _ABSENT), "init_module": (175, 105), "ioctl": (16, 29),
    "ioperm": (173, _ABSENT), "iopl": (172, _ABSENT), "ioprio_set": (251, 30), "kcmp": (312, 272),
    "kexec_file_load": (320, 294), "kexec_load": (246, 104), "keyctl": (250, 219),
    "kill": (62, 129), "lchown": (94, _ABSENT), "link": (86, _ABSENT), "linkat": (265, 37),
    "listen": (50, 201), "lookup_dcookie": (212, 18), "lremovexattr": (198, 15),
    "lsetxattr": (189, 6), "memfd_create": (319, 279), "migrate_pages": (256, 238),
    "mkdir": (83, _ABSENT), "mkdirat": (258, 34), "mknod": (133, _ABSENT), "mknodat": (259, 33),
    "modify_ldt": (154, _ABSENT), "mount": (165, 40), "move_pages": (279, 239),
    "mq_open": (240, 180), "mq_unlink": (241, 181), "msgctl": (71, 187), "msgget": (68, 186),
    "msgrcv": (70, 188), "msgsnd": (69, 189), "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42), "open": (2, _ABSENT), "open_by_handle_at": (304, 265),
    "openat": (257, 56), "perf_event_open": (298, 241), "personality": (135, 92),
    "pivot_root": (155, 41), "prctl": (157, 167), "prlimit64": (302, 261),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117),
    "quotactl": (179, 60), "reboot": (169, 142), "removexattr": (197, 14),
    "rename": (82, _ABSENT), "renameat": (264, 38), "renameat2": (316, 276),
    "request_key": (249, 218), "rmdir": (84, _ABSENT), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "sched_setaffinity": (203, 122), "sched_setattr": (314, 274),
    "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "semctl": (66, 191),
    "semget": (64, 190), "semop": (65, 193), "semtimedop": (220, 192),
    "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268),
    "setpgid": (109, 154), "setpriority": (141, 140), "setsid": (112, 157),
    "settimeofday": (164, 170), "setxattr": (188, 5), "shmat": (30, 196), "shmctl": (31, 195),
    "shmget": (29, 194), "socket": (41, 198), "socketpair": (53, 199), "swapoff": (168, 225),
    "swapon": (167, 224), "symlink": (88, _ABSENT), "symlinkat": (266, 36), "syslog": (103, 116),
    "tgkill": (234, 131), "tkill": (200, 130), "truncate": (76, 45), "umount2": (166, 39),
    "unlink": (87, _ABSENT), "unlinkat": (263, 35), "unshare": (272, 97), "uselib": (134, _ABSENT),
    "userfaultfd": (323, 282), "utime": (132, _ABSENT), "utimensat": (280, 88),
    "utimes": (235, _ABSENT), "vfork": (58, _ABSENT), "vhangup": (153, 58),
}  # fmt: skip
_NEW_CALLS = {
    # the same number on every architecture
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
    "fsmount": 432, "fspick": 433, "pidfd_open": 434, "clone3": 435, "openat2": 437,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
    "memfd_secret": 447, "process_mrelease": 448, "fchmodat2": 452, "statmount": 457,
    "listmount": 458, "setxattrat": 463, "removexattrat": 466, "open_tree_attr": 467,
    "file_setattr": 469,
}  # fmt: skip
FIRST_UNKNOWN = 470
"""What newer kernels offer from this number on, nobody here has judged."""
_AUDIT_NUMBERS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


@dataclass(frozen=True, slots=True)
class Architecture:
    audit_number: int
    """The kernel's number for the architecture that made a call."""
    numbers: dict[str, int]

    def of(self, names: Iterable[str]) -> list[int]:
        """Returns the numbers of those calls that this architecture has."""
        return [number for name in names if (number := self.numbers[name]) != _ABSENT]


def this_architecture() -> Architecture | None:
    """Returns None for an architecture whose numbers are not known here."""
    machine = platform.machine()
    if machine not in _AUDIT_NUMBERS:
        return None
    place = 0 if machine == "x86_64" else 1
    numbers = {name: both[place] for name, both in _OLD_CALLS.items()}
    return Architecture(_AUDIT_NUMBERS[machine], numbers | _NEW_CALLS)
