"""Memberships of a workspace: owners and leads create, change and end them.

Nobody gains control over an existing account. A lead creates new accounts, whose names end in the name of the
workspace, and everybody else joins by an invitation that they accept themselves (accounts/members/invitations.py).
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ForeignObjectRel, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.api.tokens import revoke_all_tokens
from accounts.models import Event, Membership, User, Workspace
from accounts.permissions import LEADING
from accounts.sign_in.devices import forget_browsers
from core.errors import UserError

LED_BY_LEADS = (Membership.Role.ANALYST, Membership.Role.REVIEWER, Membership.Role.RATER)
MOST_ACCOUNTS_AT_ONCE = 50
LONGEST_NAME = 150
NAME_ATTEMPTS = 10_000


class PeopleRefused(UserError):
    """The change is refused; the message says why and what to do instead."""


@dataclass(frozen=True)
class NewAccount:
    """A new account; its password can be read only now."""

    username: str
    password: str


def roles_granted_by(user: User | None, workspace: Workspace) -> tuple[str, ...]:
    """Return the roles that the user may give and take: all for an owner or a command (None), lower ones for a lead."""
    if user is None or workspace.memberships.filter(user=user, role=Membership.Role.OWNER).exists():
        return tuple(Membership.Role.values)
    if workspace.memberships.filter(user=user, role=Membership.Role.LEAD).exists():
        return LED_BY_LEADS
    return ()


def people_of(workspace: Workspace) -> QuerySet[Membership]:
    return workspace.memberships.select_related("user").order_by("user__username")


def add_person(*, workspace: Workspace, username: str, role: str) -> tuple[User, str]:
    """Return the person, who is now a member, and a password to hand out, or '' if they had an account already.

    Only the operator's command may use this, because it reveals which names exist. Raises PeopleRefused for an invalid
    name and for a person who is a member already.
    """
    check_name(username)
    username = User.normalize_username(username)
    with transaction.atomic():
        user = User.objects.filter(username=username).first()
        password = ""  # nosec B105 # nothing is handed out
        if user is None:
            password = drawn_password()
            user = User.objects.create_user(username, password=password, made_in=workspace, password_given=True)
        _membership, made = Membership.objects.get_or_create(workspace=workspace, user=user, defaults={"role": role})
        if not made:
            raise PeopleRefused(
                _("%(name)s is already a member of this workspace. Change their role instead.") % {"name": username}
            )
        log(workspace, None, "person added", user, after={"role": role, "account_made": bool(password)})
    return user, password


def make_accounts(
    *, workspace: Workspace, names: Sequence[str], role: str, by: User | None
) -> tuple[list[NewAccount], list[str]]:
    """Create accounts in this workspace with random passwords; also return the names that already have one.

    A sign-in name ends in the workspace's slug, so the result reveals nothing about accounts of other workspaces.
    Raises PeopleRefused for an invalid name, too many names, and a role that cannot be given in this way.
    """
    check_role(by, workspace, role)
    if role in LEADING:
        raise PeopleRefused(_("Owners and leads choose their own passwords. Invite them with a link instead."))
    wanted = list(dict.fromkeys(names))
    if len(wanted) > MOST_ACCOUNTS_AT_ONCE:
        raise PeopleRefused(
            _("You can create at most %(n)s accounts at once. Create the others afterwards.")
            % {"n": MOST_ACCOUNTS_AT_ONCE}
        )
    for name in wanted:
        check_name(sign_in_name(name, workspace))
    made, known = [], []
    with transaction.atomic():
        for name in wanted:
            username = sign_in_name(name, workspace)
            if User.objects.filter(username=username, made_in=workspace).exists():
                known.append(username)
                continue
            password = drawn_password()
            user = new_account(workspace, name, password=password, given=True)
            Membership.objects.create(workspace=workspace, user=user, role=role)
            log(workspace, by, "person added", user, after={"role": role, "account_made": True})
            made.append(NewAccount(user.username, password))
    return made, known


def new_account(workspace: Workspace, name: str, *, password: str | None, given: bool) -> User:
    """Create an account in the workspace; a name that is taken in any workspace gets a number.

    Raises PeopleRefused for a name that is too long for that number and the name of the workspace.
    """
    longest = LONGEST_NAME - len(f"{NAME_ATTEMPTS}@{workspace.slug}")
    stem = sign_in_name(name, workspace).rpartition("@")[0]
    if len(stem) > longest:
        raise PeopleRefused(
            _("A sign-in name can have at most %(n)s characters before @%(workspace)s. Choose a shorter one.")
            % {"n": longest, "workspace": workspace.slug}
        )
    for number in range(1, NAME_ATTEMPTS):
        username = f"{stem}{number if number > 1 else ''}@{workspace.slug}"
        if User.objects.filter(username=username).exists():
            continue
        try:
            with transaction.atomic():
                return User.objects.create_user(username, password=password, made_in=workspace, password_given=given)
        except IntegrityError:  # taken at the same moment
            continue
    raise PeopleRefused(_("Too many accounts already have this name. Choose another."))


def sign_in_name(name: str, workspace: Workspace) -> str:
    """Return the sign-in name of a person called `name` in the workspace, such as "anna@lab"."""
    ending = f"@{workspace.slug}"
    return User.normalize_username(name.strip().removesuffix(ending)) + ending


def change_role(*, membership: Membership, role: str, by: User | None) -> None:
    """Change a member's role. Raises PeopleRefused if the changer cannot give either role, and for the last owner."""
    check_role(by, membership.workspace, role)
    with transaction.atomic():
        locked = _locked(membership, by)
        if role != Membership.Role.OWNER:
            _keep_an_owner(locked)
        if by is not None and role in LEADING and locked.role not in LEADING and locked.user.password_given:
            raise PeopleRefused(
                _(
                    "%(name)s still signs in with a password that somebody else handed out and may know. Ask them to "
                    "change it on the page My account before you give them this role."
                )
                % {"name": locked.user.username}
            )
        before = locked.role
        Membership.objects.filter(pk=locked.pk).update(role=role)
        if before != role:
            log(locked.workspace, by, "role changed", locked.user, before={"role": before}, after={"role": role})


