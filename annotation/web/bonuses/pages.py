"""Pages of bonuses: the cap, the dry run of a list, the list that waits for its confirmation, and what became of it."""

from io import StringIO
from typing import Any, cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from accounts.permissions import results_page, workspaces_led_by
from accounts.sign_in.confirmation import why_not_confirmed
from annotation.bonuses.amounts import major, minor_units
from annotation.bonuses.proposals import BonusRequest, Proposal, propose
from annotation.bonuses.record import State, allowance_of, change_cap, reason_words
from annotation.bonuses.sending import ListChanged, confirm, drop, look, mark_abandoned, prepare, settle
from annotation.models import BonusBatch, BonusPayment, Cohort, ProlificStudy, Study
from annotation.monitoring.payment import CENT
from annotation.privacy.reads import note_reading
from annotation.prolific.client import is_prolific_set_up
from annotation.studies.access import study_led_by
from annotation.studies.provenance import provenance_of
from annotation.web.bonuses.forms import BonusForm, CapForm, in_minor_units
from core.errors import UserError
from core.tables.formula_cells import CsvWriter
from core.web.uploaded_files import takes_files

COLUMNS = (
    "list",
    "rater",
    "cohort",
    "study_at_prolific",
    "submission_id",
    "amount",
    "currency",
    "purpose",
    "reason",
    "state",
    "payment_id",
    "set_up_at",
    "set_up_by",
    "confirmed_at",
    "confirmed_by",
)


def _leads(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and workspaces_led_by(request.user).exists()


def _cohort(user: User, slug: str, cohort_id: int) -> tuple[Study, Cohort]:
    study = study_led_by(user, slug)
    crowd = study.cohorts.filter(kind=Cohort.Kind.CROWD).select_related("study__workspace")
    return study, get_object_or_404(crowd, pk=cohort_id)


@takes_files(_leads)
@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def bonuses(request: HttpRequest, slug: str, cohort_id: int) -> HttpResponse:
    """Show the cap and the lists of a cohort; POST changes the cap, shows a dry run, or sets up what was shown."""
    user = cast(User, request.user)
    study, cohort = _cohort(user, slug, cohort_id)
    attached = ProlificStudy.objects.select_related("cohort__study__workspace").filter(cohort=cohort).first()
    if request.method != "POST":
        return _page(request, study, cohort, attached)
    do = request.POST.get("do")
    if do == "cap":
        return _changed_cap(request, study, cohort, attached)
    if attached is None or do not in ("propose", "prepare"):
        raise Http404
    form = BonusForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, study, cohort, attached, form=form, status=422)
    asked = form.asked()
    try:
        if do == "prepare":
            batch = prepare(attached, asked, request.POST.get("digest", ""), by=user, clock=timezone.now)
            return redirect("annotation:bonus_batch", study, cohort.pk, batch.public_id)
        proposal = propose(attached, asked)
    except ListChanged as changed:
        messages.error(request, str(changed))
        proposal = changed.proposal
    except UserError as problem:
        return _page(request, study, cohort, attached, form=form, error=str(problem), status=422)
    return _page(request, study, cohort, attached, form=form, asked=asked, proposal=proposal)


def _changed_cap(request: HttpRequest, study: Study, cohort: Cohort, attached: ProlificStudy | None) -> HttpResponse:
    form = CapForm(request.POST)
    if not form.is_valid():
        return _page(request, study, cohort, attached, cap_form=form, status=422)
    change_cap(study, in_minor_units(form.cleaned_data["cap"]), by=cast(User, request.user), clock=timezone.now)
    messages.success(request, _("The cap has been changed."))
    return redirect("annotation:bonuses", study, cohort.pk)


