"""Who may talk to the studio: its own pages, and from other machines only who has the token."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from deltadyn.errors import InputError
from deltadyn.messages import escape_control_characters

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

LOOPBACK = "127.0.0.1"
COOKIE = "deltadyn-studio"
TOKEN_BYTES = 24
_PATCH = threading.Lock()  # of the library's `serve`, while a server starts

Answer = Callable[["ServerConnection", "Request"], Any]


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def free_port(port: int, host: str = LOOPBACK) -> int:
    """The port, or one that is free for 0; an error where somebody listens there already."""
    if not 0 <= port <= 65535:
        raise InputError("--port", port, "0 to 65535")
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        allowed = f"an address or a name of this machine, such as 0.0.0.0 ({error})"
        raise InputError("--host", host, allowed) from error
    with socket.socket(family, kind) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(place)
        except OSError as error:
            if port == 0:
                allowed = f"an address of this machine, such as 0.0.0.0 ({error.strerror})"
                raise InputError("--host", host, allowed) from error
            reason = "a port that is free" if port >= 1024 else "a port of at least 1024"
            raise InputError("--port", port, f"{reason} ({error.strerror})") from error
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Access:
    """Where the studio listens, and the `token` that pages from other machines need.

    On the loopback there is none: only pages of the studio itself may open a socket, by `Origin`.
    """

    host: str
    port: int
    token: str | None = field(repr=False)

    @classmethod
    def to(cls, host: str, port: int) -> Access:
        """Access by a host and a port; a token is drawn where other machines reach it."""
        token = None if is_loopback(host) else secrets.token_urlsafe(TOKEN_BYTES)
        return cls(host, free_port(port, host), token)

    @property
    def origin(self) -> str:
        """The address without a token; that of this machine where it listens on all."""
        host = LOOPBACK if self.host in ("0.0.0.0", "::", "") else self.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def address(self) -> str:
        """What to type into a browser."""
        return self.origin if self.token is None else f"{self.origin}/?token={self.token}"

    def refuses(self, request: Request) -> str:
        """Why a request is refused; empty where it may pass."""
        if request.headers.get("Upgrade", "").lower() == "websocket":
            origin = request.headers.get("Origin")
            if origin is not None and origin not in self._origins(request):
                return f"a page of {origin!r:.80} was refused"
        if self.token is not None and not self._has_token(request):
            return "a page without the token was refused: use the address that the studio printed"
        return ""

    def _origins(self, request: Request) -> tuple[str, ...]:
        """Pages that may open a socket: with a token those of the name that the browser used."""
        if self.token is not None:
            host = request.headers.get("Host", "")
            return (f"http://{host}", f"https://{host}")
        return (self.origin, f"http://localhost:{self.port}")

    def _has_token(self, request: Request) -> bool:
        assert self.token is not None
        given = [self._given(request)]
        try:
            cookies = SimpleCookie(request.headers.get("Cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        if COOKIE in cookies:
            given.append(cookies[COOKIE].value)
        return any(hmac.compare_digest(item.encode(), self.token.encode()) for item in given)

    @staticmethod
    def _given(request: Request) -> str:
        """The token in an address."""
        return (parse_qs(urlsplit(request.path).query).get("token") or [""])[-1]

    def answer(
        self, connection: ServerConnection, request: Request, serve: Answer
    ) -> Response | None:
        """Refuse a request before anything of it is kept, or let the server answer it.

        A page that brings the token gets it as a cookie, and an address without it.
        """
        why = self.refuses(request)
        if why:
            print(f"deltadyn studio: {escape_control_characters(why)}", file=sys.stderr)
            return connection.respond(HTTPStatus.FORBIDDEN, f"deltadyn studio: {why}\n")
        if self.token is not None and self._given(request):
            response = connection.respond(HTTPStatus.SEE_OTHER, "")
            response.headers["Location"] = "/"
            response.headers["Set-Cookie"] = (
                f"{COOKIE}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            )
            return response
        found: Response | None = serve(connection, request)
        return found

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Put this access before every request of a server that starts in the block.

        viser takes no function for the handshake, so its call of the library is wrapped.
        """
        from websockets.asyncio import server

        library: Any = server
        with _PATCH:
            original = library.serve

            def serve(*args: Any, process_request: Answer, **options: Any) -> Any:
                def gate(connection: ServerConnection, request: Request) -> Response | None:
                    return self.answer(connection, request, process_request)

                return original(*args, process_request=gate, **options)

            library.serve = serve
            try:
                yield
            finally:
                library.serve = original


def warning(access: Access) -> str:
    """What others can do while the studio listens beyond this machine."""
    return (
        f"the studio listens on {access.host}, which other machines reach, without encryption: "
        "whoever has the address with its token can read and write project folders as this user. "
        "Use it in a network that you trust, in a container, or behind a tunnel"
    )
