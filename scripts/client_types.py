"""Writes the types of the Python client from the models of the API.

`src/curtsy/client/answers.py` has a frozen dataclass for each answer, `src/curtsy/client/bodies.py`
the keywords of the calls that send one. `make client-types` writes both; a test fails while they
differ from the API.
"""

import ast
import dataclasses
import inspect
import keyword
import subprocess
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path

from pydantic import BaseModel

CLIENT = Path(__file__).parents[1] / "src/curtsy/client"
WIDTH = 98
ANSWERS = {
    "api.schemas.articles": ["ArticlesCreated", "ArticleResults"],
    "api.schemas.crawl": ["CrawlCreated", "CrawlScheduled"],
    "api.schemas.fetch": ["FetchCreated"],
    "api.schemas.jobs": [
        "FetchSummary", "ArticlesJob", "CrawlJob", "RunJob", "FetchJob", "WholeArticlesJob",
        "WholeCrawlJob", "WholeRunJob", "JobList", "Cancelled", "Changed",
    ],
    "api.schemas.plan": ["PlannedJob"],
    "api.schemas.why": ["JobWaiting", "Waiting"],
    "api.schemas.performance": ["Performance"],
    "api.schemas.pages": ["Page"],
    "api.schemas.runs": ["RunStarted", "Run", "Sites", "SchedulerTick", "SchedulerStatus"],
    "api.schemas.queue": ["QueueStatus", "QueueHealth"],
    "api.schemas.schedule_preview": ["SchedulerPlan"],
    "api.schemas.schedules": ["ScheduleShown", "ScheduleList", "ScheduleRemoved", "SlotList"],
    "api.schemas.sources": ["SourceList", "Forgotten"],
    "api.schemas.receipts": ["CourtesyReceipt"],
    "api.schemas.dead_letters": ["LetterList", "LetterStory", "SettledLetters"],
    "api.schemas.alerts": ["AlertList", "RuleList", "RuleDeleted", "MuteShown", "ChannelList"],
    "api.schemas.stats": ["StatsShown"],
    "api.schemas.reports": ["ReportList"],
    "reports.report": ["Report"],
    "api.routes.sites": ["SiteSaid", "SiteGone", "RecordList"],
    "api.routes.sessions": ["WhoYouAre"],
    "api.routes.webhooks": ["Deliveries", "Replayed", "UsersSecret"],
    "api.routes.operations.cleanup": ["CleanupShown"],
    "api.routes.operations.workers": ["WorkerList"],
    "api.routes.operations.health": ["Version", "Health"],
}  # fmt: skip
"""Modules under `curtsy`, and the models of their responses that the client returns."""
BODIES = {
    "requests.articles": ["ArticlesRequest"],
    "requests.crawl": ["CrawlRequest"],
    "requests.fetch": ["FetchRequest"],
    "requests.runs": ["ScrapeRequest"],
    "requests.schedules": ["ScheduleRequest", "ScheduleChanges"],
    "sites.spec": ["SiteSpec"],
    "api.schemas.sources": ["SourceDescription", "SourceChanges"],
    "api.schemas.dead_letters": ["Which"],
}
KEYWORDS: dict[str, tuple[list[tuple[str, str]], set[str]]] = {
    "ArticlesKeywords": ([("requests.articles", "ArticlesRequest")], {"articles"}),
    "CrawlKeywords": (
        [("requests.crawl", "CrawlRequest"), ("requests.crawl", "CrawlParams")],
        {"spider", "start_urls", "depth", "params", "scope"},
    ),
    "FetchKeywords": ([("requests.fetch", "FetchRequest")], {"url"}),
    "SearchKeywords": ([("requests.runs", "ScrapeRequest")], {"site_name", "priority", "country"}),
}
"""Keywords of calls that have the other fields of these bodies as arguments."""
NAMES = {
    "api.schemas.alerts.AlertShown": "Alert",
    "api.schemas.alerts.ChannelShown": "Channel",
    "api.schemas.alerts.DeliveryShown": "AlertDelivery",
    "api.schemas.alerts.MuteShown": "Mute",
    "api.schemas.alerts.RuleShown": "AlertRule",
    "api.schemas.articles.ScrapedArticle": "ScrapedPage",
    "api.schemas.dead_letters.Letter": "DeadLetter",
    "api.schemas.dead_letters.LetterGroup": "DeadLetterGroup",
    "api.schemas.dead_letters.LetterList": "DeadLetterList",
    "api.schemas.dead_letters.LetterStory": "DeadLetterStory",
    "api.schemas.plan.PlannedJob": "Plan",
    "api.schemas.receipts.CourtesyReceipt": "Receipt",
    "api.schemas.reports.ReportRow": "ListedReport",
    "api.schemas.runs.Site": "Site",
    "api.schemas.schedules.ScheduleShown": "Schedule",
    "api.schemas.schedules.SlotShown": "Slot",
    "api.schemas.sources.SourceShown": "Source",
    "api.schemas.stats.StatsShown": "Stats",
    "api.routes.operations.cleanup.CleanupShown": "Cleanup",
    "api.routes.sites.RecordShown": "SiteRecord",
    "api.routes.sites.SiteSaid": "DeclaredSite",
    "api.routes.webhooks.Delivery": "WebhookDelivery",
    "api.routes.webhooks.UsersSecret": "WebhookSecret",
    "reports.report.ReportFigures": "ReportFigures",
    "reports.report.Schedules": "ReportSchedules",
    "reports.report.ReportSites": "ReportSites",
    "requests.articles.Article": "ArticleBody",
    "requests.articles.ArticlesRequest": "ArticlesBody",
    "requests.crawl.CrawlRequest": "CrawlBody",
    "requests.crawl_start.Start": "StartBody",
    "requests.crawl_rules.PageRule": "PageRuleBody",
    "requests.fetch.FetchRequest": "FetchBody",
    "requests.runs.ScrapeRequest": "RunBody",
    "requests.schedules.Payload": "PayloadBody",
    "requests.schedules.ScheduleRequest": "ScheduleBody",
    "sites.spec.SiteSpec": "SiteBody",
    "sites.spec.Search": "SearchBody",
    "sources.policy_fields.RespectfulHours": "RespectfulHours",
    "api.schemas.dead_letters.Which": "WhichLetters",
}
"""Names that read better where there is no request beside the response, or that are used twice."""
INSTANTS = frozenset({
    "at", "since", "until", "eta", "finish_by", "next_run", "last_run", "as_of", "utc",
    "not_before", "lease_until", "muted_until", "old_secret_until", "covered_since", "hour",
})  # fmt: skip
"""Fields that hold an instant, beside all whose names end in `_at`."""
OPEN_ENUMS = frozenset({"Kind", "Metric"})
"""A later server has more of these: plain text for the client."""

