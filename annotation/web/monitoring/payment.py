"""Hours and money owed: the sums of each cohort, its raters, its pay, and the list to approve or reject as a file."""

from decimal import Decimal
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.models import Cohort
from annotation.monitoring.approvals import approval_table
from annotation.monitoring.payment import CohortPayment, RaterPayment, change_pay, payments_of
from annotation.privacy.reads import note_reading
from annotation.studies.access import study_led_by, study_read_by
from annotation.studies.provenance import provenance_of

RATERS_A_PAGE = 100


class PayForm(forms.Form):
    """What a cohort is paid; an empty amount leaves it to the study."""

    amount = forms.DecimalField(
        min_value=Decimal(0), max_digits=10, decimal_places=2, required=False, label=gettext_lazy("Pay")
    )
    per = forms.ChoiceField(choices=Cohort.PayPer.choices, label=gettext_lazy("Paid"))
    currency = forms.CharField(max_length=8, required=False, label=gettext_lazy("Currency"))


def _with_forms(
    payments: list[CohortPayment], page: "Page[RaterPayment]"
) -> list[tuple[CohortPayment, PayForm | None, list[RaterPayment]]]:
    """Each cohort with the form for its pay and with those of its raters that stand on the page."""
    on_page = {one.rater.pk for one in page}
    return [
        (
            one,
            None
            if one.cohort is None
            else PayForm(
                initial={
                    "amount": one.cohort.pay,
                    "per": one.cohort.pay_per or Cohort.PayPer.HOUR,
                    "currency": one.pay.currency,
                },
                auto_id=f"pay-{one.cohort.pk}-%s",
            ),
            [row for row in one.raters if row.rater.pk in on_page],
        )
        for one in payments
    ]


@results_page
@never_cache
@require_safe
def payment(request: HttpRequest, slug: str) -> HttpResponse:
    """Show hours and money owed for each cohort and rater; to HTMX, the sums of the cohorts for the dashboard."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    found = [one for one in payments_of(study) if one.raters or one.cohort is not None]
    context: dict[str, Any] = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": leads_workspace_of(user, study),
        "payments": found,
    }
    if getattr(request, "htmx", False):
        return render(request, "annotation/payment.html#cohort_sums", context)
    raters = [row for one in found for row in one.raters]
    context["page"] = page = Paginator(raters, RATERS_A_PAGE).get_page(request.GET.get("page"))
    context["groups"] = _with_forms(found, page)
    context["has_bonuses"] = any(one.bonuses for one in found)
    return render(request, "annotation/payment.html", context)


@results_page
@require_POST
def change_cohort_pay(request: HttpRequest, slug: str, cohort_id: int) -> HttpResponse:
    """State what the raters of a cohort are paid."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    cohort = get_object_or_404(study.cohorts.select_related("study"), pk=cohort_id)
    form = PayForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        change_pay(cohort, amount=data["amount"], per=data["per"], currency=data["currency"].strip(), by=user)
        messages.success(request, _("The pay of the cohort has been changed."))
    else:
        messages.error(request, _("Nothing was changed. Enter an amount with at most two decimals, such as 12.50."))
    return redirect("annotation:payment", study)


@results_page
@never_cache
@require_safe
def approvals(request: HttpRequest, slug: str, cohort_id: int) -> HttpResponse:
    """Serve a cohort's list to approve or reject as CSV, one row per rater. It has platform ids: the read is logged."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    cohort = get_object_or_404(Cohort, study=study, pk=cohort_id)
    note_reading(study, user, clock=timezone.now)
    [found] = payments_of(study, cohort)
    response = HttpResponse(approval_table(found), content_type="text/csv; charset=utf-8")
    name = slugify(f"{study.slug}-{cohort.name}-approvals") or "approvals"
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
