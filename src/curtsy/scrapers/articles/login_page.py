"""Recognises pages that ask for a login in place of the article."""

import re
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from curtsy.model.urls import BadUrl, canonical

MOST_NODES, MOST_TEXT, DEEPEST = 20, 20_000, 60
MOST_BESIDE, MOST_BESIDE_NAMED = 200, 700
"""Characters of text beside the form, without menus; more where the page calls itself a login."""
LONGEST_SHOWN = 200
_WORDS = (
    r"(?:wp-)?(?:log|sign)[-_]?(?:in|on)|auth(?:enticate|entication|orize)?|sso|saml2?|connexion|"
    r"se-connecter|anmeld(?:en|ung)|einloggen|iniciar-?sesion|identificarse|entrar|"
    r"accedi|inloggen|aanmelden|logg(?:a-)?inn?|log-ind|kirjaudu|zaloguj|logowanie|prihlaseni|"
    r"prihlasit|bejelentkezes|autentificare|giris(?:-yap)?|вход|войти|dang-nhap|masuk"
)
_PATH = re.compile(rf"/(?:{_WORDS})(?:\.\w{{1,5}})?(?:/|$)", re.IGNORECASE)
_HOST = re.compile(r"//(?:login|signin|sso|auth|accounts?|idp|id)\.", re.IGNORECASE)
_TITLE = re.compile(
    r"\b(?:log[ -]?in|log on|sign[ -]?in|sign on|anmeld(?:en|ung)|einloggen|connexion|"
    r"connectez-vous|se connecter|identifiez-vous|iniciar sesión|inicia sesión|acceder|entrar|"
    r"iniciar sessão|accedi|inloggen|aanmelden|logga in|logg inn|log ind|kirjaudu|zaloguj|"
    r"logowanie|přihlášení|přihlásit|prihlásenie|bejelentkezés|autentificare|giriş|вход|войти|"
    r"увійти|вхід|σύνδεση|đăng nhập|masuk)\b|ログイン|登录|登入|로그인|تسجيل الدخول|התחברות|"
    r"เข้าสู่ระบบ|लॉग ?इन",
    re.IGNORECASE,
)
_ASIDE = frozenset({"header", "nav", "aside", "footer", "dialog"})
_UNSEEN = ["script", "style", "noscript", "template", "svg", "nav", "header", "footer", "aside",
           "dialog"]  # fmt: skip


def led_to_login(url: str, asked_url: str) -> str | None:
    """Returns the address of the login to which a page redirected; None: it did not. A page that
    was asked for under such an address has its own reasons for the name."""
    if not asked_url or asked_url == url:
        return None
    asked, found = _place(asked_url), _place(url)
    is_login = _PATH.search(found) or (_HOST.search(found) and not _HOST.search(asked))
    return found[:LONGEST_SHOWN] if is_login and not _PATH.search(asked) else None


def _place(url: str) -> str:
    """Returns a URL without its query, which may hold tokens."""
    try:
        return canonical(url).text.partition("?")[0]
    except BadUrl:
        return ""


def is_login_form(page: str) -> bool:
    """Whether the page is little else than a form with a password."""
    if "password" not in page and "PASSWORD" not in page:
        return False
    tree = LexborHTMLParser(page)
    body = tree.body
    fields = islice(tree.css("input[type=password i]"), MOST_NODES)
    if body is None or not any(_is_in_main(field) for field in fields):
        return False
    title = tree.css_first("title")
    heading = tree.css_first("h1") or tree.css_first("h2")
    named = " ".join(node.text()[:200] for node in (title, heading) if node is not None)
    for form in islice(tree.css("form:has(input[type=password i])"), MOST_NODES):
        form.decompose()
    tree.strip_tags(_UNSEEN)
    beside = len(" ".join(body.text(separator=" ")[:MOST_TEXT].split()))
    return beside <= (MOST_BESIDE_NAMED if _TITLE.search(named) else MOST_BESIDE)


def _is_in_main(field: LexborNode) -> bool:
    """Whether a field is shown, and not only in the page's head, margin or foot."""
    node: LexborNode | None = field
    for _ in range(DEEPEST):
        if node is None:
            return True
        attributes = node.attributes
        style = (attributes.get("style") or "")[:200].replace(" ", "").lower()
        if node.tag in _ASIDE or "hidden" in attributes or "display:none" in style:
            return False
        node = node.parent
    return True
