"""What the pages of every kind of run share: the budget, the controls, and downloads."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from accounts.models import User
from generation.execution.budget import ceiling_of
from generation.execution.states import NotPossible, RunKind, cancel_run, pause_run, raise_budget
from generation.llm.protocol.prices import MOST_COUNTED, Ceiling
from generation.run_fields import AnyRun

RUNS_SHOWN = 100


class BudgetForm(forms.Form):
    """The maximum spending of a run; empty is no limit."""

    budget_calls = forms.IntegerField(label=_("Maximum calls"), min_value=1, max_value=MOST_COUNTED, required=False)
    budget_tokens = forms.IntegerField(label=_("Maximum tokens"), min_value=1, max_value=MOST_COUNTED, required=False)
    budget_money = forms.DecimalField(
        label=_("Maximum cost"),
        help_text=_("Enter the amount in the currency of the endpoint's prices."),
        min_value=Decimal("0.000001"),
        max_digits=12,
        decimal_places=6,
        required=False,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})

    @property
    def ceiling(self) -> Ceiling:
        given = self.cleaned_data
        return Ceiling(given.get("budget_calls"), given.get("budget_tokens"), given.get("budget_money"))


def budget_form(run: AnyRun) -> BudgetForm:
    """Return the form with the run's present budget."""
    return BudgetForm(initial={name: getattr(run, name) for name in BudgetForm.base_fields})


def control(request: HttpRequest, run: AnyRun, kind: RunKind[Any], *, retry: Callable[[AnyRun, User], None]) -> None:
    """Pause, resume (with a new budget, if sent), change the budget, `retry` what came to nothing, or cancel.

    Raises Http404 for any other action. A run whose state does not allow the action is left as it is, with a warning.
    """
    user, action = cast(User, request.user), request.POST.get("action", "")
    kind.keep_logged(run)
    try:
        with transaction.atomic():
            if action == "pause":
                pause_run(run, clock=timezone.now, user=user)
            elif action == "cancel":
                cancel_run(run, clock=timezone.now, user=user)
            elif action == "retry":
                retry(run, user)
            elif action == "resume":
                resume(request, run, kind)
            elif action == "budget":
                _change_budget(request, run)
            else:
                raise Http404
    except NotPossible:
        messages.warning(
            request,
            gettext("The state of the run has changed in the meantime. It is now “%(status)s”.")
            % {"status": run.get_status_display()},
        )


def resume(request: HttpRequest, run: AnyRun, kind: RunKind[Any]) -> None:
    """Resume the run on a worker, with a new budget if one is sent; an invalid budget is reported instead."""
    if "budget_calls" not in request.POST or _change_budget(request, run):
        kind.start(run, clock=timezone.now, user=cast(User, request.user))
        kind.hand_over(run)


def _change_budget(request: HttpRequest, run: AnyRun) -> bool:
    """Whether the submitted budget is valid; if so, it becomes the run's budget."""
    form = BudgetForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("Enter a number greater than zero, or leave the field empty for no limit."))
        return False
    if form.ceiling != ceiling_of(run):
        raise_budget(run, form.ceiling, user=cast(User, request.user))
    return True


def json_response(content: dict[str, Any]) -> HttpResponse:
    return HttpResponse(json.dumps(content, ensure_ascii=False, indent=1), content_type="application/json")


def download(run: AnyRun, name: str, files: dict[str, Callable[[], HttpResponse]]) -> HttpResponse:
    """Return one of the run's files as a download. Raises Http404 for any other name."""
    if name not in files:
        raise Http404(gettext("A run has no file of this name."))
    response = files[name]()
    response["Content-Disposition"] = f'attachment; filename="{run.public_id}-{name}"'
    return response
