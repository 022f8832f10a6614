"""A study with a scripted judge, and requests with the token of its lead."""

import pytest
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import ApiToken
from generation.models import Endpoint, LanguageModel
from tests.factories import make_checklist_study, make_user


def head(user, *scopes, **options):
    _token, secret = issue_token(user=user, name="s", scopes=scopes or ApiToken.Scope.values, **options)
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


@pytest.fixture
def study():
    return make_checklist_study(instructions=4, models=2)


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    return LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


@pytest.fixture
def call(client, lead):
    """Return a function that calls an address by its name, as the lead or as `user`, and checks the status."""

    tokens = {}

    def called(method, name, *parts, sent=None, status=200, user=lead, **headers):
        path = reverse(f"api:{name}", args=parts)
        if user.pk not in tokens:
            tokens[user.pk] = head(user)
        options = {"headers": {**tokens[user.pk], **headers}}
        if method in ("get", "delete"):
            answer = getattr(client, method)(path, sent or {}, **options)
        else:
            answer = getattr(client, method)(path, {} if sent is None else sent, "application/json", **options)
        assert answer.status_code == status, answer.content
        return answer

    return called
