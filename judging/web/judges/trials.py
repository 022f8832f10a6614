"""A trial of a prompt: its price in the editor, and the page that shows what came back beside people's scores."""

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import cast

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User, Workspace
from accounts.permissions import results_page, workspaces_led_by
from annotation.models import Task
from calibration.figures.drawing import shortest
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.endpoints.pricing import currency_of, price_of
from judging.methods import messages as reply_messages
from judging.methods.parsing import Unscored, Why
from judging.models import Judge, PromptTrial, TrialItem
from judging.runs.life_cycle import REASON_TEXTS, NotPossible, cancel_run
from judging.runs.verdict_lists import MeanScore
from judging.trials.access import trial_read_by
from judging.trials.chosen_tasks import tasks_to_try
from judging.trials.records import KEPT, SIZES, TrialPrice, begin_trial, draft_judge, price_of_trial
from judging.trials.results import TriedAnswer, TriedCriterion, reason_of, result_of
from judging.web.judges.forms import JudgeForm
from judging.web.judges.method_messages import method_words
from judging.web.runs.verdicts import score_in_words

Status = PromptTrial.Status
UNDER_WAY = (Status.PLANNED, Status.RUNNING)


@dataclass
class Offer:
    """A trial as the editor offers it: of `count` answers, at a price. `problem` says why it did not begin."""

    judge: Judge
    count: int
    source: str
    number: int
    tasks: list[Task]
    price: TrialPrice | None
    problem: str = ""


@dataclass(frozen=True)
class CriterionRow:
    """A criterion with its figures in words; `people` says of how many raters the mean is."""

    question: str
    score: str
    people: str
    difference: str
    reason: str


@dataclass(frozen=True)
class AnswerRow:
    """An answer of the trial in the reader's language; `why` says why its verdict is unusable."""

    tried: TriedAnswer
    rows: list[CriterionRow]
    why: str


def offer_of(request: HttpRequest, form: JudgeForm, method: str) -> Offer:
    """Return what was asked for in the editor, with its price; the form must be valid."""
    asked = request.POST.get("action", "")[-1:]
    count = int(asked) if asked.isdecimal() and int(asked) in SIZES else SIZES[0]
    given = form.cleaned_data
    model, source = given["model"], request.POST.get("source", "")
    typed = request.POST.get("number", "1")
    number = max(1, int(typed)) if typed.isdecimal() and len(typed) < 10 else 1
    judge = draft_judge(model, method, given["prompt"], form.parameters)
    tasks = tasks_to_try(model.workspace, method, source, number, count)
    if not tasks:
        return Offer(judge, count, source, number, [], None, gettext("There is no task with this number."))
    return Offer(judge, count, source, number, tasks, price_of_trial(judge, tasks))


def trial_begun(request: HttpRequest, offer: Offer) -> PromptTrial | None:
    """Begin the trial at the price that was shown; None if that has risen since or if it is refused."""
    if offer.price is None:
        return None
    if offer.price.most.money > _agreed(request):
        offer.problem = gettext("The price has changed. Here is the new one.")
        return None
    try:
        return begin_trial(
            offer.judge,
            offer.tasks,
            source=offer.source,
            number=offer.number,
            clock=timezone.now,
            user=cast(User, request.user),
        )
    except UserError as error:
        offer.problem = str(error)
    return None


def _agreed(request: HttpRequest) -> Decimal:
    try:
        agreed = Decimal(request.POST.get("agreed", "0")[:30])
    except InvalidOperation:
        return Decimal(0)
    return agreed if agreed.is_finite() else Decimal(0)


def trial_to_edit(request: HttpRequest, led: "QuerySet[Workspace]") -> PromptTrial | None:
    """Return the trial that ?trial= names, whose version the editor begins with."""
    found = PromptTrial.objects.filter(language_model__workspace__in=led)
    return found.filter(public_id=request.GET.get("trial", "")).select_related("language_model__workspace").first()


