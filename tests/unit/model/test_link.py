"""Links as they come from a child process, and as they are stored."""

from typing import Any

import pytest

from curtsy.model.link import Link, packed, unpacked

URL = "http://a.example/"


def test_what_was_packed_is_read_again() -> None:
    links = (Link(URL), Link(URL, "mine"), Link(URL, None, {"a": 1}), Link(URL, "mine", {}))
    assert unpacked(packed(links)) == links


@pytest.mark.parametrize(
    "garbled",
    [[None], [5], [[]], [[None]], [[5]], [[URL, 5]], [[URL, "a\0"]], [[URL, "a", [1]]],
     [[URL, None, "a"]], [[URL, 5, [1]]], [[URL, None, {}, 4]],
     [{"url": 1, "params": {}}]],
)  # fmt: skip
def test_what_is_no_link_is_refused(garbled: list[Any]) -> None:
    with pytest.raises(ValueError, match="no link"):
        unpacked(garbled)
