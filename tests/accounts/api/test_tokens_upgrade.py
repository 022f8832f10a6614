"""Tokens that exist keep what they could do when they get scopes, an expiry and a workspace."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

BEFORE = [("accounts", "0005_origins_of_known_accounts")]
AFTER = [("accounts", "0006_token_scopes_and_expiry")]


@pytest.mark.django_db(transaction=True)
def test_a_token_keeps_what_it_could_do_and_expires_in_a_year():
    latest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    try:
        executor = MigrationExecutor(connection)
        executor.migrate(BEFORE)
        old = executor.loader.project_state(BEFORE).apps
        user = old.get_model("accounts", "User").objects.create(username="lena")
        tokens = old.get_model("accounts", "ApiToken").objects
        tokens.create(user=user, name="reads", digest="r", public_id="r")
        tokens.create(user=user, name="changes", digest="c", public_id="c", may_change=True)
        executor = MigrationExecutor(connection)
        executor.migrate(AFTER)
        new = executor.loader.project_state(AFTER).apps.get_model("accounts", "ApiToken").objects
        assert dict(new.values_list("name", "scopes")) == {
            "reads": ["read", "ratings"],
            "changes": ["read", "ratings", "change", "run"],
        }
        for token in new.all():
            assert token.workspace is None
            assert timedelta(days=364) < token.expires_at - timezone.now() <= timedelta(days=365)
        # A process of the version before still finds its column while both run.
        new.create(user_id=user.pk, name="new", digest="n", public_id="n", scopes=["read"], expires_at=timezone.now())
        assert tokens.get(name="new").may_change is False
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(latest)
