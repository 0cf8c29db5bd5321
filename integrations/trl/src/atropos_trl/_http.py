"""Requests to the service and to samplers, and what can go wrong with them."""

from __future__ import annotations

import json
import logging
import math
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

_logger = logging.getLogger("atropos_trl")
_A = TypeVar("_A")


class AtroposError(RuntimeError):
    """Training cannot go on as it was meant; the message says why, and what would be right."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Unavailable(Exception):
    """No answer, or one that says to ask again."""


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Http:
    """Requests to one server, with a bearer token where one is set; `variable` is where it comes from."""

    def __init__(self, url: str, token: str | None, variable: str) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise AtroposError(f"{url!r} is no address of a server: expected something like http://localhost:8000")
        self.url = url.rstrip("/")
        self._token = token
        self._variable = variable
        # A proxy of the environment knows nothing of this machine.
        is_here = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self._opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if is_here else []))

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        accept: str = "application/json",
        content_type: str = "application/json",
        timeout: float = 30,
    ) -> Answer:
        """`body` is sent as it is where it is bytes, else as JSON."""
        headers = {"accept": accept}
        if body is not None:
            headers["content-type"] = content_type
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=timeout) as response:
                return Answer(response.status, {k.lower(): v for k, v in response.headers.items()}, response.read())
        except urllib.error.HTTPError as error:
            said = _said(error.read())
            message = f"{method} {self.url}{path} answered {error.code}: {said}"
            if error.code == 429 or error.code >= 500:
                raise Unavailable(message) from None
            if error.code in (401, 403):
                message += f". The token is read from {self._variable}"
            raise AtroposError(message, error.code) from None
        except (OSError, ValueError) as error:  # no connection, a broken one, no HTTP
            reason = getattr(error, "reason", error)
            raise Unavailable(f"{method} {self.url}{path}: {reason}") from None


def _said(body: bytes) -> str:
    """The message of an error's body, or the beginning of the body."""
    text = body.decode(errors="replace").strip()
    try:
        said = json.loads(text)
    except ValueError:
        return text[:300] or "(no text)"
    if isinstance(said, dict):
        inner = said.get("error")
        message = inner.get("message") if isinstance(inner, dict) else said.get("message")
        where = f" ({said['field']})" if "field" in said else ""
        if message:
            return f"{message}{where}"
    return text[:300]


def patiently(request: Callable[[], _A], what: str, patience: float) -> _A:
    """Asks again while there is no answer, for `patience` seconds, and says so."""
    start, said = time.monotonic(), -math.inf
    while True:
        try:
            return request()
        except Unavailable as error:
            waited = time.monotonic() - start
            if waited >= patience:
                raise AtroposError(f"{what} did not answer for {patience:.0f} s: {error}") from None
            if waited - said >= 10:
                _logger.warning("waiting for %s: %s", what, error)
                said = waited
            time.sleep(min(1.0, max(0.05, patience - waited)))