@require_safe
@never_cache
@results_page
def trial(request: HttpRequest, public_id: str) -> HttpResponse:
    """What a version of a prompt brought, beside people's scores; updated while the trial goes on."""
    return render(request, "judging/trial.html", _context(request, public_id))


@require_safe
@never_cache
@results_page
def trial_state(request: HttpRequest, public_id: str) -> HttpResponse:
    """The part of the page that changes."""
    return render(request, "judging/trial.html#state", _context(request, public_id))


@require_POST
@results_page
def stop_trial(request: HttpRequest, public_id: str) -> HttpResponse:
    """End a trial; a call that is under way still comes back and is kept."""
    found = trial_read_by(cast(User, request.user), public_id)
    if not _leads(request, found):
        raise PermissionDenied
    with suppress(NotPossible):  # It may have ended a moment before.
        cancel_run(found, clock=timezone.now, user=cast(User, request.user))
    return redirect("judging:trial", public_id)


def _context(request: HttpRequest, public_id: str) -> dict[str, object]:
    found = trial_read_by(cast(User, request.user), public_id)
    result = result_of(found)
    return {
        "trial": found,
        "rows": [_row(one) for one in result.answers],
        "under_way": found.status in UNDER_WAY,
        "stoppable": found.status in (*UNDER_WAY, Status.PAUSED) and _leads(request, found),
        "settled": result.settled,
        "total": len(result.answers),
        "cost": result.cost,
        "priced": price_of(found.language_model).known,
        "currency": currency_of(found.workspace_id),
        "opening": _opening(found, result.settled, result.unusable, len(result.answers)),
        "method": method_words(found.method),
        "leads": _leads(request, found),
        "kept_until": found.created_at + KEPT,
    }


def _opening(found: PromptTrial, settled: int, unusable: int, total: int) -> str:
    if found.status in UNDER_WAY:
        return gettext("%(n)d of %(total)d answers are back. You can leave this page.") % {"n": settled, "total": total}
    if not settled:
        return gettext("The trial ended before any answer came back.")
    usable = settled - unusable
    return ngettext(
        "%(usable)d of %(total)d answer brought a usable verdict.",
        "%(usable)d of %(total)d answers brought a usable verdict.",
        total,
    ) % {"usable": usable, "total": total}


def _row(tried: TriedAnswer) -> AnswerRow:
    item = tried.item
    why = ""
    if item.status == TrialItem.Status.UNSCORED:
        unscored = _unscored(item)
        detail = for_reader(unscored.detail)
        why = gettext(REASON_TEXTS.get(unscored.why, unscored.why)) + (f": {detail}" if detail else "")
    return AnswerRow(tried, [_criterion(one) for one in tried.criteria], why)


def _unscored(item: TrialItem) -> Unscored:
    reason = reason_of(item)
    params = getattr(reason, "params", {})
    if getattr(reason, "code", "") == reply_messages.UNSCORED.code and params.get("why") in set(Why):
        return Unscored(Why(params["why"]), params["detail"])
    return Unscored(Why.ENDPOINT, reason)


def _criterion(one: TriedCriterion) -> CriterionRow:
    role = "preference" if one.preference else "item"
    people = ""
    if one.people is not None:
        mean = score_in_words(MeanScore(role, one.people))
        people = ngettext("%(mean)s (%(n)d rater)", "%(mean)s (%(n)d raters)", one.raters) % {
            "mean": mean,
            "n": one.raters,
        }
    return CriterionRow(
        one.question,
        "" if one.score is None else score_in_words(MeanScore(role, one.score)),
        people,
        "" if one.difference is None else shortest(round(one.difference, 2), signed=True),
        one.reason,
    )


def _leads(request: HttpRequest, found: PromptTrial) -> bool:
    return workspaces_led_by(cast(User, request.user)).filter(pk=found.workspace_id).exists()
