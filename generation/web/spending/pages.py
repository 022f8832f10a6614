"""What each workspace has spent this month, and the limit that its owner sets."""

from decimal import Decimal
from typing import cast

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User, Workspace
from accounts.permissions import results_page, workspaces_owned_by, workspaces_read_by
from generation.execution.monthly_limit import set_limit, spending_of


class LimitForm(forms.Form):
    """The most that a workspace may spend in a month; empty is no limit."""

    money = forms.DecimalField(
        label=_("Limit for a month"),
        help_text=_("In the currency of the endpoints' prices. Leave it empty for no limit."),
        min_value=Decimal(0),
        max_digits=12,
        decimal_places=6,
        required=False,
    )


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def spending(request: HttpRequest) -> HttpResponse:
    """List the workspaces that the visitor reads; an owner sets the limit of one by POST."""
    user = cast(User, request.user)
    owned = set(workspaces_owned_by(user).values_list("slug", flat=True))
    refused: dict[str, LimitForm] = {}
    if request.method == "POST":
        workspace = Workspace.objects.filter(slug__in=owned, slug=request.POST.get("workspace", "")).first()
        if workspace is None:
            raise Http404(gettext("Only an owner of the workspace can set its limit."))
        form = LimitForm(request.POST)
        if form.is_valid():
            set_limit(workspace, form.cleaned_data["money"], by=user)
            messages.success(request, gettext("The limit has been saved."))
            return redirect("generation:spending")
        refused[workspace.slug] = form
    rows = []
    for one in workspaces_read_by(user).order_by("slug"):
        month, spent = spending_of(one.pk, timezone.now)
        form = refused.get(one.slug) or LimitForm(initial={"money": month.money if month else None})
        rows.append((one, spent, month, form if one.slug in owned else None))
    return render(request, "generation/spending.html", {"rows": rows}, status=422 if refused else 200)
