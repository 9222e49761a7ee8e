"""Small pages, written for the tests, each with what the article scraper must make of it: an
article, a teaser of one that has to be paid for, or the kind of failure."""

from typing import NamedTuple

ARTICLE, TEASER = "article", "teaser"
LOGIN, PAYWALL, SCRIPT = "login_required", "paywall", "needs_javascript"
GONE, NOTHING = "gone", "extract_failed"
URL = "http://paper.example/2025/03/04/harbour"

EN = (
    "The town council met on Tuesday evening and agreed on a plan for the old harbour. The new "
    "bridge will be built next year, if the money is found, and the ferry will run until then. "
)
DE = (
    "Der Stadtrat hat am Dienstagabend einen Plan für den alten Hafen beschlossen. Die neue Brücke "
    "soll im nächsten Jahr gebaut werden, und bis dahin fährt die Fähre wie bisher. "
)
FR = (
    "Le conseil municipal a approuvé mardi soir un plan pour le vieux port. Le nouveau pont sera "
    "construit l'année prochaine, et le bac continuera de passer jusque-là. "
)
ES = (
    "El ayuntamiento aprobó el martes un plan para el puerto viejo. El puente nuevo se construirá "
    "el año que viene, y hasta entonces seguirá pasando la barca de siempre. "
)
JA = (
    "市議会は火曜日の夜に開かれ、古い港の計画を承認した。"
    "新しい橋は来年つくられ、それまでは渡し船が運航を続ける。"
)
LONG = "".join(
    f"<p>{EN} It was point {n} of the meeting, and nobody left early.</p>" for n in range(9)
)
BUNDLE = '<script src="/static/main.4f.js"></script>'
HEADER = (
    "<header><a href=/>The Paper</a> <nav><a href=/a>News</a> <a href=/b>Sport</a></nav></header>"
)
SMALL_LOGIN = """<header><form action=/login><input name=user><input type=password name=pass>
<button>Log in</button></form></header>"""


class WallPage(NamedTuple):
    name: str
    html: str
    verdict: str
    url: str = URL
    asked_url: str = URL


def page(body: str, head: str = "<title>The Paper</title>", lang: str = "en") -> str:
    return f"<!doctype html><html lang={lang}><head>{head}</head><body>{body}</body></html>"


def data(**members: str) -> str:
    pairs = "".join(f', "{key}": {value}' for key, value in members.items())
    return f'<script type="application/ld+json">{{"@type": "NewsArticle"{pairs}}}</script>'


def _noscript(root: str, says: str, lang: str = "en") -> str:
    return page(f"<noscript>{says}</noscript><div id={root}></div>{BUNDLE}", lang=lang)


def _form(title: str, label: str, lang: str, password: str = "password") -> str:
    return page(
        f"""{HEADER}<main><h1>{title}</h1><form method=post><label>{label}<input name=user></label>
        <input type={password} name=secret><button>{title}</button></form></main>""",
        f"<title>{title} | The Paper</title>",
        lang,
    )


def _cut(text: str, prompt: str, lang: str = "en", name: str = "paywall") -> str:
    return page(
        f"<article><h1>Harbour</h1><p>{text * 2}…</p></article><div class={name}>{prompt}</div>",
        lang=lang,
    )


