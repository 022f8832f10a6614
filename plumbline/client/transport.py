"""Requests to one server: waiting where it asks for it, repeating what is safe to repeat, and what has not changed."""

import json
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import requests

from plumbline.client.errors import PlumblineError

ROWS_PER_PAGE = 1000
CHUNK = 1 << 16
MOST_KEPT = 128
MOST_BYTES_KEPT = 1 << 20
TO_BE_REPEATED = (429, 503)
"""Answers with which nothing was done, so that every request may be sent again."""
NOT_YET = 202
"""The answer about a file that is being made."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds between requests that got no answer; each pause is twice the one before."""


def address(form: str, *parts: object) -> str:
    """Return the address with its parts filled in, quoted as parts of an address are."""
    return form.format(*(quote(str(part), safe="") for part in parts))


class Transport:
    """Sends requests with a token. One object is for one thread.

    `timeout` is how many seconds of silence end a request. `patience` is how many seconds in all a request waits and is
    sent again, where the server asks for that or cannot be reached.
    """

    def __init__(self, url: str, token: str, *, timeout: float, patience: float) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise PlumblineError(f"{url!r} is no address of a server; it begins with http:// or https://.")
        self.base = url.rstrip("/").removesuffix("/api/v1") + "/api/v1/"
        self.timeout, self.patience = timeout, patience
        self._session = requests.Session()
        self._session.headers.update({"Authorization": f"Bearer {token}", "Accept": "application/json, */*;q=0.1"})
        self._kept: OrderedDict[str, tuple[str, bytes]] = OrderedDict()

    def answer(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        keyed: bool = False,
        unchanged: bool = False,
    ) -> Any:
        """Return the JSON of the answer, None of an empty one. Raises PlumblineError.

        A `keyed` request has a key of its own, so that it is carried out once, however often it is sent. With `unchanged`
        nothing is done if the object differs from what this client last read at the address.
        """
        url, headers = self._url(path, query), {}
        if keyed:
            headers["Idempotency-Key"] = str(uuid.uuid4())
        if unchanged:
            if url not in self._kept:
                raise PlumblineError("Read this first, so that the server can tell whether it has changed since.")
            headers["If-Match"] = self._kept[url][0]
        if method == "GET" and url in self._kept:
            headers["If-None-Match"] = self._kept[url][0]
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body, default=str).encode()
        if content is not None:
            headers["Content-Type"] = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        safe = keyed or (method in ("GET", "PUT") and not unchanged)
        response = self._sent(method, url, headers, content, safe=safe)
        if response.status_code == 304:
            self._kept.move_to_end(url)
            return json.loads(self._kept[url][1])
        if method == "GET" and (etag := response.headers.get("ETag")) and len(response.content) <= MOST_BYTES_KEPT:
            self._keep(url, etag, response.content)
        return response.json() if response.content else None

    def rows(self, path: str, query: Mapping[str, object] | None = None) -> Iterator[Any]:
        """Yield the rows of a list, page by page. Raises PlumblineError."""
        further: dict[str, object] = {"size": ROWS_PER_PAGE}
        while True:
            page = self.answer("GET", path, query={**(query or {}), **further})
            yield from page["results"]
            if not page["next"]:
                return
            # The rest of the address may name another host, where a proxy does not say which one it stands for.
            said = parse_qs(urlsplit(page["next"]).query)
            further |= {name: said[name][0] for name in ("cursor", "page") if name in said}

    def download(self, path: str, query: Mapping[str, object] | None = None) -> "Download":
        """Return a file that has begun to come; one that is being made is waited for. Raises PlumblineError."""
        return Download(self._sent("GET", self._url(path, query), {}, None, safe=True, stream=True))

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def _url(self, path: str, query: Mapping[str, object] | None) -> str:
        given: list[tuple[str, str]] = []
        for name, value in sorted((query or {}).items()):
            values = value if isinstance(value, list | tuple) else [value]
            given += [(name, "true" if one is True else str(one)) for one in values if one not in (None, "", False)]
        return str(requests.Request("GET", self.base + path, params=given).prepare().url)

    def _keep(self, url: str, etag: str, content: bytes) -> None:
        self._kept[url] = (etag, content)
        self._kept.move_to_end(url)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def _sent(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | None,
        *,
        safe: bool,
        stream: bool = False,
    ) -> requests.Response:
        """Return an answer below 400; a `safe` request is sent again if no answer comes."""
        until, pause = time.monotonic() + self.patience, FIRST_PAUSE
        while True:
            try:
                response = self._session.request(
                    method,
                    url,
                    headers=dict(headers),
                    data=content,
                    timeout=self.timeout,
                    stream=stream,
                    allow_redirects=False,
                )
            except requests.RequestException as problem:
                if not safe or time.monotonic() + pause > until:
                    raise _no_answer(self.base, problem) from problem
                wait, pause = pause, min(2 * pause, LONGEST_PAUSE)
            else:
                waits = stream and response.status_code == NOT_YET
                if not waits and (response.status_code < 300 or response.status_code == 304):
                    return response
                wait = _seconds(response)
                if not (waits or response.status_code in TO_BE_REPEATED) or time.monotonic() + wait > until:
                    raise _refused(response)
                response.close()
            time.sleep(wait)


class Download:
    """A file that is read while it comes, once."""

    def __init__(self, response: requests.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes. Raises PlumblineError where the connection breaks off."""
        try:
            with self._response:
                yield from self._response.iter_content(CHUNK)
        except requests.RequestException as problem:
            raise PlumblineError("The connection broke off before the end; read the file again.") from problem

    def lines(self) -> Iterator[Any]:
        """Yield the value of each line of JSON Lines. Raises PlumblineError where the connection breaks off."""
        rest = b""
        for chunk in self:
            *whole, rest = (rest + chunk).split(b"\n")
            yield from map(json.loads, whole)
        if rest:
            raise PlumblineError("The connection broke off within a row; read the file again.")

    def save(self, path: str | Path) -> Path:
        """Write the file, which is there only when it is whole, and return its path. Raises PlumblineError, OSError."""
        path = Path(path)
        part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
        try:
            with part.open("wb") as file:
                for chunk in self:
                    file.write(chunk)
            return part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _seconds(response: requests.Response) -> float:
    said = response.headers.get("Retry-After", "")
    return float(said) if said.isascii() and said.isdecimal() else 1.0


def _no_answer(base: str, problem: Exception) -> PlumblineError:
    return PlumblineError(f"No answer came from {base} ({type(problem).__name__}). Check the address and the server.")


def _refused(response: requests.Response) -> PlumblineError:
    status = response.status_code
    if 300 <= status < 400:
        place = response.headers.get("Location", "another address")
        return PlumblineError(f"The server leads on to {place}; use the address of its start page.", status=status)
    try:
        said = response.json()
        return PlumblineError(str(said["detail"]), status=status, row_errors=said.get("row_errors", ()))
    except (ValueError, KeyError, TypeError, AttributeError):
        return PlumblineError(f"The server answered {status} without a reason. Ask its operator.", status=status)
