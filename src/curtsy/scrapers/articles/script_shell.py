"""Recognises pages whose text is written by their scripts: without JavaScript they are empty."""

import re
from itertools import islice

from selectolax.lexbor import LexborHTMLParser

MOST_NODES, MOST_TEXT = 50, 20_000
MOST_AROUND = 400
"""Characters of text beside the menus that a shell may have: a footer, a notice, a button."""
LOADING = 40
"""Characters in the root of an application that waits for its script."""
LONG_SCRIPT = 300
_ROOTS = ("#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #react-root, #main-app, "
          "#application, #ember-app, #q-app, #app-root, #reactroot, app-root, [ng-app], "
          "[data-reactroot], [ng-version], [data-server-rendered], [data-v-app]")  # fmt: skip
_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "head"]
_AROUND = ["nav", "header", "footer", "aside", "dialog"]
_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\\W\\d_]+")
_SCRIPTS = re.compile(r"java-?script|джаваскрипт|ジャバスクリプト", re.IGNORECASE)
_ASKS = re.compile(
    r"enable|turn(?:ed)? on|activat|require|need|disabled|support|aktiv|einschalt|benötigt|activ|"
    r"habilit|attiv|abilit|aktiver|inschakel|włącz|povol|engedélyez|включ|увімкн|ενεργοποι|"
    r"etkinleştir|有効|必要|启用|开启|啟用|활성화|사용|bật|تفعيل|הפעל|เปิด|सक्षम",
    re.IGNORECASE,
)


def words_without_scripts(page: str, text: str) -> int | None:
    """Returns how many words the HTML of a shell has; None: the page is no shell. `text` is what
    was found of an article."""
    tree = LexborHTMLParser(page)
    body = tree.body
    if body is None or not _has_script(tree):
        return None
    unseen = " ".join(node.text()[:2_000] for node in islice(tree.css("noscript"), MOST_NODES))
    roots = list(islice(tree.css(_ROOTS), MOST_NODES))
    tree.strip_tags(_UNSEEN)
    seen = body.text(separator=" ")[:MOST_TEXT]
    words = sum(1 for _ in _WORD.finditer(seen))
    waits = bool(roots) and all(len(root.text(strip=True)) <= LOADING for root in roots)
    tree.strip_tags(_AROUND)
    main = " ".join(body.text(separator=" ")[:MOST_TEXT].split())
    if len(main) > MOST_AROUND or len(main) < len(text) / 2:
        return None
    has_text = len(text) > MOST_AROUND / 4
    is_asked = _asks_for_scripts(main) or (_asks_for_scripts(unseen) and not has_text)
    return words if waits or is_asked or words == 0 else None


def _has_script(tree: LexborHTMLParser) -> bool:
    for node in islice(tree.css("script"), MOST_NODES):
        kind = node.attributes.get("type") or ""
        if "json" not in kind and ("src" in node.attributes or len(node.text()) > LONG_SCRIPT):
            return True
    return False


def _asks_for_scripts(text: str) -> bool:
    """Whether a short text asks to turn on JavaScript."""
    return any(
        _ASKS.search(text[max(0, found.start() - 100) : found.end() + 100])
        for found in islice(_SCRIPTS.finditer(text), MOST_NODES)
    )
