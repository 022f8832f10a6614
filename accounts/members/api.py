"""The members of a workspace and invitations to it, for programs of its owners and leads.

A token must not make another, and gives nobody the password of an account that exists; both are left to the pages.
Answers with a password or a link are kept nowhere, so these requests take no Idempotency-Key.
"""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import CURSOR, SIZE, Unusable, asking, checked, paged, workspace_to_change
from accounts.members.changes import (
    LED_BY_LEADS,
    LONGEST_NAME,
    MOST_ACCOUNTS_AT_ONCE,
    PeopleRefused,
    change_role,
    make_accounts,
    people_of,
    remove_person,
)
from accounts.members.invitations import MOST_DAYS, invite, open_invitations, send_invitation, withdraw
from accounts.models import ApiToken, Invitation, Membership, Workspace

GIVEN_ROLES = [(role.value, role.label) for role in LED_BY_LEADS]
"""The roles of accounts whose passwords somebody hands out."""
NO_STORE = {"Cache-Control": "no-store"}


class MemberSerializer(serializers.ModelSerializer[Membership]):
    id = serializers.CharField(source="user.public_id")
    username = serializers.CharField(source="user.username", help_text="The sign-in name.")
    name = serializers.CharField(source="user.get_full_name", help_text="Empty where the person has given none.")

    class Meta:
        model = Membership
        fields = ["id", "username", "name", "role"]


class RoleSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=Membership.Role.choices)


class WantedAccountsSerializer(serializers.Serializer[Any]):
    """Accounts to be made, whose passwords somebody hands out."""

    names = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_NAME),
        allow_empty=False,
        max_length=MOST_ACCOUNTS_AT_ONCE,
        help_text="Names without the ending @WORKSPACE, which each gets.",
    )
    role = serializers.ChoiceField(choices=GIVEN_ROLES)


class MadeAccountSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    password = serializers.CharField(help_text="It cannot be read again.")


class MadeAccountsSerializer(serializers.Serializer[Any]):
    made = MadeAccountSerializer(many=True)
    known = serializers.ListField(child=serializers.CharField(), help_text="Sign-in names that had an account already.")


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    id = serializers.CharField(source="public_id")
    made_by = serializers.CharField(source="made_by.username")

    class Meta:
        model = Invitation
        fields = ["id", "role", "note", "made_by", "made_at", "expires_at"]


class NewInvitationSerializer(InvitationSerializer):
    """An invitation that was just made, with its link, which is not told again."""

    link = serializers.SerializerMethodField(help_text="It cannot be read again; empty where it was sent by e-mail.")
    sent = serializers.SerializerMethodField(help_text="Whether the mail server took the e-mail.")

    class Meta(InvitationSerializer.Meta):
        fields = [*InvitationSerializer.Meta.fields, "link", "sent"]

    def get_link(self, _invitation: Invitation) -> str:
        return "" if self.context["sent"] else str(self.context["link"])

    def get_sent(self, _invitation: Invitation) -> bool:
        return bool(self.context["sent"])


class WantedInvitationSerializer(RoleSerializer):
    """An invitation for one person."""

    note = serializers.CharField(max_length=100, help_text="Whom it is for, for the lists of owners and leads.")
    days = serializers.IntegerField(
        default=7, min_value=1, max_value=MOST_DAYS, help_text="Days until the link expires."
    )
    email = serializers.EmailField(
        default="", allow_blank=True, help_text="Where the link is sent; empty to pass it on yourself."
    )


@extend_schema(
    methods=["GET"], operation_id="members", parameters=[SIZE, CURSOR], responses=MemberSerializer(many=True)
)
@extend_schema(
    methods=["POST"],
    operation_id="make_accounts",
    request=WantedAccountsSerializer,
    responses={201: MadeAccountsSerializer},
    examples=[OpenApiExample("Two raters", {"names": ["ann", "bob"], "role": "rater"}, request_only=True)],
)
@api_view(["GET", "POST"])
@needs(Scope.MEMBERS)
def members(request: Request, workspace: str) -> Response:
    """List the members of a workspace, or make accounts in it, whose answer alone has their passwords.

    For owners and leads. Owners and leads themselves choose their own passwords: invite them.
    """
    led = workspace_to_change(request, workspace)
    if request.method != "POST":
        return paged(request, people_of(led).order_by(), MemberSerializer)
    asked = checked(WantedAccountsSerializer(data=request.data))
    try:
        made, known = make_accounts(workspace=led, names=asked["names"], role=asked["role"], by=asking(request))
    except PeopleRefused as error:
        raise Unusable(str(error)) from error
    return Response(MadeAccountsSerializer({"made": made, "known": known}).data, status=201, headers=NO_STORE)


