"""Another revision of the project, to run a contestant on it in the same run as on this one."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.children import ROOT


@contextmanager
def checked_out(revision: str, *files: str) -> Iterator[Path | None]:
    """Yields a folder with the revision; None: this repository has no such revision.

    The folder gets these files of `bench` from this revision: a contestant, and what it imports
    that the other revision lacks. All other imports, of `bench` as of `curtsy`, are the other's.
    """
    if not _is_known(revision):
        print(f"  no revision {revision} here: nothing is compared with it", flush=True)
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="curtsy-revision-") as parent:
        folder = Path(parent) / "checkout"
        _git("worktree", "add", "--detach", str(folder), revision)
        try:
            for file in files:
                shutil.copy(ROOT / "bench" / file, folder / "bench" / file)
            yield folder
        finally:
            _git("worktree", "remove", "--force", str(folder))


def _is_known(revision: str) -> bool:
    known = ["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    return subprocess.run(known, cwd=ROOT, capture_output=True, check=False).returncode == 0


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)
