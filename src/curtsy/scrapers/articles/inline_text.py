"""One line of text in the making: as plain text and with marks."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from curtsy.scrapers.articles import markdown

BREAK = "\v"
"""A line break while the line is in the making. No text contains it: its space is collapsed."""
_SPECIAL = re.compile(r"[\\`*_\[\]<&~]")


@dataclass(slots=True)
class _Mark:
    kind: str
    plain_at: int
    marked_at: int
    url: str = ""


class InlineText:
    """At most one mark of each kind is open, so closing one costs what its text costs."""

    def __init__(self) -> None:
        self._plain: list[str] = []
        self._marked: list[str] = []
        self._marks: list[_Mark] = []
        self._space = False
        self.links = 0
        """Characters in links."""

    def __bool__(self) -> bool:
        return bool(self._marked)

    def add(self, text: str) -> None:
        words = text.split()
        if not words:
            self._space = self._space or bool(text)
            return
        if self._plain and (self._space or text[0].isspace()) and self._plain[-1] != "\n":
            self._plain.append(" ")
            self._marked.append(" ")
        joined = " ".join(words)
        self._plain.append(joined)
        is_special = not self.has_open("code") and _SPECIAL.search(joined) is not None
        self._marked.append(markdown.escape(joined) if is_special else joined)
        self._space = text[-1].isspace()
        if self.has_open("link"):
            self.links += len(joined)

    def add_image(self, alt: str, url: str) -> None:
        if self._space and self._marked:
            self._marked.append(" ")
        self._marked.append(markdown.image(alt, url))

    def break_line(self) -> bool:
        """Returns False where the line is broken already: two breaks end a paragraph."""
        if self._plain and self._plain[-1] == "\n":
            return False
        if self._plain:
            self._plain.append("\n")
            self._marked.append(BREAK)
        self._space = False
        return True

    def add_space(self) -> None:
        self._space = True

    def has_open(self, kind: str) -> bool:
        return any(mark.kind == kind for mark in self._marks)

    def open(self, kind: str, url: str = "") -> bool:
        """Returns False when such a mark is open already."""
        if self.has_open(kind):
            return False
        self._marks.append(_Mark(kind, len(self._plain), len(self._marked), url))
        return True

    def close(self, kind: str) -> None:
        mark = next(mark for mark in reversed(self._marks) if mark.kind == kind)
        self._apply(mark)
        self._marks.remove(mark)

    def _apply(self, mark: _Mark) -> None:
        marked = "".join(self._marked[mark.marked_at :])
        del self._marked[mark.marked_at :]
        if mark.kind == "code":
            marked = _code("".join(self._plain[mark.plain_at :]))
        elif mark.kind == "link":
            marked = markdown.link(marked, mark.url) if mark.url else marked
        else:
            marked = _MARKS[mark.kind](marked)
        if marked:
            self._marked.append(marked)

    def take(self) -> tuple[str, str, int]:
        """Ends the line; returns it plain, marked, and how much of it is links. Open marks go on
        in the next line."""
        for mark in reversed(self._marks):
            self._apply(mark)
        plain, marked, links = "".join(self._plain), "".join(self._marked), self.links
        self._plain, self._marked, self._space, self.links = [], [], False, 0
        for mark in self._marks:
            mark.plain_at = mark.marked_at = 0
        return plain.strip(), marked.strip(), links


def _code(text: str) -> str:
    inner = " ".join(text.split())
    if not inner:
        return text
    before = " " if text[0].isspace() else ""
    return f"{before}{markdown.code_span(inner)}{' ' if text[-1].isspace() else ''}"


def _with(mark: str) -> Callable[[str], str]:
    return lambda marked: markdown.emphasised(marked, mark)


_MARKS = {"strong": _with("**"), "emphasis": _with("*"), "struck": _with("~~")}
