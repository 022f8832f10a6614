"""The signature of a message: HMAC-SHA256 over its time and its body (docs/webhooks.md)."""

import hashlib
import hmac
import secrets

EVENT_HEADER = "Plumbline-Event-Id"
TIME_HEADER = "Plumbline-Timestamp"
SIGNATURE_HEADER = "Plumbline-Signature"
BEGINNING = "whsec_"


def new_secret() -> str:
    """Return a new secret of 256 random bits."""
    return BEGINNING + secrets.token_urlsafe(32)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return "v1=" and the HMAC-SHA256, in hexadecimal digits, of the timestamp, a full stop and the body (RFC 2104)."""
    signed = timestamp.encode() + b"." + body
    return "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def signed_headers(secret: str, event_id: str, timestamp: str, body: bytes) -> dict[str, str]:
    """Return the headers that a message is sent with; `timestamp` counts seconds since 1970."""
    return {EVENT_HEADER: event_id, TIME_HEADER: timestamp, SIGNATURE_HEADER: signature(secret, timestamp, body)}
