"""A site with a login: a form with a token, pages for members only, sessions that can be ended."""

import http.server
import json
import secrets
import threading
from http.cookies import SimpleCookie
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

USER, PASSWORD = "ann", "planted-password-of-the-site-0f"
FORM = """<html><title>Log in</title><form id="search"><input type="hidden" name="q" value="no">
</form><form action="/login" method="post"><input type="hidden" name="token" value="{token}">
<input name="user"><input type="password" name="word"></form></html>"""
PAGE = "<html><title>{path}</title><p>Hello {user}, this is {path}. <a href='/logout'>Log out</a>"
LINKS = "".join(f"<a href='/page/{n}'>{n}</a>" for n in range(5))


class MembersSite:
    def __init__(self, *, refuses_logins: bool = False, page_delay: float = 0.0) -> None:
        self.refuses_logins = refuses_logins
        """No login succeeds, whatever the password."""
        self.loops = False
        """The login redirects in a circle."""
        self.redirects_forms: tuple[int, str] | None = None
        """The answer to each form: a status and where it leads."""
        self.loses = set[str]()
        """Pages that nobody sees, logged in or not."""
        self.statuses: dict[str, int] = {}
        """Of answers by path, in place of the page's own."""
        self.requests: list[tuple[str, str]] = []
        """Method and path of each."""
        self.logins = 0
        """Forms that were sent."""
        self.open: set[str] = set()
        """Sessions that are logged in."""
        self.tokens: dict[str, str] = {}
        """Of a visitor before the login, by cookie."""
        self.seen: list[str] = []
        """Pages that a member got."""
        self.robots = ""
        self.page_delay = page_delay
        self.lock = threading.Lock()
        self.may_answer = threading.Event()
        self.may_answer.set()

    def __enter__(self) -> Self:
        site = self

        class Handler(_Handler):
            of = site

        self._server = http.server.ThreadingHTTPServer(("127.0.4.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def host(self) -> str:
        return f"127.0.4.1:{self._server.server_port}"

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def end_sessions(self) -> None:
        with self.lock:
            self.open.clear()

    def paths(self, method: str = "GET") -> list[str]:
        return [path for one, path in self.requests if one == method]

    def login(self, **changes: Any) -> dict[str, Any]:
        """The declaration of its login, as a policy."""
        return {
            "url": self.url("/login"), "form": {"user": USER, "word": PASSWORD},
            "form_from": self.url("/login"), "success": {"cookie": "member", "text": "Log out"},
        } | changes  # fmt: skip


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    of: MembersSite

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        with self.of.lock:
            self.of.requests.append(("GET", path))
        if path == "/robots.txt":
            self._answer(200 if self.of.robots else 404, self.of.robots, content="text/plain")
        elif path == "/login":
            self._form()
        elif path == "/round":
            self._answer(302, "", Location="/round")
        else:
            self._page(path)

    def _form(self) -> None:
        visitor, token = secrets.token_hex(4), secrets.token_hex(4)
        with self.of.lock:
            self.of.tokens[visitor] = token
        self._answer(200, FORM.format(token=token), ("Set-Cookie", f"visitor={visitor}; Path=/"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.of.lock:
            self.of.requests.append(("POST", self.path))
        if self.path != "/login":
            self._page(self.path)
            return
        with self.of.lock:
            self.of.logins += 1
        if self.headers["Content-Type"] == "application/json":
            given = {name: [value] for name, value in json.loads(body).items()}
        else:
            given = parse_qs(body.decode())
        token = self.of.tokens.get(self._cookies().get("visitor", ""), "none")
        is_right = (given.get("user"), given.get("word")) == ([USER], [PASSWORD])
        if self.of.redirects_forms is not None:
            status, location = self.of.redirects_forms
            self._answer(status, "", Location=location)
        elif self.of.loops:
            self._answer(302, "", Location="/round")
        elif not is_right or given.get("token") != [token] or self.of.refuses_logins:
            self._answer(200, FORM.format(token=token) + "<p>Wrong password.")
        else:
            member = secrets.token_hex(8)
            with self.of.lock:
                self.of.open.add(member)
            cookie = f"member={member}; Path=/; HttpOnly"
            self._answer(303, "", ("Set-Cookie", cookie), Location="/home")

    def _page(self, path: str) -> None:
        self.of.may_answer.wait(30)
        with self.of.lock:
            is_member = self._cookies().get("member") in self.of.open
            if is_member and path not in self.of.loses:
                self.of.seen.append(path)
        if path in self.of.statuses:
            self._answer(self.of.statuses[path], "odd")
        elif is_member and path not in self.of.loses:
            links = LINKS if path == "/list" else ""
            self._answer(200, PAGE.format(path=path, user=USER) + links)
        else:
            self._answer(302, "", Location="/login?next=x")

    def _cookies(self) -> dict[str, str]:
        return {name: one.value for name, one in SimpleCookie(self.headers["Cookie"]).items()}

    def _answer(
        self, status: int, text: str, *headers: tuple[str, str], content: str = "text/html",
        **more: str,
    ) -> None:  # fmt: skip
        self.send_response(status)
        for name, value in (*headers, *more.items()):
            self.send_header(name, value)
        self.send_header("Content-Type", content)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass
