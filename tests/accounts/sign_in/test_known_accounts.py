"""What the upgrade says of accounts that exist: where they were made, where the log says so, and nothing else."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.utils import timezone

from accounts.members.changes import PeopleRefused, new_password
from accounts.models import Event, Membership, User
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
upgrade = import_module("accounts.migrations.0005_origins_of_known_accounts")


def added(user, workspace):
    Event.objects.create(
        workspace=workspace, verb="person added", object_type="accounts.User", object_id=user.public_id
    )


def test_an_account_whose_making_is_in_the_log_was_made_there():
    lab = make_workspace("lab")
    lead = make_user("lead", lab)
    anna = make_user("rater", lab, username="anna")
    added(anna, lab)
    upgrade.read_the_log(apps, None)
    anna.refresh_from_db()
    assert (anna.made_in, anna.password_given) == (lab, True)
    assert new_password(membership=Membership.objects.get(user=anna), by=lead)


def test_of_any_other_account_nobody_says_where_it_was_made():
    lab, other = make_workspace("lab"), make_workspace("other")
    lead = make_user("lead", lab)
    taken_in = make_user("rater", lab, username="taken-in")
    User.objects.filter(pk=taken_in.pk).update(date_joined=timezone.now() - timedelta(minutes=1))
    added(taken_in, lab)
    not_logged = make_user("rater", lab, username="not-logged")
    both = make_user("rater", lab, username="both")
    added(both, lab)
    Membership.objects.create(workspace=other, user=both, role="analyst")
    staff = make_user("rater", lab, username="stan", is_staff=True)
    added(staff, lab)
    upgrade.read_the_log(apps, None)
    for user in (taken_in, not_logged, both, staff):
        user.refresh_from_db()
        assert user.made_in is None
        with pytest.raises(PeopleRefused, match="access to more than this workspace"):
            new_password(membership=Membership.objects.get(user=user, workspace=lab), by=lead)


def test_whose_password_was_handed_out_and_never_used_chooses_another_before_leading():
    fresh, used = make_user("rater"), make_user("rater")
    User.objects.filter(pk=used.pk).update(last_login=timezone.now())
    upgrade.read_the_log(apps, None)
    assert list(User.objects.filter(password_given=True)) == [fresh]


@pytest.mark.parametrize(("password", "known"), [("plumb line demo", True), ("another one 12", False)])
def test_the_lead_of_an_earlier_demonstration_loses_the_administration(password, known):
    lead = User.objects.create_superuser("lead", password=password, first_name="Lena")
    namesake = make_user(username="rater")
    upgrade.mark_the_demonstration(apps, None)
    for user in (lead, namesake):
        user.refresh_from_db()
    assert (lead.demonstration, lead.is_superuser, lead.is_staff) == (known, not known, not known)
    assert not namesake.demonstration
