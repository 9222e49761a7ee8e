"""What a migration may do while older programs work on its tables."""

import ast
import re
from collections.abc import Iterator

FIRST = "0014"
"""Migrations before it had no releases to be compatible with."""
ENDS_SUPPORT = {
    "drop_table": "drops a table", "drop_column": "drops a column",
    "drop_index": "drops an index", "drop_constraint": "drops a constraint",
    "rename_table": "renames a table", "alter_column": "changes a column",
    "batch_alter_table": "copies a table",
    "create_unique_constraint": "forbids rows", "create_check_constraint": "forbids rows",
    "create_foreign_key": "forbids rows", "create_primary_key": "forbids rows",
}  # fmt: skip
"""Calls of Alembic that programs may not survive that were written before."""
SQL_ENDS_SUPPORT = re.compile(
    r"\b(DROP|RENAME|SET\s+NOT\s+NULL|ALTER\s+COLUMN|ADD\s+CONSTRAINT|CREATE\s+UNIQUE|TRUNCATE"
    r"|DELETE\s+FROM|CREATE\s+(OR\s+REPLACE\s+)?(FUNCTION|TRIGGER))\b",
    re.IGNORECASE,
)


def declared(tree: ast.Module) -> dict[str, str]:
    """The texts that the migration declares at its top."""
    found = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(value))):
                found[name] = value
    return found


def problems(source: str) -> list[str]:
    """What is wrong with a migration by the rules of decision 37."""
    tree = ast.parse(source)
    values = declared(tree)
    revision, oldest = values["revision"], values.get("oldest_program")
    if revision < FIRST:
        return []
    if oldest is None:
        return ["it does not declare `oldest_program`"]
    if oldest > revision:
        return [f"programs of {oldest} do not exist yet"]
    if oldest == revision:
        return []  # nobody else works on the tables
    return [f"line {line}: {what}" for line, what in sorted(set(_breaking(tree)))]


def _breaking(tree: ast.Module) -> Iterator[tuple[int, str]]:
    created = set(_created_tables(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in ENDS_SUPPORT:
                yield node.lineno, ENDS_SUPPORT[name]
            case ast.Call(func=ast.Attribute(attr="add_column"), args=[_, ast.Call() as column]):
                if _is_required(column):
                    yield node.lineno, "adds a column that older programs do not fill"
            case ast.Call(func=ast.Attribute(attr="add_column")):
                yield node.lineno, "adds a column that this check cannot read"
            case ast.Call(func=ast.Attribute(attr="create_index"), args=[_, table, *_]):
                if _is_unique(node) and _text_of(table) not in created:
                    yield node.lineno, "forbids rows"
            case ast.Constant(value=str(text)) if SQL_ENDS_SUPPORT.search(text):
                if node is not _docstring(tree):
                    yield node.lineno, f"runs {' '.join(text.split())[:40]!r}"


def _docstring(tree: ast.Module) -> ast.expr | None:
    first = tree.body[0] if tree.body else None
    return first.value if isinstance(first, ast.Expr) else None


def _created_tables(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="create_table"), args=[table, *_]):
                yield _text_of(table)


def _text_of(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _is_required(column: ast.Call) -> bool:
    options = {word.arg: word.value for word in column.keywords}
    nullable = options.get("nullable")
    is_nullable = nullable is None or (isinstance(nullable, ast.Constant) and nullable.value)
    return not is_nullable and "server_default" not in options


def _is_unique(call: ast.Call) -> bool:
    return any(word.arg == "unique" for word in call.keywords)
