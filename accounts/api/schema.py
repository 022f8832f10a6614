"""What the API's schema says of every operation alike: the errors with which it may answer."""

from typing import Any

ERRORS = {
    "400": "The request cannot be read, or a value in it is not allowed.",
    "401": "The token is missing, unknown, expired or revoked.",
    "403": "The owner of the token may not do this, or the token was not made for it.",
    "404": "There is no such object in your workspaces.",
    "406": "The address does not answer in the media type that was asked for.",
    "409": "The object is in a state in which this is not possible, or the address names several objects.",
    "413": "The request is larger than the server accepts.",
    "429": "There were too many requests; Retry-After says when to send this again.",
    "503": "The database is busy or not available; Retry-After says when to send this again.",
}


def declare_errors(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Declare the errors of every operation, each of which holds one sentence in `detail` (a hook of drf-spectacular)."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas["Error"] = {"type": "object", "properties": {"detail": {"type": "string"}}, "required": ["detail"]}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for operations in result["paths"].values():
        for operation in operations.values():
            for status, description in ERRORS.items():
                operation["responses"].setdefault(status, {"description": description, "content": content})
    return result
