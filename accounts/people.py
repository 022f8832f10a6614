"""Who belongs to a workspace, and in which role: added, changed and removed by its owners and leads."""

import secrets

from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import Event, Membership, User, Workspace

LED_BY_LEADS = (Membership.Role.ANALYST, Membership.Role.REVIEWER, Membership.Role.RATER)


class PeopleRefused(ValueError):
    """It cannot be done; the sentence says why and what to do instead."""


def roles_granted_by(user: User | None, workspace: Workspace) -> tuple[str, ...]:
    """Roles that the user may give and take: an owner (and a command, which has no user) all, a lead those below."""
    if user is None or workspace.memberships.filter(user=user, role=Membership.Role.OWNER).exists():
        return tuple(Membership.Role.values)
    if workspace.memberships.filter(user=user, role=Membership.Role.LEAD).exists():
        return LED_BY_LEADS
    return ()


def people_of(workspace: Workspace) -> QuerySet[Membership]:
    return workspace.memberships.select_related("user").order_by("user__username")


def add_person(*, workspace: Workspace, username: str, role: str, by: User | None) -> tuple[User, str]:
    """The person, now a member, and a password to hand on: '' for one who had an account, which is left as it was.

    Raises PeopleRefused for a name that cannot be, a role that is not the adder's to give, and a member.
    """
    _check_role(by, workspace, role)
    with transaction.atomic():
        user = User.objects.filter(username=username).first()
        password = ""
        if user is None:
            password = secrets.token_urlsafe(12)
            user = _new_user(username, password)
        _membership, made = Membership.objects.get_or_create(
            workspace=workspace, user=user, defaults={"role": role}
        )
        if not made:
            raise PeopleRefused(
                _("%(name)s belongs to this workspace already; change the role instead.") % {"name": username}
            )
        _log(workspace, by, "person added", user, after={"role": role})
    return user, password


def change_role(*, membership: Membership, role: str, by: User | None) -> None:
    """Raises PeopleRefused where either role is not the changer's to give, and for the last owner."""
    _check_role(by, membership.workspace, role)
    with transaction.atomic():
        locked = _locked(membership, by)
        if role != Membership.Role.OWNER:
            _keep_an_owner(locked)
        before = locked.role
        Membership.objects.filter(pk=locked.pk).update(role=role)
        if before != role:
            _log(
                locked.workspace,
                by,
                "role changed",
                locked.user,
                before={"role": before},
                after={"role": role},
            )


def remove_person(*, membership: Membership, by: User | None) -> None:
    """Ends the membership; the account and all answers stay. Raises PeopleRefused as change_role does."""
    with transaction.atomic():
        locked = _locked(membership, by)
        _keep_an_owner(locked)
        locked.delete()
        _log(locked.workspace, by, "person removed", locked.user, before={"role": locked.role})


def new_password(*, membership: Membership, by: User | None) -> str:
    """A password to hand on in place of a lost one.

    Raises PeopleRefused where the account opens more than the asker rules: another workspace, or the administration.
    """
    with transaction.atomic():
        locked = _locked(membership, by)
        user = locked.user
        elsewhere = [
            other.workspace for other in user.memberships.exclude(pk=locked.pk).select_related("workspace")
            if other.role not in roles_granted_by(by, other.workspace)
        ]  # fmt: skip
        if by is not None and (elsewhere or user.is_staff or user.is_superuser):
            raise PeopleRefused(
                _("The account of %(name)s opens more than this workspace; ask whoever runs this server.")
                % {"name": user.username}
            )
        password = secrets.token_urlsafe(12)
        user.set_password(password)
        user.save(update_fields=["password"])
        _log(locked.workspace, by, "password renewed", user)
    return password


def _new_user(username: str, password: str) -> User:
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError as error:
        raise PeopleRefused(
            _("A name to sign in with has letters, digits and @ . + - _ only, without spaces.")
        ) from error
    if len(username) > 150:
        raise PeopleRefused(_("A name to sign in with has at most 150 characters."))
    return User.objects.create_user(username, password=password)


def _check_role(by: User | None, workspace: Workspace, role: str) -> None:
    if role not in roles_granted_by(by, workspace):
        raise PeopleRefused(_("This role is not yours to give; ask an owner of the workspace."))


def _locked(membership: Membership, by: User | None) -> Membership:
    found = Membership.objects.select_for_update(of=("self",)).select_related("user", "workspace")
    locked = found.filter(pk=membership.pk).first()
    if locked is None:
        raise PeopleRefused(_("This person does not belong to the workspace any more."))
    if locked.role not in roles_granted_by(by, locked.workspace):
        raise PeopleRefused(_("Only an owner of the workspace changes anything about its owners and leads."))
    return locked


def _keep_an_owner(membership: Membership) -> None:
    owners = Membership.objects.select_for_update().filter(
        workspace=membership.workspace, role=Membership.Role.OWNER
    )
    if membership.role == Membership.Role.OWNER and len(owners) == 1:
        raise PeopleRefused(_("A workspace keeps at least one owner; make somebody else an owner first."))


def _log(
    workspace: Workspace,
    by: User | None,
    verb: str,
    user: User,
    *,
    before: dict[str, str] | None = None,
    after: dict[str, str] | None = None,
) -> None:
    Event.objects.create(
        workspace=workspace,
        actor=by,
        verb=verb,
        object_type="accounts.User",
        object_id=user.public_id,
        before=before,
        after=after,
    )
