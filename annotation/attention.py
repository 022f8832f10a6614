"""What waits for a lead: notes of raters, tasks that nobody could rate, and responses in which a model names itself."""

from dataclasses import dataclass
from typing import cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation import skipped
from annotation.desk import leads, study_to_lead, study_to_read
from annotation.forms import SKIP_REASONS
from annotation.models import Assignment, Flag, Rater, Seat, Study, Task
from annotation.provenance import provenance_of
from annotation.qualification import APPEAL
from annotation.screens import MASK_POLICY
from annotation.self_naming import find_self_naming
from annotation.studies import StudyRefused, log_event
from generation.models import Response

FLAGS_A_PAGE = 50
WORDS_AROUND = 60
MOST_SELF_NAMING = 200


@dataclass(frozen=True)
class SelfNaming:
    """A task in whose text a model names itself; `around` is what stands before and after the words."""

    task: Task
    before: str
    words: str
    after: str
    count: int
    dropped: bool


def self_naming_in(study: Study) -> list[SelfNaming]:
    """The study's tasks in which a response says which model wrote it, in order; reads every text of the study."""
    tasks = (
        Task.objects.filter(study=study)
        .exclude(gold__purpose="control")
        .select_related("response_a__model", "response_b__model", "response_a__instruction")
        .order_by("position", "pk")
    )
    found: list[SelfNaming] = []
    known: dict[int, tuple[str, str, str, int] | None] = {}
    seatless = set(tasks.filter(gold__isnull=True, seats=None).values_list("pk", flat=True))
    launched = study.status != Study.Status.DRAFT and Seat.objects.filter(study=study).exists()
    for task in tasks.iterator(200):
        for response in (task.response_a, task.response_b):
            if response is None:
                continue
            if response.pk not in known:
                known[response.pk] = _mention(response)
            place = known[response.pk]
            if place is not None:
                found.append(SelfNaming(task, *place, dropped=launched and task.pk in seatless))
                break
        if len(found) >= MOST_SELF_NAMING:
            break
    return found


def _mention(response: Response) -> tuple[str, str, str, int] | None:
    text = response.text or ""
    model = response.model
    mentions = find_self_naming(text, (model.name, model.family) if model else ())
    if not mentions:
        return None
    first = mentions[0]
    before = text[max(0, first.start - WORDS_AROUND) : first.start]
    return before, first.words, text[first.end : first.end + WORDS_AROUND], len(mentions)


def drop_task(task: Task, *, by: User) -> None:
    """Take a task that no person was given out of the study: its free seats go. Raises StudyRefused."""
    with transaction.atomic():
        if Assignment.objects.filter(task=task).exclude(rater__kind=Rater.Kind.JUDGE).exists():
            raise StudyRefused(_("The task was given to a rater already; mask the words instead."))
        gone, _each = Seat.objects.filter(task=task, state=Seat.State.FREE).delete()
        log_event(task.study, by, "drop_task", about=task, after={"task": task.key, "seats": gone})
        if task.study.status == Study.Status.DRAFT:
            task.delete()


@results_page
@never_cache
@require_safe
def attention(request: HttpRequest, slug: str) -> HttpResponse:
    """Notes, appeals and tasks that nobody could rate; ?settled=1 shows the notes that were settled."""
    user = cast(User, request.user)
    study = study_to_read(user, slug)
    settled = request.GET.get("settled") == "1"
    flags = Flag.objects.filter(task__study=study, resolved_at__isnull=not settled)
    flags = flags.select_related("task__response_a__instruction", "rater")
    reasons = dict(SKIP_REASONS)
    nobody = [
        (item, [(reasons.get(reason, reason), n) for reason, n in item.reasons])
        for item in skipped.skipped_by_all(study)
    ]
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": leads(user, study),
        "page": Paginator(flags, FLAGS_A_PAGE).get_page(request.GET.get("page")),
        "settled": settled,
        "nobody": nobody,
        "appeal": APPEAL,
    }
    return render(request, "annotation/attention.html", context)


@results_page
@require_POST
def settle_flag(request: HttpRequest, slug: str, flag_id: int) -> HttpResponse:
    """Note that a rater's note is dealt with."""
    user = cast(User, request.user)
    study = study_to_lead(user, slug)
    flag = get_object_or_404(Flag.objects.select_related("task__study"), task__study=study, pk=flag_id)
    if flag.resolved_at is None:
        with transaction.atomic():
            flag.resolved_at = timezone.now()
            flag.save(update_fields=["resolved_at"])
            log_event(flag.task.study, user, "resolve_flag", about=flag.task, after={"note": flag.text[:200]})
    return redirect("annotation:attention", study.slug)


@results_page
@never_cache
@require_safe
def self_naming(request: HttpRequest, slug: str) -> HttpResponse:
    """Responses in which a model names itself, which tells a rater what they must not know."""
    user = cast(User, request.user)
    study = study_to_read(user, slug)
    found = self_naming_in(study)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": leads(user, study),
        "found": found,
        "full": len(found) >= MOST_SELF_NAMING,
        "masked": bool(study.policies.get(MASK_POLICY)),
    }
    return render(request, "annotation/self_naming.html", context)


@results_page
@require_POST
def change_self_naming(request: HttpRequest, slug: str) -> HttpResponse:
    """Mask such words in all that raters are shown, show them again, or drop one task or all that nobody was given."""
    user = cast(User, request.user)
    study = study_to_lead(user, slug)
    do = request.POST.get("do")
    if do in ("mask", "unmask"):
        mask = do == "mask"
        if mask != bool(study.policies.get(MASK_POLICY)):
            study.policies = {**study.policies, MASK_POLICY: True}
            if not mask:
                del study.policies[MASK_POLICY]
            with transaction.atomic():
                study.save(update_fields=["policies"])
                log_event(study, user, "mask_response", before={"masked": not mask}, after={"masked": mask})
        return redirect("annotation:self_naming", study.slug)
    if do != "drop":
        raise Http404
    chosen = set(request.POST.getlist("task"))
    tasks = [one.task for one in self_naming_in(study) if one.task.public_id in chosen and not one.dropped]
    dropped = refused = 0
    for task in tasks:
        task.study = study
        try:
            drop_task(task, by=user)
            dropped += 1
        except StudyRefused:
            refused += 1
    if dropped:
        told = ngettext("%(n)s task is out of the study.", "%(n)s tasks are out of the study.", dropped)
        messages.success(request, told % {"n": dropped})
    if refused:
        told = ngettext(
            "%(n)s task was given to a rater already and stays; mask the words instead.",
            "%(n)s tasks were given to raters already and stay; mask the words instead.",
            refused,
        )
        messages.warning(request, told % {"n": refused})
    return redirect("annotation:self_naming", study.slug)