def _page(
    request: HttpRequest,
    study: Study,
    cohort: Cohort,
    attached: ProlificStudy | None,
    *,
    form: BonusForm | None = None,
    cap_form: CapForm | None = None,
    asked: BonusRequest | None = None,
    proposal: Proposal | None = None,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    allowance = allowance_of(study)
    if proposal is not None:
        note_reading(study, cast(User, request.user), clock=timezone.now)
    cap = CapForm(initial={"cap": major(allowance.lead) if allowance.lead is not None else None})
    context: dict[str, Any] = {
        "study": study,
        "provenance": provenance_of(study),
        "cohort": cohort,
        "attached": attached,
        "is_set_up": is_prolific_set_up(),
        "allowance": allowance,
        "operator": major(allowance.operator),
        "cap": major(allowance.cap),
        "spent": major(allowance.spent),
        "left": major(allowance.left),
        "cap_form": cap_form or cap,
        "form": form or BonusForm(initial={"fewest": 5, "percent": 80}),
        "error": error,
        "batches": [
            (one, major(one.total_minor)) for one in BonusBatch.objects.filter(cohort=cohort).select_related("made_by")
        ],
    }
    if proposal is not None and form is not None and asked is not None:
        context |= {
            "proposal": proposal,
            "asked": asked,
            "again": form.again(),
            "total": major(proposal.total),
            "rows": [(one, major(one.minor), reason_words(one.reason)) for one in proposal.bonuses],
            "left_out": [(one, major(one.minor) if one.minor is not None else None) for one in proposal.left_out],
        }
    return render(request, "annotation/bonuses.html", context, status=status)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def bonus_batch(request: HttpRequest, slug: str, cohort_id: int, public_id: str) -> HttpResponse:
    """Show one list; POST confirms or drops it, asks Prolific about it, or stores what the lead found there."""
    user = cast(User, request.user)
    study, cohort = _cohort(user, slug, cohort_id)
    lists = BonusBatch.objects.filter(cohort=cohort).select_related("study", "cohort", "made_by", "confirmed_by")
    batch = get_object_or_404(lists, public_id=public_id)
    if request.method == "POST":
        try:
            if error := _act(request, batch):
                return _list_page(request, study, batch, error=error, status=422)
        except UserError as problem:
            messages.error(request, str(problem))
        return redirect("annotation:bonus_batch", study, cohort.pk, batch.public_id)
    return _list_page(request, study, batch)


def _act(request: HttpRequest, batch: BonusBatch) -> str:
    """Do what the form asks; return what is wrong with its fields. Raises UserError."""
    user, do = cast(User, request.user), request.POST.get("do")
    if do == "confirm":
        if error := why_not_confirmed(request, user, request.POST.get("password", "")):
            return error
        confirm(batch, minor_units(request.POST.get("total", "")), by=user, clock=timezone.now)
    elif do == "drop":
        drop(batch, by=user, clock=timezone.now)
    elif do == "look":
        mark_abandoned(batch, timezone.now)
        look(batch, timezone.now, by=user)
    elif do == "settle" and request.POST.get("found") in ("paid", "unpaid"):
        if request.POST.get("looked") != "yes":
            return _("Look at the study at Prolific first, and confirm that you did.")
        settle(batch, paid=request.POST["found"] == "paid", by=user, clock=timezone.now)
    else:
        raise Http404
    return ""


def _list_page(
    request: HttpRequest, study: Study, batch: BonusBatch, *, error: str = "", status: int = 200
) -> HttpResponse:
    user = cast(User, request.user)
    mark_abandoned(batch, timezone.now)
    payments = list(batch.payments.select_related("rater"))
    if any(one.submission for one in payments):
        note_reading(study, user, clock=timezone.now)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "cohort": batch.cohort,
        "batch": batch,
        "total": major(batch.total_minor),
        "charged": batch.charged.scaleb(-2).quantize(CENT) if batch.charged is not None else None,
        "rows": [(one, major(one.minor), reason_words(one.reason)) for one in payments],
        "can_confirm": batch.state == State.PREPARED and batch.made_by_id == user.pk,
        "can_drop": batch.state == State.PREPARED,
        "is_uncertain": batch.state == State.UNCERTAIN,
        "asks_password": user.has_usable_password(),
        "error": error,
    }
    return render(request, "annotation/bonus_batch.html", context, status=status)


@results_page
@never_cache
@require_safe
def bonus_payments(request: HttpRequest, slug: str) -> HttpResponse:
    """Serve all bonuses of the study as CSV, one row per rater and list. It has platform ids: the read is logged."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    note_reading(study, user, clock=timezone.now)
    response = HttpResponse(payments_table(study), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slugify(study.slug) or "study"}-bonuses.csv"'
    return response


def payments_table(study: Study) -> str:
    """The bonuses as CSV text, in the order in which they were stored. Times are UTC, money has two decimals."""
    file = StringIO()
    writer = CsvWriter(file)
    writer.writerow(COLUMNS)
    rows = BonusPayment.objects.filter(batch__study=study).order_by("batch_id", "pk")
    for one in rows.select_related("rater", "batch__cohort", "batch__made_by", "batch__confirmed_by"):
        batch = one.batch
        writer.writerow(
            [
                batch.public_id,
                one.rater.name,
                batch.cohort.name,
                batch.external_study,
                one.submission,
                major(one.minor),
                batch.currency,
                batch.purpose,
                reason_words(one.reason),
                batch.state,
                batch.external_id,
                batch.made_at.isoformat(timespec="seconds"),
                batch.made_by,
                batch.confirmed_at.isoformat(timespec="seconds") if batch.confirmed_at else None,
                batch.confirmed_by,
            ]
        )
    return file.getvalue()
