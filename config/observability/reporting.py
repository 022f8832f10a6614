"""Reports of faults to Sentry, if SENTRY_DSN names one: the fault and where it happened, nothing about people."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config.observability.secrets_in_paths import masked


def begin(dsn: str) -> None:
    """Raises ImproperlyConfigured where the package is missing or the address is no DSN."""
    try:
        import sentry_sdk
        from sentry_sdk.utils import BadDsn
    except ImportError as error:
        raise ImproperlyConfigured("SENTRY_DSN is set; install sentry-sdk as well: pip install sentry-sdk.") from error
    try:
        sentry_sdk.init(
            dsn=dsn,
            send_default_pii=False,
            include_local_variables=False,
            max_request_body_size="never",
            max_breadcrumbs=0,
            traces_sample_rate=0.0,
            server_name="",
            before_send=without_people,  # type: ignore[arg-type]
        )
    except BadDsn as error:
        raise ImproperlyConfigured(
            f"SENTRY_DSN is not valid ({error}); copy it from the project's settings."
        ) from error


def without_people(event: dict[str, Any], _hint: dict[str, Any]) -> dict[str, Any]:
    """Keep of a report the exception, the stack and the masked path."""
    request = event.pop("request", None) or {}
    for name in ("user", "extra", "breadcrumbs", "server_name", "modules"):
        event.pop(name, None)
    path = "/" + str(request.get("url", "")).partition("://")[2].partition("/")[2].partition("?")[0]
    event["request"] = {"method": request.get("method", ""), "url": masked(path)}
    event["transaction"] = masked(str(event.get("transaction", "")))
    for value in (event.get("exception") or {}).get("values", []):
        # The words of an exception may quote what somebody wrote.
        value["value"] = ""
        for frame in (value.get("stacktrace") or {}).get("frames", []):
            frame.pop("vars", None)
    if "logentry" in event:
        event["logentry"] = {"message": event["logentry"].get("message", "")}
    contexts = event.get("contexts") or {}
    event["contexts"] = {name: contexts[name] for name in ("trace", "runtime") if name in contexts}
    return event
