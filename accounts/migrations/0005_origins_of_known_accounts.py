"""Say of accounts that exist where they were made, and which belong to the demonstration, where that is certain."""

from datetime import timedelta

from django.contrib.auth.hashers import check_password
from django.db import migrations

DEMONSTRATION = (("lead", "Lena"), ("rater", "Rui"))
DEMONSTRATION_PASSWORD = "plumb line demo"
AT_ONCE = timedelta(seconds=10)


def mark_the_demonstration(apps, editor):
    """Its accounts are known by their printed password; the lead was a superuser before, and is none from now on."""
    users = apps.get_model("accounts", "User").objects
    for username, first_name in DEMONSTRATION:
        user = users.filter(username=username, first_name=first_name).first()
        if user is not None and check_password(DEMONSTRATION_PASSWORD, user.password):
            users.filter(pk=user.pk).update(demonstration=True, is_staff=False, is_superuser=False)


def read_the_log(apps, editor):
    """An account that was added to a workspace in the moment of its making, and belongs nowhere else, was made there.

    Whoever made it drew its password. Of any other account the log does not say where it was made, so that only the
    operator renews its password.
    """
    users, events = apps.get_model("accounts", "User").objects, apps.get_model("accounts", "Event").objects
    memberships = apps.get_model("accounts", "Membership").objects
    plain = users.filter(is_staff=False, is_superuser=False, demonstration=False)
    plain.filter(last_login=None).update(password_given=True)
    for user in plain.only("pk", "public_id", "date_joined"):
        added = events.filter(object_type="accounts.User", object_id=user.public_id, verb="person added")
        first = added.order_by("at", "pk").first()
        if first is None or first.workspace_id is None or not user.date_joined <= first.at <= user.date_joined + AT_ONCE:
            continue
        if not memberships.filter(user=user.pk).exclude(workspace=first.workspace_id).exists():
            users.filter(pk=user.pk).update(made_in=first.workspace_id, password_given=True)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_where_accounts_were_made")]
    operations = [
        migrations.RunPython(mark_the_demonstration, migrations.RunPython.noop),
        migrations.RunPython(read_the_log, migrations.RunPython.noop),
    ]