def remove_person(*, membership: Membership, by: User | None) -> None:
    """End the membership; the account and all answers remain. Raises PeopleRefused as change_role does.

    Revoke their tokens for this workspace, and all of them if they belong to no other one, so that a later role does not
    revive them.
    """
    with transaction.atomic():
        locked = _locked(membership, by)
        _keep_an_owner(locked)
        locked.delete()
        remains = locked.user.memberships.exists()
        revoke_all_tokens(locked.user, clock=timezone.now, workspace=locked.workspace if remains else None)
        log(locked.workspace, by, "person removed", locked.user, before={"role": locked.role})


def new_password(*, membership: Membership, by: User | None) -> str:
    """Replace a lost password and return the new one to hand out; end the account's sessions and revoke its tokens.

    Raises PeopleRefused unless the account was created in this workspace and belongs to no other one, and for owners
    and server administrators. The operator's command, which passes no user, may renew every password.
    """
    with transaction.atomic():
        locked = _locked(membership, by)
        user = User.objects.select_for_update(of=("self",)).get(pk=locked.user_id)
        if by is not None and not renewable(locked.workspace, [locked]):
            raise PeopleRefused(
                _(
                    "The account of %(name)s was not created in this workspace, or it gives access to more than this "
                    "workspace. Only the server administrator can give it a new password, with the command add_person."
                )
                % {"name": user.username}
            )
        password = drawn_password()
        user.set_password(password)
        user.password_given = True
        user.save(update_fields=["password", "password_given"])
        revoked = revoke_all_tokens(user, clock=timezone.now)
        forget_browsers(user)
        log(locked.workspace, by, "password renewed", user, after={"tokens_revoked": revoked})
    return password


def renewable(workspace: Workspace, memberships: Iterable[Membership]) -> set[int]:
    """Return the users of these members who were created in the workspace, belong only to it and do not own it."""
    candidates = {
        membership.user_id
        for membership in memberships
        if membership.user.made_in_id == workspace.pk
        and membership.role != Membership.Role.OWNER
        and not (membership.user.is_staff or membership.user.is_superuser)
    }
    return candidates - _tied_elsewhere(candidates, workspace)


def _tied_elsewhere(users: set[int], workspace: Workspace) -> set[int]:
    """Return users whom any row with a workspace (a membership, a rater, an event) ties to another workspace."""
    tied: set[int] = set()
    fields = User._meta.get_fields(include_hidden=True)  # with those whose related_name is "+"
    for relation in (field for field in fields if isinstance(field, ForeignObjectRel)):
        model, name = relation.related_model, relation.field.name
        try:
            model._meta.get_field("workspace")
        except FieldDoesNotExist:
            continue
        rows = model._base_manager.filter(**{f"{name}__in": users}, workspace__isnull=False)
        tied |= set(rows.exclude(workspace=workspace).values_list(name, flat=True).distinct())
    return tied


def own_password_chosen(user: User, *, revoke_tokens: bool = False) -> int:
    """Record that the user has chosen a password; return how many tokens were revoked.

    Tokens that were created under a password that somebody handed out are always revoked.
    """
    with transaction.atomic():
        given = User.objects.filter(pk=user.pk, password_given=True).update(password_given=False)
        return revoke_all_tokens(user, clock=timezone.now) if given or revoke_tokens else 0


def drawn_password() -> str:
    """Return a random password of 64 bits, in characters that are easy to read out and type."""
    return "-".join(secrets.token_hex(2) for _part in range(4))


def check_name(username: str) -> None:
    """Raise PeopleRefused for a name that nobody can sign in with."""
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError as error:
        raise PeopleRefused(
            _("A sign-in name can contain only letters, digits and @ . + - _, and no spaces.")
        ) from error
    if len(username) > LONGEST_NAME:
        raise PeopleRefused(_("A sign-in name can have at most %(n)s characters.") % {"n": LONGEST_NAME})


def check_role(by: User | None, workspace: Workspace, role: str) -> None:
    if role not in roles_granted_by(by, workspace):
        raise PeopleRefused(_("You cannot give this role. Ask an owner of the workspace."))


def _locked(membership: Membership, by: User | None) -> Membership:
    found = Membership.objects.select_for_update(of=("self",)).select_related("user", "workspace")
    locked = found.filter(pk=membership.pk).first()
    if locked is None:
        raise PeopleRefused(_("This person is no longer a member of the workspace."))
    if locked.role not in roles_granted_by(by, locked.workspace):
        raise PeopleRefused(_("Only an owner of the workspace can change its owners and leads."))
    return locked


def _keep_an_owner(membership: Membership) -> None:
    owners = Membership.objects.select_for_update().filter(workspace=membership.workspace, role=Membership.Role.OWNER)
    if membership.role == Membership.Role.OWNER and len(owners) == 1:
        raise PeopleRefused(_("A workspace needs at least one owner. Make somebody else an owner first."))


def log(
    workspace: Workspace,
    by: User | None,
    verb: str,
    user: User,
    *,
    before: dict[str, str] | None = None,
    after: dict[str, str | int | bool] | None = None,
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
