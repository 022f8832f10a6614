"""Requests to the API with a token of a user, for tests."""

from typing import Any

from django.test import Client
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, User
from annotation.models import Study


def send(
    client: Client,
    user: User,
    name: str,
    *parts: Any,
    method: str = "post",
    sent: Any = None,
    query: str = "",
    scopes: Any = ApiToken.Scope.values,
    **headers: str,
) -> Any:
    """The answer to a request of the user at the address of this name; `sent` is JSON, by default an empty object."""
    _token, secret = issue_token(user=user, name="script", scopes=scopes)
    content = {} if method == "get" else {"data": {} if sent is None else sent, "content_type": "application/json"}
    address = reverse(f"api:{name}", args=parts) + query
    return getattr(client, method)(address, **content, headers={"Authorization": f"Bearer {secret}", **headers})


def read(client: Client, user: User, name: str, *parts: Any, query: str = "") -> Any:
    """What GET of the address returns, which must be there."""
    answer = send(client, user, name, *parts, method="get", query=query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def of(study: Study, *more: Any) -> tuple[Any, ...]:
    """The parts of an address of this study."""
    return study.workspace.slug, study.slug, *more