HEAD = '''"""{what}

Written by `make client-types` from the models of the API; do not edit.
"""

{imports}
'''
ANSWER_IMPORTS = """from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from curtsy.client.answer import Answer"""
BODY_IMPORTS = """from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Required, TypedDict"""


class Writer:
    """Writes classes in an order in which each stands after those that its fields name."""

    def __init__(self, *, is_answer: bool) -> None:
        self.is_answer = is_answer
        self.written: dict[type, str] = {}
        self.names: set[str] = set()
        self.keywords: list[str] = []

    def add(self, model: type) -> None:
        if model in self.written:
            return
        self.written[model] = ""
        fields = list(_fields(model))
        body = [line for name, kind, default in fields
                for line in self._field(model, name, kind, default)]  # fmt: skip
        name = _name(model)
        assert name not in self.names, f"two classes are named {name}: give one another in NAMES"
        self.names.add(name)
        head = ["@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)",
                f"class {name}(Answer):"]  # fmt: skip
        if not self.is_answer:
            head = [f"class {name}(TypedDict, total=False):"]
        doc = [line for text in [_own_doc(model)] if text for line in _docstring(text)]
        self.written.pop(model)  # after the classes of its fields
        self.written[model] = "\n".join([*head, *doc, *([""] if doc else []), *body])

    def add_keywords(self, name: str, models: Sequence[type], without: set[str]) -> None:
        lines = [
            line for model in models for field, kind, _default in _fields(model)
            if field not in without for line in self._field(model, field, kind, None)
        ]  # fmt: skip
        head = f"class {name}(TypedDict, total=False):"
        self.keywords.append("\n".join([head, *lines]))

    def text(self) -> str:
        return "\n\n\n".join([*self.written.values(), *self.keywords])

    def _field(self, model: type, name: str, kind: object, default: object) -> Iterator[str]:
        spelled = self._spell(kind, name)
        if self.is_answer:
            value = self._default(default, spelled)
            attribute = f"{name}_" if keyword.iskeyword(name) or hasattr(dict, name) else name
            yield f"    {attribute}: {spelled}{value}"
        else:
            yield f"    {name}: {f'Required[{spelled}]' if default is ... else spelled}"
        if doc := _field_docs(model).get(name):
            yield from _docstring(doc)

    def _default(self, default: object, spelled: str) -> str:
        if default is ...:
            return ""
        if isinstance(default, Enum):
            default = default.value
        if spelled.startswith("tuple["):
            return " = ()"
        simple = default is None or isinstance(default, str | int | float | bool)
        return f" = {default!r}" if simple and spelled != "datetime" else " = None" * (
            "None" in spelled)  # fmt: skip

    def _spell(self, kind: object, field: str) -> str:
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Annotated:
            return self._spell(self._of_annotated(arguments), field)
        if origin in (types.UnionType, typing.Union):
            return " | ".join(dict.fromkeys(self._spell(one, field) for one in arguments))
        if origin is typing.Literal:
            return f"Literal[{', '.join(map(repr, arguments))}]".replace("'", '"')
        if origin in (list, tuple, Sequence):
            inner = self._spell(arguments[0], "")
            return f"tuple[{inner}, ...]" if self.is_answer else f"Sequence[{inner}]"
        if origin in (dict, Mapping):
            return f"Mapping[str, {self._spell(arguments[1], '')}]"
        return self._plain(kind, field)

    def _of_annotated(self, arguments: tuple[object, ...]) -> object:
        """An instant is a number in our code and a text in JSON."""
        is_text = any(type(one).__name__ == "WithJsonSchema" for one in arguments[1:])
        return datetime if is_text else arguments[0]

    def _plain(self, kind: object, field: str) -> str:
        if kind is datetime or getattr(kind, "__name__", "") == "AwareDatetime":
            return "datetime" if self.is_answer else "datetime | str"
        if kind is typing.Any:
            return "object"
        if kind is type(None) or kind is None:
            return "None"
        if isinstance(kind, type) and issubclass(kind, Enum):
            if kind.__name__ in OPEN_ENUMS:
                return "str"
            return f"Literal[{', '.join(repr(one.value) for one in kind)}]".replace("'", '"')
        if isinstance(kind, type) and _is_model(kind):
            self.add(kind)
            return _name(kind)
        if kind is str and self.is_answer and (field in INSTANTS or field.endswith("_at")):
            return "datetime"
        assert isinstance(kind, type), kind
        return kind.__name__


