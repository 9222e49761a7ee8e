"""Writes the text of an element as blocks, in one walk over the outline."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from curtsy.scrapers.articles import markdown, tags
from curtsy.scrapers.articles.blocks import Block, Kind
from curtsy.scrapers.articles.inline_text import BREAK, InlineText
from curtsy.scrapers.articles.link_lists import is_list_of_text
from curtsy.scrapers.articles.outline import LONG_TEXT, Outline
from curtsy.scrapers.articles.table_rows import TableRows, is_data_table, table_counts

Absolute = Callable[[str | None], str | None]

DEEPEST = 12
"""Lists and quotations in each other; deeper ones are not indented further."""
LEAST_LOOSE = 40
"""Characters of a text beside paragraphs that is taken for a paragraph; shorter ones are labels."""
LINKED, MOSTLY_LINKED = 0.9, 0.8
SHORT_LINKED = 300
MANY_LINKS = 4
_MARKS = (
    dict.fromkeys(tags.STRONG, "strong")
    | dict.fromkeys(tags.EMPHASIS, "emphasis")
    | dict.fromkeys(tags.STRUCK, "struck")
    | dict.fromkeys(tags.CODE, "code")
)
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source)-([\w+#-]{1,20})(?=\s|$)")
_ADDRESS = re.compile(r"(?:^|\s)(?:https?://|www\.|[\w.+-]{1,64}@[\w-]{1,64}\.)\S+$")
_LEFT_OUT = tags.SKIPPED | {tags.FIGCAPTION}


@dataclass(slots=True)
class _Open:
    """An element whose end the walk has not reached."""

    end: int
    number: int
    mark: str = ""
    blocks: int = 0
    """How many blocks there were before it."""
    nests: bool = False


@dataclass(slots=True)
class _Nest:
    """A list item or a quotation: what stands in front of its first line and of the others."""

    first: str
    rest: str
    list_at: int = -1
    quote_at: int = -1
    used: bool = False


class Writer:
    def __init__(self, outline: Outline, absolute: Absolute) -> None:
        self._outline, self._absolute = outline, absolute
        self.blocks: list[Block] = []
        self._open: list[_Open] = []
        self._nests: list[_Nest] = []
        self._lists: list[tuple[int, int | None]] = []
        """Where each open list stands, and the number of the next item; None: it has none."""
        self._line = InlineText()
        self._heading = 0
        """The level of the open heading; 0: none is open."""
        self._paragraphs = 0
        """How many elements that make paragraphs are open."""
        self._is_loose = False
        """Whether the line has text that stands beside paragraphs."""
        self._with_paragraphs: set[int] | None = None
        """Elements that hold paragraphs of some length."""
        self._kept_until = 0
        """Where the list ends that is part of the text in spite of its links."""
        self._table: TableRows | None = None
        self._counts: tuple[list[int], ...] | None = None

    def write(self, at: int) -> list[Block]:
        outline, numbers, ends = self._outline, self._outline.tags, self._outline.ends
        end, opened = ends[at], self._open
        while at < end:
            while opened and opened[-1].end <= at:
                self._leave(opened.pop())
            number = numbers[at]
            if number == tags.TEXT:
                self._line.add(outline.texts[at])
                if not (self._paragraphs or self._is_loose):
                    self._is_loose = self._stands_beside_paragraphs(at)
                at += 1
            elif number in _LEFT_OUT or outline.is_noise[at]:
                if number in tags.BREAKING or not (number in _LEFT_OUT or number in tags.INLINE):
                    self._end_line()
                at = ends[at]
            else:
                at = self._enter(at, number)
        while opened:
            self._leave(opened.pop())
        self._end_line()
        return self.blocks

    def _enter(self, at: int, number: int) -> int:
        """Returns where the walk goes on."""
        end = self._outline.ends[at]
        if number in tags.INLINE:
            self._enter_inline(at, number, end)
        elif number == tags.IMG:
            self._image(at)
        elif number == tags.BR:
            if self._table is not None or self._heading:
                self._line.add_space()
            elif not self._line.break_line():
                self._end_line()
        else:
            self._end_line()
            return self._enter_block(at, number, end)
        return at + 1

    def _enter_inline(self, at: int, number: int, end: int) -> None:
        if number == tags.A:
            href = self._outline.attributes[at].get("href")
            if href is not None and self._line.open("link", self._absolute(href) or ""):
                self._open.append(_Open(end, number, "link"))
        elif (mark := _MARKS.get(number)) is not None:
            is_needless = self._line.has_open("code") or (mark == "strong" and self._heading > 0)
            if not is_needless and self._line.open(mark):
                self._open.append(_Open(end, number, mark))

    def _enter_block(self, at: int, number: int, end: int) -> int:
        if number == tags.PRE and self._table is None:
            self._preformatted(at, end)
            return end
        if number == tags.HR:
            if self._table is None:
                self._add(Block(Kind.RULE, "", "---"))
            return end
        opened = _Open(end, number, blocks=len(self.blocks))
        self._open.append(opened)
        if number in tags.LINES:
            self._paragraphs += 1
        if number in tags.HEADINGS:
            self._heading = tags.HEADINGS[number]
        elif number == tags.BLOCKQUOTE:
            self._nest(opened, _Nest("> ", "> ", quote_at=at))
        elif number == tags.OL or number == tags.UL:
            self._lists.append((at, self._first_number(at) if number == tags.OL else None))
            if end > self._kept_until and is_list_of_text(self._outline, at):
                self._kept_until = end
        elif number == tags.LI:
            self._enter_item(opened)
        elif number == tags.TABLE:
            self._enter_table(at)
        elif self._table is not None:
            self._table.enter(number)
        return at + 1

    def _first_number(self, at: int) -> int:
        given = self._outline.attributes[at].get("start") or ""
        return int(given) if given.isdecimal() and len(given) < 9 else 1

    def _enter_item(self, opened: _Open) -> None:
        if self._table is not None:
            return
        list_at, number = self._lists[-1] if self._lists else (opened.end, None)
        marker = "- " if number is None else f"{number}. "
        if self._lists and number is not None:
            self._lists[-1] = (list_at, number + 1)
        self._nest(
            opened, _Nest(marker, " " * len(marker), self._lists[0][0] if self._lists else -1)
        )

    def _nest(self, opened: _Open, nest: _Nest) -> None:
        if len(self._nests) < DEEPEST and self._table is None:
            opened.nests = True
            self._nests.append(nest)

    def _enter_table(self, at: int) -> None:
        if self._counts is None:
            self._counts = table_counts(self._outline)
        if self._table is None and is_data_table(self._outline, self._counts, at):
            self._table = TableRows()

    def _leave(self, opened: _Open) -> None:
        if opened.mark:
            self._line.close(opened.mark)
            return
        self._end_line()
        number = opened.number
        if number == tags.TABLE and self._table is not None:
            table, self._table = self._table, None
            if (block := table.block()) is not None:
                self._add(block)
        elif number == tags.OL or number == tags.UL:
            self._leave_list(opened)
        if number in tags.LINES:
            self._paragraphs -= 1
        if opened.nests:
            self._nests.pop()
        if number in tags.HEADINGS:
            self._heading = 0
        elif self._table is None and not self._in_kept_list(opened):
            self._drop_if_linked(opened)

    def _leave_list(self, opened: _Open) -> None:
        """Drops the heading of a list of which nothing is left."""
        list_at, _ = self._lists.pop()
        is_empty = len(self.blocks) == opened.blocks and self._outline.links_in(list_at) > 0
        if is_empty and self.blocks and self.blocks[-1].kind is Kind.HEADING:
            self.blocks.pop()

    def _in_kept_list(self, opened: _Open) -> bool:
        return opened.end <= self._kept_until and (opened.number in tags.LISTS or bool(self._lists))

    def _drop_if_linked(self, opened: _Open) -> None:
        """Drops lists of links, and short texts that are little else than a link. A link that
        shows its address is there to be read."""
        first = opened.blocks
        if len(self.blocks) - first > 40:
            return  # enclosing elements that long are looked at part by part
        if len(self.blocks) - first == 1 and _ADDRESS.search(self.blocks[first].text[-200:]):
            return
        length = links = linked = 0
        for block in self.blocks[first:]:
            length += len(block.text)
            links += block.links
            linked += block.links > 0
        if not length:
            return
        is_list = opened.number in tags.LISTS
        share = links / length
        if (share > MOSTLY_LINKED and (is_list or length < SHORT_LINKED)) or (
            share > LINKED and linked > MANY_LINKS
        ):
            del self.blocks[first:]

    def _end_line(self) -> None:
        if not self._line:
            return
        plain, marked, links = self._line.take()
        is_loose, self._is_loose = self._is_loose, False
        if self._table is not None:
            self._table.add(plain, marked.replace(BREAK, " "), links)
            return
        if not marked:
            return
        if not plain:
            self._add(Block(Kind.IMAGE, "", marked.replace(BREAK, " ")))
        elif self._heading:
            one_line = marked.replace(BREAK, " ")
            whole = f"{'#' * self._heading} {one_line}"
            self._add(Block(Kind.HEADING, plain, whole, links, self._heading))
        else:
            marked = markdown.escape_line_starts(marked.replace(BREAK, "\\\n"))
            is_sentence = is_loose and len(plain) >= LEAST_LOOSE and links < len(plain) / 2
            self._add(Block(self._kind(is_sentence=is_sentence), plain, marked, links))

    def _kind(self, *, is_sentence: bool) -> Kind:
        if any(nest.list_at >= 0 for nest in self._nests):
            return Kind.ITEM
        return Kind.PARAGRAPH if self._paragraphs or is_sentence else Kind.BARE

    def _stands_beside_paragraphs(self, at: int) -> bool:
        """Whether the element around a text has paragraphs too: then the text is one of them."""
        outline = self._outline
        if self._with_paragraphs is None:
            self._with_paragraphs = {
                outline.parents[each]
                for each, number in enumerate(outline.tags)
                if number == tags.P and outline.prose_in(each) >= LONG_TEXT
            }
        at = outline.parents[at]
        for _ in range(DEEPEST):
            if at < 0 or outline.tags[at] not in tags.INLINE:
                break
            at = outline.parents[at]
        if outline.tags[at] == tags.DIV and not outline.attributes[at].keys() & {"class", "id"}:
            at = outline.parents[at]  # editors make paragraphs of plain elements too
        return at in self._with_paragraphs

    def _add(self, block: Block) -> None:
        if self._nests:
            rest = "".join(nest.rest for nest in self._nests)
            first = "".join(nest.rest if nest.used else nest.first for nest in self._nests)
            block.quote_at = self._nests[0].quote_at
            is_first = not self._nests[-1].used
            for nest in self._nests:
                nest.used = True
            block.markdown = first + block.markdown.replace("\n", f"\n{rest}")
            if is_first and self._nests[-1].list_at >= 0:
                block.list_at = self._nests[0].list_at
        self.blocks.append(block)

    def _preformatted(self, at: int, end: int) -> None:
        text = "".join(self._outline.texts[at:end]).strip("\n").rstrip()
        if text.strip():
            self._add(Block(Kind.CODE, text, markdown.code_block(text, self._language(at, end))))

    def _language(self, at: int, end: int) -> str:
        """Returns the language that the block or the `<code>` in it names; empty: none does."""
        for names in self._outline.attributes[at : min(at + 3, end)]:
            if found := _LANGUAGE.search((names.get("class") or "")[:200]):
                return found[1].lower()
        return ""

    def _image(self, at: int) -> None:
        attributes = self._outline.attributes[at]
        source = attributes.get("src") or ""
        if not source or source.startswith("data:"):
            source = attributes.get("data-src") or attributes.get("data-original") or ""
        sizes = {attributes.get("width"), attributes.get("height")}
        if not source or sizes & {"0", "1", "2"}:
            return
        url = self._absolute(source)
        if url is not None and self._table is None and not self._heading:
            self._line.add_image(" ".join((attributes.get("alt") or "").split())[:500], url)
