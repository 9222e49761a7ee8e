"""Tables of data, as opposed to tables that only arrange the page."""

from itertools import accumulate

from curtsy.scrapers.articles import markdown, tags
from curtsy.scrapers.articles.blocks import Block, Kind
from curtsy.scrapers.articles.outline import Outline

LONGEST_CELL = 400
"""Characters, on average; longer cells arrange a page."""
_CELLS = frozenset({tags.TD, tags.TH})

Counts = tuple[list[int], ...]


def table_counts(outline: Outline) -> Counts:
    """Counts tables, rows and cells in front of each entry."""
    numbers = outline.tags
    return tuple(
        list(accumulate((number in kinds for number in numbers), initial=0))
        for kinds in ({tags.TABLE}, {tags.TR}, _CELLS)
    )


def is_data_table(outline: Outline, counts: Counts, at: int) -> bool:
    end = outline.ends[at]
    tables, rows, cells = (count[end] - count[at] for count in counts)
    if tables != 1 or rows < 2 or cells < 2 * rows - rows // 2:
        return False
    return outline.text_in(at) <= LONGEST_CELL * cells


class TableRows:
    def __init__(self) -> None:
        self._plain: list[list[list[str]]] = []
        self._marked: list[list[list[str]]] = []
        self._links = 0
        self._has_header = False

    def enter(self, number: int) -> None:
        if number == tags.TR:
            self._plain.append([])
            self._marked.append([])
        elif number in _CELLS:
            if not self._plain:
                self.enter(tags.TR)
            self._has_header = self._has_header or (number == tags.TH and len(self._plain) == 1)
            self._plain[-1].append([])
            self._marked[-1].append([])

    def add(self, plain: str, marked: str, links: int) -> None:
        """Adds a line to the cell. What stands outside of cells, a caption, becomes a row."""
        if not self._plain or not self._plain[-1]:
            self.enter(tags.TR)
            self.enter(tags.TD)
        self._plain[-1][-1].append(plain)
        self._marked[-1][-1].append(marked.replace("|", "\\|"))
        self._links += links

    def block(self) -> Block | None:
        rows, lines = ([[" ".join(cell) for cell in row] for row in whole if any(row)]
                       for whole in (self._marked, self._plain))  # fmt: skip
        if not rows:
            return None
        text = "\n".join("\t".join(line).rstrip("\t") for line in lines)
        whole = markdown.table(rows, has_header=self._has_header or len(rows) > 1)
        return Block(Kind.TABLE, text, whole, self._links)
