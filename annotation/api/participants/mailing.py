"""API endpoints for the people whom a lead invites one by one, by e-mail or from a list, each with a link of their own."""

from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import CURSOR, SIZE, Pages, Unusable, asking, checked
from accounts.api.repeated import KEY, once
from annotation.api.participants.cohorts import cohort_of
from annotation.api.studies import study_to_change
from annotation.models import Cohort, MailedInvitation
from annotation.privacy.reads import note_reading
from annotation.recruitment.mailing import MOST_AT_ONCE, addresses_in, erase_address, invite, resend_failed, send_held
from core.errors import UserError
from core.messages.rendering import for_reader

LONGEST_ADDRESS = 400
"""Characters of an address with a name before it."""


class InvitedPersonSerializer(serializers.ModelSerializer[MailedInvitation]):
    """A person who was invited; the name and the address are empty once they were erased."""

    id = serializers.IntegerField(source="pk")
    email = serializers.CharField(source="address")
    link = serializers.SerializerMethodField(help_text="The person's own link, which admits one rater.")
    reason = serializers.CharField(help_text="Why the latest message could not be sent.")
    joined_at = serializers.DateTimeField(source="used_at")

    class Meta:
        model = MailedInvitation
        fields = ["id", "name", "email", "link", "state", "reason", "made_at", "sent_at", "joined_at"]

    def get_link(self, invited: MailedInvitation) -> str:
        return str(self.context["request"].build_absolute_uri(reverse("annotation:join", args=[invited.token])))


class WantedPeopleSerializer(serializers.Serializer[Any]):
    """People to be invited by e-mail."""

    emails = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_ADDRESS),
        allow_empty=False,
        max_length=MOST_AT_ONCE,
        help_text="Addresses, also as `Name <address>`.",
    )


class InvitedSerializer(serializers.Serializer[Any]):
    invited = serializers.IntegerField(help_text="Messages that will be sent.")
    known = serializers.IntegerField(help_text="Addresses that were invited before and get no second message.")


class SendingSerializer(serializers.Serializer[Any]):
    """A confirmation that the messages are to be sent."""

    people = serializers.IntegerField(
        min_value=0, max_value=10**6, help_text="How many people of the list have an address and no message yet."
    )


class SentSerializer(serializers.Serializer[Any]):
    sent = serializers.IntegerField(help_text="Messages that will be sent.")


@extend_schema(
    methods=["GET"],
    operation_id="invited_people",
    parameters=[OpenApiParameter("state", str, enum=MailedInvitation.State.values), SIZE, CURSOR],
    responses=InvitedPersonSerializer(many=True),
)
@extend_schema(
    methods=["POST"],
    operation_id="invite_by_mail",
    parameters=[KEY],
    request=WantedPeopleSerializer,
    responses={201: InvitedSerializer},
    examples=[OpenApiExample("Two people", {"emails": ["ann@example.org", "bo@example.org"]}, request_only=True)],
)
@api_view(["GET", "POST"])
@needs(Scope.CHANGE)
@once
def invited_people(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """List who was invited to a cohort one by one, each with a link, or invite people by e-mail (for owners and leads).

    The messages are in the language that the header Accept-Language names. Each reading of names is logged.
    """
    cohort = _mailed(request, workspace, slug, pk)
    if request.method != "POST":
        rows = cohort.mailed_invitations.order_by()
        if state := request.query_params.get("state"):
            if state not in MailedInvitation.State.values:
                raise Unusable(
                    _("state must be one of %(known)s.") % {"known": ", ".join(MailedInvitation.State.values)}
                )
            rows = rows.filter(state=state)
        pages = Pages()
        found: list[MailedInvitation] = pages.paginate_queryset(rows, request) or []
        if any(one.name or one.address for one in found):
            note_reading(cohort.study, asking(request), clock=timezone.now)
        shown = InvitedPersonSerializer(found, many=True, context={"request": request})
        return pages.get_paginated_response(shown.data)
    asked = checked(WantedPeopleSerializer(data=request.data))
    origin = request.build_absolute_uri("/")
    try:
        addresses = addresses_in("\n".join(asked["emails"]))
        new, known = invite(cohort, addresses, origin=origin, by=asking(request), clock=timezone.now)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response({"invited": new, "known": known}, status=201)


@extend_schema(operation_id="send_to_listed", parameters=[KEY], request=SendingSerializer, responses=SentSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def send_to_listed(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """Send a message to each person of an uploaded list who has an address and none yet: in the list, the state `held`.

    `people` says how many you found; if the list has changed since, nothing is sent.
    """
    cohort = _mailed(request, workspace, slug, pk)
    asked = checked(SendingSerializer(data=request.data))
    origin = request.build_absolute_uri("/")
    try:
        sent = send_held(cohort, expected=asked["people"], origin=origin, by=asking(request), clock=timezone.now)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response({"sent": sent})


@extend_schema(operation_id="resend_failed", parameters=[KEY], request=None, responses=SentSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def resend(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """Send the messages that failed once more, with the same links."""
    return Response({"sent": resend_failed(_mailed(request, workspace, slug, pk), by=asking(request))})


@extend_schema(operation_id="erase_invited_person", responses={204: None})
@api_view(["DELETE"])
@needs(Scope.CHANGE)
def invited_person(request: Request, workspace: str, slug: str, pk: int, invited: int) -> Response:
    """Erase the name and the address of somebody who was invited; a message that waits is not sent."""
    cohort = _mailed(request, workspace, slug, pk)
    if not erase_address(cohort, int(invited), by=asking(request)):
        raise NotFound(_("This cohort has no name or address of such an invitation."))
    return Response(status=204)


def _mailed(request: Request, workspace: str, slug: str, pk: int) -> Cohort:
    """Return the cohort; 404 where it does not exist or is one of a crowd platform, which knows its people itself."""
    cohort = cohort_of(study_to_change(request, workspace, slug), pk)
    if cohort.kind == Cohort.Kind.CROWD:
        raise NotFound(_("This cohort cannot be invited by e-mail."))
    return cohort
