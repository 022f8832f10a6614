"""Where the operator requires a second factor, owners, leads and administrators add one before anything else."""

from dataclasses import replace

import pytest

from config.identity import middleware_of
from tests.accounts.identity.codes import set_up_app
from tests.factories import make_user
from tests.identity_on import EVERYTHING


@pytest.fixture(autouse=True)
def required(settings):
    settings.IDENTITY = replace(EVERYTHING, required=True)
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, middleware_of(settings.IDENTITY)[-1]]


@pytest.mark.parametrize(("role", "staff"), [("owner", False), ("lead", False), (None, True)])
def test_who_leads_adds_a_second_factor_first(client, role, staff):
    client.force_login(make_user(role, username="lena", is_staff=staff))
    for address in ("/", "/account/", "/studies/", "/admin/"):
        assert client.get(address)["Location"] == "/account/factors/", address
    assert client.get("/api/v1/studies/").status_code == 403
    assert "requires a second factor" in client.get("/account/factors/").content.decode()
    set_up_app(client)
    assert client.get("/account/").status_code == 200


def test_raters_and_strangers_need_none(client):
    rater = make_user("rater")
    assert client.get("/sign-in/").status_code == 200
    client.force_login(rater)
    assert client.get("/account/").status_code == 200