SHELLS = (
    WallPage("react", _noscript("root", "You need to enable JavaScript to run this app."), SCRIPT),
    WallPage("vue", _noscript("app", "We're sorry but this site doesn't work properly without "
             "JavaScript enabled. Please enable it to continue."), SCRIPT),
    WallPage("next", page(f'<div id="__next"></div><script id="__NEXT_DATA__" '
             f'type="application/json">{{"props":{{}}}}</script>{BUNDLE}'), SCRIPT),
    WallPage("nuxt, loading", page(f'<div id="__nuxt"><p>Loading…</p></div>{BUNDLE}'), SCRIPT),
    WallPage("angular", page(f"<app-root></app-root>{BUNDLE}"), SCRIPT),
    WallPage("svelte, with a footer", page(
        f"<div id=svelte></div><footer>© The Paper. Imprint. Privacy.</footer>{BUNDLE}"), SCRIPT),
    WallPage("nothing but scripts", page(f"{BUNDLE}<script>{'x=1;' * 200}</script>"), SCRIPT),
    WallPage("says so in the text", page(
        f"<div class=msg>Please turn on JavaScript in your browser to see the news.</div>{BUNDLE}"),
        SCRIPT),
    WallPage("German", _noscript("root", "Bitte aktivieren Sie JavaScript.", "de"), SCRIPT),
    WallPage("French", _noscript("root", "Veuillez activer JavaScript.", "fr"), SCRIPT),
    WallPage("Spanish", _noscript("app", "Habilite JavaScript para continuar.", "es"), SCRIPT),
    WallPage("Russian", _noscript("app", "Включите JavaScript в браузере.", "ru"), SCRIPT),
    WallPage("Japanese", _noscript("app", "JavaScriptを有効にしてください。", "ja"), SCRIPT),
    WallPage("a browser check", page("<h1>One moment</h1><p>We check your browser. Enable "
             f"JavaScript and cookies to continue to the paper, please.</p>{BUNDLE}"), SCRIPT),
)  # fmt: skip
LOGINS = (
    WallPage("redirected to /login", page(f"{HEADER}<p>Welcome back, dear reader of ours.</p>"),
             LOGIN, "https://paper.example/login?next=%2F2025%2F03%2F04%2Fharbour"),
    WallPage("redirected to an account", page("<h1>Your account</h1><p>Enter your mail.</p>"),
             LOGIN, "https://paper.example/account/signin/identifier"),
    WallPage("redirected to another host", page("<p>Choose how to go on with us today.</p>"),
             LOGIN, "https://login.group.example/start?client=7"),
    WallPage("redirected to a shell", page(f"<div id=root></div>{BUNDLE}"), LOGIN,
             "https://paper.example/users/sign_in"),
    WallPage("a form", _form("Log in", "Name", "en"), LOGIN),
    WallPage("a form with PASSWORD", _form("Sign in", "Mail", "en", "PASSWORD"), LOGIN),
    WallPage("a German form", _form("Anmelden", "Benutzername", "de"), LOGIN),
    WallPage("a French form", _form("Connexion", "Identifiant", "fr"), LOGIN),
    WallPage("a Spanish form", _form("Iniciar sesión", "Usuario", "es"), LOGIN),
    WallPage("a Polish form", _form("Zaloguj się", "Nazwa", "pl"), LOGIN),
    WallPage("a Japanese form", _form("ログイン", "お名前", "ja"), LOGIN),
    WallPage("a form and some advertising", page(
        f"<h1>Log in to go on</h1><form><input type=password></form><p>{EN}</p>"), LOGIN),
)  # fmt: skip
PAYWALLS = (
    WallPage("declared, as text", page(f"<article><p>{EN}</p></article>",
             data(isAccessibleForFree='"False"')), TEASER),
    WallPage("declared, with its part", page(
        f"<article><p>{EN}</p><div class=pay></div></article>",
        data(hasPart='{"isAccessibleForFree": false, "cssSelector": ".pay"}')), TEASER),
    WallPage("declared, whole text", page(f"<article>{LONG}</article>",
             data(isAccessibleForFree="false")), TEASER),
    WallPage("declared by its tier", page(f"<article><p>{EN}</p></article>",
             '<meta property="article:content_tier" content="locked">'), TEASER),
    WallPage("metered", page(f"<article>{LONG}</article>",
             '<meta property="article:content_tier" content="metered">'), TEASER),
    WallPage("cut off, English", _cut(EN, "Subscribe to continue reading."), TEASER),
    WallPage("cut off, German", _cut(DE, "Jetzt weiterlesen mit Plus.", "de"), TEASER),
    WallPage("cut off, French", _cut(FR, "Cet article est réservé aux abonnés.", "fr"), TEASER),
    WallPage("cut off, Spanish", _cut(ES, "Suscríbete para seguir leyendo.", "es"), TEASER),
    WallPage("cut off, Japanese", _cut(JA * 4, "続きを読むには会員登録が必要です", "ja"), TEASER),
    WallPage("cut off, another name", _cut(EN, "Join us.", name="subscriber-only"), TEASER),
    WallPage("asked, not cut off", page(
        f"<article><p>{EN}{EN}</p></article><div id=piano-inline class='tp-container-inner'>"
        "Already a subscriber? Log in.</div>"), TEASER),
    WallPage("no text at all", page("<article><h1>Harbour</h1></article><div class=paywall>Buy."
             "</div>", data(isAccessibleForFree="false", headline='"Harbour"')), PAYWALL),
)  # fmt: skip
NEGATIVES = (
    WallPage("an article", page(f"{HEADER}<article>{LONG}</article>"), ARTICLE),
    WallPage("a short article", page(f"{HEADER}<article><h1>Plan</h1><p>{EN}</p></article>"),
             ARTICLE),
    WallPage("a short article with a bundle", page(f"<article><p>{EN}</p></article>{BUNDLE}"),
             ARTICLE),
    WallPage("rendered by the server in a root", page(
        "<noscript>Please enable JavaScript.</noscript><div id=root>"
        f"<article>{LONG}</article></div>{BUNDLE}"), ARTICLE),
    WallPage("short, rendered in a root", page(
        f"<noscript>Enable JavaScript for comments.</noscript><div id=__next><article><p>{EN}</p>"
        f"</article></div>{BUNDLE}"), ARTICLE),
    WallPage("an empty root for comments", page(
        f"<article>{LONG}</article><div id=app></div>{BUNDLE}"), ARTICLE),
    WallPage("about JavaScript", page(
        f"<article><h1>How to enable JavaScript</h1><p>To enable JavaScript, open the settings. "
        f"{EN}</p>{LONG}</article>{BUNDLE}"), ARTICLE),
    WallPage("a body in the data", page(
        f"<div id=root></div>{BUNDLE}", data(articleBody=f'"{EN * 3}"')), ARTICLE),
    WallPage("a small login in the header", page(f"{SMALL_LOGIN}<article>{LONG}</article>"),
             ARTICLE),
    WallPage("short, with a login in the header", page(
        f"{SMALL_LOGIN}<article><h1>Plan</h1><p>{EN}</p></article>"), ARTICLE),
    WallPage("a hidden login", page(
        f"<div style='display: none'><form><input type=password></form></div><article><p>{EN}</p>"
        "</article>"), ARTICLE),
    WallPage("redirected, and an article", page(f"<article>{LONG}</article>"), ARTICLE,
             "https://paper.example/2025/03/04/harbour-plan"),
    WallPage("about a login", page(f"<article><h1>How to log in</h1>{LONG}</article>"), ARTICLE,
             "https://paper.example/how-to-login", "http://paper.example/p/7"),
    WallPage("asked for under such an address", page(f"<article><p>{EN}</p></article>"), ARTICLE,
             "https://paper.example/login/news", "http://paper.example/login/news"),
    WallPage("free, with a box for a paywall", page(
        f"<article><p>{EN}</p></article><div class=paywall hidden></div>"), ARTICLE),
    WallPage("declared free, cut off", page(
        f"<article><p>{EN}…</p></article><div class=paywall>Subscribe to continue reading</div>",
        data(isAccessibleForFree="true")), ARTICLE),
    WallPage("a summary that ends in dots", page(f"<article><p>{EN}…</p></article>"), ARTICLE),
    WallPage("asks for subscribers below", page(
        f"<article>{LONG}</article><div class=subscriber-only>Subscribe to continue reading</div>"),
        ARTICLE),
    WallPage("another article costs something", page(
        f"<article>{LONG}</article>", data(headline='"Harbour"')
        + data(headline='"Other"', isAccessibleForFree="false")), ARTICLE),
    WallPage("a page that is gone, with a login", page(
        f"{SMALL_LOGIN}<h1>Not found</h1><p>Oops.</p>", "<title>Page not found</title>"), GONE),
    WallPage("a request for consent", page(
        "<article><p>We value your privacy. We and our 812 partners store cookies on your device. "
        f"Accept all cookies, or manage your cookie settings, to go on.</p></article>{BUNDLE}"),
        NOTHING),
    WallPage("empty, without a script", page("<div id=root></div>"), NOTHING),
    WallPage("a list of links", page("<ul><li><a href=/a>News</a><li><a href=/b>Sport</a></ul>"),
             NOTHING),
)  # fmt: skip
ALL = (*SHELLS, *LOGINS, *PAYWALLS, *NEGATIVES)