@extend_schema(methods=["GET"], operation_id="member", responses=MemberSerializer)
@extend_schema(
    methods=["PATCH"],
    operation_id="change_role",
    parameters=[IF_MATCH],
    request=RoleSerializer,
    responses=MemberSerializer,
    examples=[OpenApiExample("Analyst", {"role": "analyst"}, request_only=True)],
)
@extend_schema(methods=["DELETE"], operation_id="remove_member", parameters=[IF_MATCH], responses={204: None})
@api_view(["GET", "PATCH", "DELETE"])
@needs(Scope.MEMBERS)
def member(request: Request, workspace: str, public_id: str) -> Response:
    """Return a member, change the role, or end the membership; the account and all answers remain.

    For owners and leads; only an owner changes owners and leads, and the last owner stays.
    """
    led = workspace_to_change(request, workspace)
    if request.method == "GET":
        return Response(MemberSerializer(_member_of(led, public_id)).data)
    with transaction.atomic():
        found = _member_of(led, public_id, locked=True)
        check_unchanged(request, MemberSerializer(found).data)
        try:
            if request.method == "DELETE":
                remove_person(membership=found, by=asking(request))
                return Response(status=204)
            asked = checked(RoleSerializer(data=request.data))
            change_role(membership=found, role=asked["role"], by=asking(request))
        except PeopleRefused as error:
            raise Unusable(str(error)) from error
    return Response(MemberSerializer(_member_of(led, public_id)).data)


@extend_schema(
    methods=["GET"], operation_id="invitations", parameters=[SIZE, CURSOR], responses=InvitationSerializer(many=True)
)
@extend_schema(
    methods=["POST"],
    operation_id="invite",
    request=WantedInvitationSerializer,
    responses={201: NewInvitationSerializer},
    examples=[OpenApiExample("Analyst", {"role": "analyst", "note": "Ana", "days": 7}, request_only=True)],
)
@api_view(["GET", "POST"])
@needs(Scope.MEMBERS)
def invitations(request: Request, workspace: str) -> Response:
    """List the invitations that can still be accepted, or invite one person, whose answer alone has the link.

    For owners and leads. An invitation made with a token ends with the token, when it expires or is revoked.
    """
    led = workspace_to_change(request, workspace)
    if request.method != "POST":
        return paged(request, open_invitations(led, clock=timezone.now).order_by(), InvitationSerializer)
    asked = checked(WantedInvitationSerializer(data=request.data))
    email = asked.pop("email")
    if email and not (settings.IDENTITY and settings.IDENTITY.mail):
        raise Unusable(_("This installation sends no e-mail. Leave the address out, and pass the link on yourself."))
    token = request.auth if isinstance(request.auth, ApiToken) else None
    try:
        made, secret = invite(workspace=led, by=asking(request), token=token, clock=timezone.now, **asked)
    except PeopleRefused as error:
        raise Unusable(str(error)) from error
    link = request.build_absolute_uri(reverse("accounts:invitation", args=[secret]))
    context = {"link": link, "sent": bool(email) and send_invitation(made, link, email)}
    return Response(NewInvitationSerializer(made, context=context).data, status=201, headers=NO_STORE)


@extend_schema(operation_id="withdraw_invitation", responses={204: None})
@api_view(["DELETE"])
@needs(Scope.MEMBERS)
def invitation(request: Request, workspace: str, public_id: str) -> Response:
    """Withdraw an invitation, so that its link admits nobody (for owners and leads)."""
    led = workspace_to_change(request, workspace)
    found = open_invitations(led, clock=timezone.now).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(_("This workspace has no such invitation that can still be accepted."))
    try:
        withdraw(invitation=found, by=asking(request), clock=timezone.now)
    except PeopleRefused as error:
        raise Unusable(str(error)) from error
    return Response(status=204)


def _member_of(workspace: Workspace, public_id: str, *, locked: bool = False) -> Membership:
    """Return the member; 404 where there is none. `locked` keeps others from changing the role until the end."""
    people = people_of(workspace)
    if locked:
        people = people.select_for_update(of=("self",))
    found = people.filter(user__public_id=public_id).first()
    if found is None:
        raise NotFound(_("There is no such member of this workspace."))
    return found
