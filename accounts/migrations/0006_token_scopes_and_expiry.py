"""Give tokens scopes, an expiry and a workspace; a token that exists keeps what it could do, for another year."""

from datetime import timedelta

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now
from django.utils import timezone

READING = ["read", "ratings"]
CHANGING = [*READING, "change", "run"]


def in_a_year():
    return timezone.now() + timedelta(days=365)


def scopes_from_permissions(apps, editor):
    tokens = apps.get_model("accounts", "ApiToken").objects
    # Each row is changed once: PostgreSQL makes no index while a row of this transaction has checks outstanding.
    tokens.filter(may_change=False).update(scopes=READING, expires_at=in_a_year())
    tokens.filter(may_change=True).update(scopes=CHANGING, expires_at=in_a_year())


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_origins_of_known_accounts")]
    operations = [
        # The column stays, with a value for new rows, so that processes of the version before still read tokens.
        migrations.AlterField("apitoken", "may_change", models.BooleanField(default=False, db_default=False)),
        migrations.AddField("apitoken", "scopes", models.JSONField(default=list, db_default=[])),
        migrations.AddField("apitoken", "expires_at", models.DateTimeField(db_default=Now())),
        migrations.AddField(
            "apitoken",
            "workspace",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="api_tokens",
                to="accounts.workspace",
            ),
        ),
        migrations.RunPython(scopes_from_permissions, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("apitoken", "may_change")]),
    ]
