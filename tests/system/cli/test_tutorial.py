"""The tutorial's commands work as they stand, one after the other.

Only the example page becomes one of the practice site, and the example's job the one just made.
"""

import re
import shlex
from pathlib import Path

from cli.conftest import Curtsy, Told
from cli.running import running
from curtsy.demo.process import PracticeProcess

TUTORIAL = Path(__file__).parents[3] / "docs/tutorial/first-articles.md"
BLOCKS = re.findall(r"```sh\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
STORY = "/news/letters/a-map-sold-twice"


def test_its_commands_work_one_after_the_other(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    demo, one, many, up, service = BLOCKS
    assert (demo, up) == ("make demo\n", "curtsy up\n"), "the README's test does these"

    def do(line: str) -> Told:
        return quick(*shlex.split(line.replace("https://example.com/", pages.url(0, STORY)))[1:])

    assert do(one).out.startswith("A Map Sold Twice\n")
    assert "1 from the store" in do(one).err
    (tmp_path / "urls.txt").write_text(
        f"# mine\n{pages.url(0, STORY)}\n{pages.url(1, '/page/1')}\n"
    )
    assert do(many).exit_code == 0
    assert len((tmp_path / "articles.jsonl").read_text().splitlines()) == 2
    with running(tmp_path, "up") as started:
        assert started.url
        submit, jobs, results, letters = service.splitlines()
        job = do(submit).out.split(":")[0]
        assert "My first job" in do(jobs).out
        assert do(results.replace("job_0d45a0376e21", job)).exit_code == 0
        assert (tmp_path / "articles.md").read_text().startswith("# A Map Sold Twice\n")
        assert do(letters).out == "There are no dead letters.\n"
