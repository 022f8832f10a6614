"""The webhooks of a workspace for its owners and leads: a list, and for each its settings and what was sent."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User, Webhook, WebhookDelivery
from accounts.permissions import results_page, workspaces_led_by
from core.errors import UserError
from core.messages.message import stored_text
from core.messages.rendering import for_reader
from core.web.access import visible_or_404
from generation.web.library.pages import page_of
from generation.webhooks.events import TEST, EventName
from generation.webhooks.subscriptions import (
    add_webhook,
    change_webhook,
    checked_address,
    remove_webhook,
    send_again,
    send_test,
)

ON_A_PAGE = 30


class WebhookForm(forms.Form):
    """An address and the events of which it is told."""

    url = forms.CharField(
        label=_("Address"),
        max_length=500,
        help_text=_("Messages are sent to this address by POST, such as https://example.org/hooks."),
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false"}),
    )
    events = forms.MultipleChoiceField(
        label=_("Events"), choices=EventName.choices, widget=forms.CheckboxSelectMultiple, initial=EventName.values
    )

    def clean_url(self) -> str:
        try:
            return checked_address(self.cleaned_data["url"])
        except UserError as error:
            raise forms.ValidationError(for_reader(error)) from error


class WebhookChangeForm(WebhookForm):
    """The same for a webhook that is there."""

    active = forms.BooleanField(
        label=_("Switched on"),
        required=False,
        help_text=_("While it is switched off, nothing is sent, and what happens is not kept for later."),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@results_page
def webhooks(request: HttpRequest, slug: str = "") -> HttpResponse:
    """List the webhooks; the secret of a new one is shown once, in the response that adds it."""
    led = workspaces_led_by(cast(User, request.user)).order_by("slug")
    if not led.exists():
        raise PermissionDenied
    workspace = visible_or_404(led.filter(slug=slug) if slug else led, message=gettext("There is no such workspace."))
    form, secret = WebhookForm(request.POST or None, label_suffix=""), ""
    if request.method == "POST" and form.is_valid():
        try:
            _hook, secret = add_webhook(workspace=workspace, by=cast(User, request.user), **form.cleaned_data)
            form = WebhookForm(label_suffix="")
        except UserError as error:
            form.add_error(None, for_reader(error))
    failed = Q(deliveries__state=WebhookDelivery.State.FAILED)
    rows = workspace.webhooks.annotate(
        last=Max("deliveries__tried_at"), last_failed=Max("deliveries__tried_at", filter=failed)
    )
    context = {
        "workspace": workspace,
        "workspaces": led,
        "rows": [(hook, _names_of(hook)) for hook in rows],
        "form": form,
        "secret": secret,
    }
    return render(request, "generation/webhooks.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@results_page
def webhook(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Show a webhook's settings, which are changed by POST, and the messages that were sent or wait."""
    hook = _hook_of(request, slug, public_id)
    initial = {"url": hook.url, "events": hook.events, "active": hook.active}
    form = WebhookChangeForm(request.POST or None, initial=initial, label_suffix="")
    if request.method == "POST" and form.is_valid():
        try:
            change_webhook(hook, by=cast(User, request.user), **form.cleaned_data)
        except UserError as error:
            form.add_error(None, for_reader(error))
        else:
            messages.success(request, gettext("The webhook has been saved."))
            return redirect("generation:webhook", slug, public_id)
    page = page_of(request, hook.deliveries.order_by("-made_at", "-pk"), ON_A_PAGE)
    context = {
        "workspace": hook.workspace,
        "hook": hook,
        "form": form,
        "page": page,
        "rows": [_row(delivery) for delivery in page],
    }
    return render(request, "generation/webhook.html", context, status=422 if form.errors else 200)


@require_POST
@results_page
def test_webhook(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Have a message sent that tells of nothing."""
    hook = _hook_of(request, slug, public_id)
    try:
        send_test(hook)
        said = gettext("A test message is being sent. Reload the page in a few seconds to see what came of it.")
        messages.success(request, said)
    except UserError as error:
        messages.error(request, for_reader(error))
    return redirect("generation:webhook", slug, public_id)


@require_POST
@results_page
def resend(request: HttpRequest, slug: str, public_id: str, delivery: str) -> HttpResponse:
    """Have a message sent again."""
    hook = _hook_of(request, slug, public_id)
    found = hook.deliveries.filter(public_id=delivery).select_related("webhook")
    try:
        send_again(visible_or_404(found, message=gettext("There is no such message.")))
        said = gettext("The message is being sent again. Reload the page in a few seconds to see what came of it.")
        messages.success(request, said)
    except UserError as error:
        messages.error(request, for_reader(error))
    return redirect("generation:webhook", slug, public_id)


@require_POST
@results_page
def remove(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Remove a webhook with its messages."""
    remove_webhook(_hook_of(request, slug, public_id), by=cast(User, request.user))
    messages.success(request, gettext("The webhook has been removed."))
    return redirect("generation:webhooks_of", slug)


def _hook_of(request: HttpRequest, slug: str, public_id: str) -> Webhook:
    """Return the webhook for an owner or lead of its workspace; 404 for anybody else."""
    led = workspaces_led_by(cast(User, request.user)).filter(slug=slug)
    found = Webhook.objects.filter(workspace__in=led, public_id=public_id).select_related("workspace")
    return visible_or_404(found, message=gettext("There is no such webhook."))


def _names_of(hook: Webhook) -> list[str]:
    return [str(EventName(event).label) for event in hook.events if event in EventName.values]


def _row(delivery: WebhookDelivery) -> dict[str, Any]:
    event = delivery.event
    name = gettext("Test") if event == TEST else str(EventName(event).label) if event in EventName.values else event
    waits = delivery.state == WebhookDelivery.State.WAITING
    return {
        "delivery": delivery,
        "name": name,
        "problem": for_reader(stored_text(delivery, "problem")),
        "again_at": delivery.next_at if waits and delivery.attempts else None,
    }
