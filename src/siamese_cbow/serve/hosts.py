"""Under which names a server answers: what the headers `Host` and `Origin` of a request may say.

A web page can let its own name point to 127.0.0.1 once it is loaded (DNS rebinding). The browser then takes a local
server for the page's own and lets the page read its answers. `Host` still holds the page's name, so a server that
answers only to its own names can't be read. An IP address is not a name: nobody can point it elsewhere, so any is fine.

`Origin` says which page a browser asks for. Other pages than the server's own have no business here.

Programs that are no browser may leave out either.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection, Iterable

from siamese_cbow.errors import SettingsError
from siamese_cbow.serve.bodies import Problem

ANY = "*"

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/@?#\s]+)(?::\d*)?")  # name or address, and a port


class Hosts:
    """`Hosts("127.0.0.1", ["books.example.org"])`: the names of a server that listens there and is also called so.

    bound    where the server listens: an address or a name
    allowed  more names; "*" is for whoever checks them elsewhere
    """

    def __init__(self, bound: str, allowed: Collection[str] = ()) -> None:
        self._any = ANY in allowed
        self._allowed = frozenset(_checked(name) for name in allowed if name != ANY)
        self._own = {"localhost", bound.lower().rstrip(".")}
        is_loopback = bound == "localhost" or (_is_address(bound) and ipaddress.ip_address(bound).is_loopback)
        if not is_loopback:
            self._own.add(socket.gethostname().lower())

    def refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> Problem | None:
        """What is wrong with where a request was sent to, or comes from."""
        if self._any:
            return None
        host = origin = None
        for name, value in headers:
            if name == b"host":
                if host is not None:
                    return Problem(400, "the request has two Host headers; expected one")
                host = value.decode("latin-1").lower()
            elif name == b"origin":
                if origin is not None:
                    return Problem(400, "the request has two Origin headers; expected one")
                origin = value.decode("latin-1").lower()
        if host is not None and not self._is_ours(_name_of(host)):
            names = " or ".join(sorted(self._allowed | {name for name in self._own if not _is_address(name)}))
            message = f"the header Host is {host[:80]!r}; expected an IP address or {names}"
            return Problem(421, f"{message}; {_advice(host)}", code="wrong_host")
        if origin is not None and not self._is_own_page(origin, host):
            message = f"the header Origin is {origin[:80]!r}; expected no page but this server's own, {host or 'none'}"
            return Problem(403, f"{message}; {_advice(origin.partition('://')[2])}", code="wrong_origin")
        return None

    def _is_ours(self, name: str | None) -> bool:
        return name is not None and (name in self._own or name in self._allowed or _is_address(name))

    def _is_own_page(self, origin: str, host: str | None) -> bool:
        """Whether a page came from this server, or from a name that was allowed: a proxy may have changed `Host`."""
        place = origin.partition("://")[2]
        return place != "" and (place == host or _name_of(place) in self._allowed)


def _checked(name: str) -> str:
    """A name as it is compared: "Books.example.org." -> "books.example.org"."""
    plain = name.lower().removeprefix("[").removesuffix("]").rstrip(".")
    if not _is_address(plain) and (":" in plain or _name_of(plain) != plain):
        raise SettingsError(f"the allowed host is {name!r}; expected a name without scheme, port or path, or '*'")
    return plain


def _name_of(authority: str) -> str | None:
    """The name or address in what a header says: "localhost:8080" -> "localhost"; "[::1]:80" -> "::1"."""
    match = _AUTHORITY.fullmatch(authority)
    return match[1].strip("[]").rstrip(".") if match else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _advice(authority: str) -> str:
    name = _name_of(authority)
    return f"to serve it under this name, start it with --allowed-host {name[:80] if name else 'NAME'}"
