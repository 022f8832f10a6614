"""The bodies that the API reads: JSON, and rows as JSON Lines, both up to a size and hashed for repeated requests."""

import hashlib
import json
from collections.abc import Mapping
from typing import IO, Any, ClassVar

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from accounts.api.lists import Unusable

LINES = "application/x-ndjson"


class JsonBody(BaseParser):
    """JSON of at most the size of a form; what cannot be read is answered with 400, what is larger with 413."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return self.read(self.taken(stream, parser_context or {}))

    def most(self) -> int:
        """The most bytes of a body."""
        return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0)

    def taken(self, stream: IO[bytes], context: Mapping[str, Any]) -> str:
        """Return the text of the body, and keep its hash with the request. Raises ParseError and Unusable (413)."""
        most = self.most()
        content = stream.read(most + 1)
        if len(content) > most:
            raise Unusable(
                _("The body is larger than %(n)s MB. Send it in several parts, or upload a file.")
                % {"n": f"{most / 1024 / 1024:g}"},
                status=413,
            )
        if (request := context.get("request")) is not None:
            vars(request)["body_hash"] = hashlib.sha256(content).hexdigest()
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ParseError(_("The body is not UTF-8.")) from error

    def read(self, text: str) -> Any:
        """Return the value. Raises ParseError."""
        return _value(text, _("The body is not JSON: %(problem)s."))


class RowsBody(JsonBody):
    """The same for many rows at once, which may be larger."""

    def most(self) -> int:
        return settings.API_ROWS_MOST


class LinesBody(RowsBody):
    """Rows as JSON Lines, one a line; a line that is no JSON stands as a text among the rows."""

    media_type = LINES
    MOST_LINES: ClassVar[int] = 20_000

    def read(self, text: str) -> Any:
        lines = [line for line in text.split("\n", self.MOST_LINES) if line.strip()]
        return {"rows": [_or_text(line) for line in lines]}


def body_hash(request: Request) -> str:
    """Return the hash of the body, which is read if it was not yet; '' where there is none."""
    request.data  # noqa: B018 - reading it parses the body, which may be null
    return str(vars(request).get("body_hash", ""))


def _value(text: str, problem: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ParseError(problem % {"problem": said}) from error


def _or_text(line: str) -> Any:
    try:
        return json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return line


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