def _is_model(kind: type) -> bool:
    return issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)


def _name(model: type) -> str:
    place = f"{model.__module__}.{model.__qualname__}".removeprefix("curtsy.")
    return NAMES.get(place, model.__name__)


def _fields(model: type) -> Iterator[tuple[str, object, object]]:
    """Each field with its type and default; `...`: it has none."""
    if issubclass(model, BaseModel):
        for name, field in model.model_fields.items():
            default = ... if field.is_required() else field.default
            kind = typing.Annotated[field.annotation, *field.metadata] if (
                field.metadata and field.annotation is not None) else field.annotation  # fmt: skip
            yield field.alias or name, kind, default
        return
    hints = typing.get_type_hints(model, include_extras=True)
    for one in dataclasses.fields(model):
        missing = one.default is dataclasses.MISSING
        has_factory = one.default_factory is not dataclasses.MISSING
        yield one.name, hints[one.name], ... if missing and not has_factory else (
            one.default_factory() if has_factory else one.default)  # type: ignore[misc]  # fmt: skip


def _own_doc(model: type) -> str:
    return inspect.cleandoc(model.__dict__.get("__doc__") or "") if "(" not in (
        model.__dict__.get("__doc__") or "")[: len(model.__name__) + 1] else ""  # fmt: skip


def _field_docs(model: type) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if one.__module__.startswith("curtsy."):
            found |= _docs_of_module(one.__module__).get(one.__name__, {})
    return found


@cache
def _docs_of_module(name: str) -> dict[str, dict[str, str]]:
    """The text below each field of each class of a module."""
    tree = ast.parse(inspect.getsource(import_module(name)))
    return {
        node.name: {
            field.target.id: inspect.cleandoc(below.value.value)
            for field, below in zip(node.body, node.body[1:], strict=False)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        }
        for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    }  # fmt: skip


def _docstring(text: str) -> list[str]:
    one = " ".join(text.split())
    lines = textwrap.wrap(f'"""{one}', WIDTH - 7, break_long_words=False)
    closing = '"""'
    return [f"    {line}" for line in [*lines[:-1], lines[-1] + closing]]


def _models(listed: Mapping[str, Sequence[str]]) -> Iterator[type]:
    for module, names in listed.items():
        for name in names:
            yield getattr(import_module(f"curtsy.{module}"), name)


def _written(listed: Mapping[str, Sequence[str]], what: str, imports: str) -> str:
    writer = Writer(is_answer=listed is ANSWERS)
    for model in _models(listed):
        writer.add(model)
    if listed is BODIES:
        for name, (places, without) in KEYWORDS.items():
            models = [getattr(import_module(f"curtsy.{module}"), one) for module, one in places]
            writer.add_keywords(name, models, without)
    text = f"{HEAD.format(what=what, imports=imports)}\n\n{writer.text()}\n"
    return _formatted(text)


def _formatted(text: str) -> str:
    for command in (["check", "--fix", "--exit-zero", "-q"], ["format", "-q"]):
        text = subprocess.run(  # noqa: S603 - our own linter
            [Path(sys.executable).with_name("ruff"), *command, "--stdin-filename",
             CLIENT / "answers.py", "-"],
            input=text, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    return text


def answers() -> str:
    return _written(ANSWERS, "The answers of the API, as the client returns them.", ANSWER_IMPORTS)


def bodies() -> str:
    return _written(BODIES, "Keywords of the client's calls that send a body.", BODY_IMPORTS)


FILES: dict[Path, Callable[[], str]] = {
    CLIENT / "answers.py": answers, CLIENT / "bodies.py": bodies,
}  # fmt: skip

if __name__ == "__main__":
    for path, write in FILES.items():
        path.write_text(write())
