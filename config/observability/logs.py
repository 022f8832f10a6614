"""Logs: lines or JSON, each with the id of its request, without secrets, and without a traceback for a refusal."""

import logging
from contextvars import ContextVar
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from config.observability.secrets_in_paths import masked

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that this thread or task answers."""


class WithoutSecrets(logging.Filter):
    """Add the request's id, mask the address that Django puts into its messages, and drop the traceback of a refusal."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        status = getattr(record, "status_code", 0)
        if status and status < 500:
            record.exc_info = record.exc_text = None
        request = getattr(record, "request", None)
        path = getattr(request, "path", "")
        if path and isinstance(record.args, tuple):
            shown = masked(path, getattr(request, "resolver_match", None))
            record.args = tuple(
                argument.replace(path, shown) if isinstance(argument, str) else argument for argument in record.args
            )
        return True


class Lines(logging.Formatter):
    """One line: the time, the level, the logger, the request where there is one, and the message."""

    def format(self, record: logging.LogRecord) -> str:
        named = getattr(record, "request_id", "")
        record.of_request = f" [{named}]" if named else ""
        return super().format(record)


class Json(JsonFormatter):
    """One JSON object a line. Objects that Django attaches to a record, such as the request itself, are left out."""

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        super().add_fields(log_data, record, message_dict)
        log_data["level"], log_data["logger"] = record.levelname.lower(), record.name
        for name in ("request", "taskName", "server_time"):
            log_data.pop(name, None)
        if not log_data.get("request_id"):
            log_data.pop("request_id", None)


def logging_settings(*, level: str, as_json: bool, access_log: bool) -> dict[str, Any]:
    """Return Django's LOGGING. The access log has a level of its own, so that it can be on while the rest is quiet."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"without_secrets": {"()": "config.observability.logs.WithoutSecrets"}},
        "formatters": {
            "lines": {
                "()": "config.observability.logs.Lines",
                "format": "%(asctime)s %(levelname)s %(name)s%(of_request)s %(message)s",
            },
            "json": {"()": "config.observability.logs.Json", "format": "%(message)s", "timestamp": True},
        },
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "filters": ["without_secrets"],
                "formatter": "json" if as_json else "lines",
            }
        },
        "root": {"handlers": ["console"], "level": level.upper()},
        "loggers": {"plumbline.access": {"level": "INFO" if access_log else "CRITICAL"}},
    }
