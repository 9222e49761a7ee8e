"""Each guard of the confinement holds alone, so that no guard hides the lack of another."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from curtsy.extract.confinement import allowed_environment
from curtsy.extract.landlock import landlock_version
from curtsy.extract.readable_paths import as_arguments, readable, split_arguments
from curtsy.extract.system_calls import this_architecture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel refuses it on Linux")
LANDLOCK = pytest.mark.skipif(not landlock_version(), reason="this kernel offers no Landlock")
KNOWN = pytest.mark.skipif(this_architecture() is None, reason="no filter for this architecture")

HEAD = """
import ctypes, json, os, signal, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True)
def said(*arguments):
    ctypes.set_errno(0)
    result = libc.syscall(*arguments)
    return "done" if result != -1 else os.strerror(ctypes.get_errno())
def tried(attempt):
    try:
        attempt()
    except OSError as error:
        return os.strerror(error.errno)
    return "done"
"""


def alone(program: str, *arguments: str) -> Any:
    """What a process says that has only the guard that it sets up itself."""
    ended = subprocess.run([sys.executable, "-c", HEAD + program, *arguments], text=True,
                           capture_output=True, timeout=100, check=False)  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


REFUSED = (
    "socket socketpair connect bind listen accept accept4 io_uring_setup io_uring_enter "
    "io_uring_register ptrace process_vm_readv process_vm_writev kcmp pidfd_open pidfd_getfd "
    "pidfd_send_signal process_madvise process_mrelease migrate_pages move_pages kill tkill tgkill "
    "rt_sigqueueinfo rt_tgsigqueueinfo setpriority sched_setaffinity sched_setscheduler "
    "sched_setparam sched_setattr ioprio_set setpgid setsid execve execveat unshare setns mount "
    "umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr "
    "name_to_handle_at open_by_handle_at add_key request_key keyctl bpf perf_event_open "
    "userfaultfd kexec_load kexec_file_load init_module finit_module delete_module reboot swapon "
    "swapoff acct quotactl syslog sethostname setdomainname settimeofday clock_settime adjtimex "
    "clock_adjtime vhangup personality memfd_create memfd_secret shmget shmat shmctl msgget msgsnd "
    "msgrcv msgctl semget semop semctl mq_open mq_unlink truncate ftruncate fallocate linkat "
    "symlinkat renameat renameat2 unlinkat mkdirat mknodat fchmod fchmodat fchmodat2 fchown "
    "fchownat utimensat setxattr lsetxattr fsetxattr setxattrat removexattr removexattrat"
)


@KNOWN
def test_the_filter_alone_refuses_each_call_to_a_process_with_all_rights() -> None:
    machine = this_architecture()
    assert machine is not None
    numbers = {name: machine.numbers[name] for name in REFUSED.split()}
    found = alone(
        "from curtsy.extract.seccomp import forbid_all_but_forking\n"
        "assert forbid_all_but_forking()\n"
        "calls = json.loads(sys.argv[1])\n"
        "print(json.dumps({name: said(n, -1, -1, -1, -1, -1, -1) for name, n in calls.items()}))",
        json.dumps(numbers),
    )
    assert set(found.values()) == {"Operation not permitted"}, found


@KNOWN
def test_a_filtered_process_forks_and_its_child_cannot_fork_further() -> None:
    found = alone(
        "from curtsy.extract.seccomp import forbid_all_but_forking, forbid_processes\n"
        "forbid_all_but_forking()\n"
        "forked = tried(lambda: os.fork() or os._exit(0))\n"
        "forbid_processes()\n"
        "import threading\n"
        "thread = threading.Thread(target=print, args=('',), kwargs={'end': ''})\n"
        "thread.start(); thread.join()\n"
        "print(json.dumps([forked, tried(lambda: os.fork() or os._exit(0))]))"
    )
    assert found == ["done", "Operation not permitted"]


@LANDLOCK
def test_landlock_alone_lets_a_process_read_only_what_it_may(tmp_path: Path) -> None:
    for name in ("allowed", "listed", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    found = alone(
        "from curtsy.extract.landlock import allow_reading_only\n"
        "from curtsy.extract.seccomp import forbid_new_privileges\n"
        "forbid_new_privileges()\n"
        "folder = Path(sys.argv[1])\n"
        "allow_reading_only([folder / 'allowed'], listed=[folder / 'listed'])\n"
        "found = {}\n"
        "for name in ('allowed', 'listed', 'other'):\n"
        "    found[name] = [tried((folder / name / 'file').read_text),\n"
        "                   tried(lambda: os.listdir(folder / name)),\n"
        "                   tried(lambda: (folder / name / 'new').touch()),\n"
        "                   tried(lambda: (folder / name / 'file').unlink())]\n"
        "found['worker'] = [tried(lambda: os.kill(os.getppid(), 0)),\n"
        "                   tried(Path(f'/proc/{os.getppid()}/environ').read_bytes)]\n"
        "print(json.dumps(found))",
        str(tmp_path),
    )
    no = "Permission denied"
    signalled = "Operation not permitted" if landlock_version() >= 6 else "done"
    assert found == {
        "allowed": ["done", "done", no, no], "listed": [no, "done", no, no],
        "other": [no, no, no, no], "worker": [signalled, no],
    }  # fmt: skip


def test_no_capability_is_left_and_none_comes_back() -> None:
    found = alone(
        "from curtsy.extract.capabilities import drop_capabilities, has_capabilities\n"
        "drop_capabilities()\n"
        "kept = [line.split()[1] for line in Path('/proc/self/status').read_text().splitlines()\n"
        "        if line.startswith(('CapEff', 'CapPrm', 'CapInh', 'CapAmb'))]\n"
        "bounding = [n for n in range(64) if libc.prctl(23, n, 0, 0, 0) == 1]\n"
        "print(json.dumps([has_capabilities(), kept, bounding]))"
    )
    has, kept, bounding = found
    assert (has, set(kept)) == (False, {"0" * 16})
    if os.geteuid() == 0:
        assert bounding == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to keep")
def test_root_keeps_the_right_to_read_where_another_users_folder_needs_it(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 65_534, 65_534)
    folder.chmod(0o700)
    found = alone(
        "from curtsy.extract.capabilities import drop_capabilities, has_capabilities\n"
        "drop_capabilities([Path(sys.argv[1])])\n"
        "print(json.dumps([has_capabilities(), tried(lambda: os.listdir(sys.argv[1])),\n"
        "                  tried(lambda: os.chown('/dev/null', 0, 0) or os.setgroups([]))]))",
        str(folder),
    )
    assert found == [True, "done", "Operation not permitted"]


def test_a_process_with_a_second_thread_is_not_confined_by_halves() -> None:
    found = alone(
        "import threading, time\n"
        "from curtsy.extract.confinement import confine_before_import\n"
        "from curtsy.extract.readable_paths import readable\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "try:\n    confine_before_import(readable(()))\n"
        "except RuntimeError as error:\n    print(json.dumps(str(error)))"
    )
    assert found == "2 threads run: the others would not be confined"


def test_only_named_variables_of_the_environment_are_handed_on() -> None:
    given = {"PATH": "a", "LC_ALL": "b", "PYTHONPATH": "c", "MY_TOKEN": "d", "DATABASE_URL": "e",
             "PGHOST": "f", "CURTSY_KEY": "g", "ANYTHING": "h", "path": "i"}  # fmt: skip
    assert allowed_environment(given) == {"PATH": "a", "LC_ALL": "b", "PYTHONPATH": "c"}


def test_beside_a_scraper_only_code_is_readable(tmp_path: Path) -> None:
    for name in ("mine.py", "neighbour.py", "curtsy.db", "curtsy.db-wal", "curtsy.toml", ".env",
                 "notes.txt", "package/__init__.py", "package/data.json", "backup/curtsy.db",
                 ".git/config.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = readable([str(tmp_path / "mine.py")], [str(tmp_path / "notes.txt")])
    here = {path.relative_to(tmp_path).as_posix() for path in found.paths
            if path.is_relative_to(tmp_path)}  # fmt: skip
    assert here == {"mine.py", "neighbour.py", "package", "notes.txt"}
    assert tmp_path in found.listed
    assert Path("/") not in found.paths


def test_files_and_data_survive_a_command_line() -> None:
    for files, data in (([], []), (["a.py"], []), (["a.py", "b.py"], ["c", "d"]), ([], ["c"])):
        assert split_arguments(as_arguments(files, data)) == (files, data)
