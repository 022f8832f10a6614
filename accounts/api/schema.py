"""What the OpenAPI schema says of every address: the scope that it needs, and the errors with which it may answer."""

from typing import Any, Literal

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from accounts.api.access import ReadsResults
from accounts.models import ApiToken

ERRORS = {
    "400": "The request cannot be read or carried out.",
    "401": "The token is missing, unknown, revoked or expired.",
    "403": "The token lacks the scope of this address, or its owner the role.",
    "404": "Your workspaces have nothing of this name.",
    "406": "The address does not answer in the media type that was asked for.",
    "409": "The state of the object does not allow this, or an address without a workspace fits several objects.",
    "412": "What was to be changed has changed since it was read.",
    "413": "The request is larger than the server accepts.",
    "429": "There were too many requests; repeat the request after Retry-After seconds.",
    "503": "The database is busy or away; repeat the request after Retry-After seconds.",
}
METHODS = ("get", "head", "post", "put", "patch", "delete")
SENTENCE = {"type": "object", "properties": {"detail": {"type": "string"}}, "required": ["detail"]}


def _page(rows: dict[str, Any], *, counted: bool) -> dict[str, Any]:
    """Return the schema of a page of a list, which functions as views do not state by themselves."""
    address = {"type": "string", "format": "uri", "nullable": True}
    fields = {"next": address, "previous": address, "results": rows}
    fields |= {"count": {"type": "integer"}} if counted else {}
    return {"type": "object", "properties": fields, "required": list(fields)}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "accounts.api.access.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        scopes = "; ".join(f"`{value}`: {str(label).partition(': ')[2]}" for value, label in ApiToken.Scope.choices)
        return {"type": "http", "scheme": "bearer", "description": f"An API token. Scopes of tokens: {scopes}."}


class ScopedSchema(AutoSchema):
    """A schema in which every operation states its scope, as a sentence and as `x-scope` (and `x-scope-by-verb`)."""

    def get_operation_id(self) -> str:
        """Return the name of the view, by which programs that read the schema name the operation."""
        return str(type(self.view).__name__)

    def get_description(self) -> str:  # type: ignore[override]
        scope, by_verb = self._need()
        words = [f"`{scope}`", *(f"`{other}` to {verb}" for verb, other in by_verb.items())]
        return f"{super().get_description()}\n\nNeeds a token with the scope {', or '.join(words)}."

    def get_extensions(self) -> dict[str, Any]:
        scope, by_verb = self._need()
        return {
            **super().get_extensions(),
            "x-scope": scope and str(scope),
            **({"x-scope-by-verb": {verb: str(other) for verb, other in by_verb.items()}} if by_verb else {}),
        }

    def _map_serializer_field(self, field: Any, direction: Any, bypass_extensions: bool = False) -> Any:
        """Say that a field which is None by default may be null; such a default stands for a relation that is empty."""
        said = super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]
        if direction == "response" and field.default is None and said and "$ref" not in said:
            return {**said, "nullable": True}
        return said

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> dict[str, Any]:
        errors = {
            status: {"description": what, "content": {"application/json": {"schema": SENTENCE}}}
            for status, what in ERRORS.items()
        }
        bodies = {**errors, **super()._get_response_bodies(direction)}
        paged_by = {getattr(one, "name", "") for one in self.get_override_parameters()} & {"cursor", "page"}
        listed = bodies.get("200", {}).get("content", {}).get("application/json", {})
        if paged_by and listed.get("schema", {}).get("type") == "array":
            listed["schema"] = _page(listed["schema"], counted="page" in paged_by)
        return bodies

    def _need(self) -> tuple[ApiToken.Scope | None, dict[str, ApiToken.Scope]]:
        """Return the scope of the operation, and others by the verbs that its address may end in."""
        need = next(one for one in self.view.get_permissions() if isinstance(one, ReadsResults))
        others = {verb: scope for verb, scope in need.by_verb.items() if verb not in METHODS}
        return need.by_verb.get(self.method.lower(), need.scope), others
