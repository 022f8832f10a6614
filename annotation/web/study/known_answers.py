"""Pages on which a lead marks tasks with a known answer: gold items, practice and qualification tasks."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from accounts.permissions import results_page
from annotation.assignment.attention_checks import PURPOSES as MARKED, check_tasks, mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, CheckOutcome, Criterion, Rater, Seat, Study, Task
from annotation.policies.policies import CONTROL, GOLD, Policies
from annotation.policies.quality_checks import BEFORE_RATING, QUALIFICATION, TRAINING
from annotation.rubrics.scales import number_text
from annotation.studies.access import study_led_by
from annotation.studies.life_cycle import LARGE, StudyRefused, is_large, log_event, make_tasks
from annotation.studies.provenance import provenance_of
from annotation.texts.rendering import render_text
from annotation.web.rating.screens import part_shown
from annotation.web.study.texts import texts_of
from core.errors import UserError
from core.messages.localized import localized
from core.messages.rendering import for_reader

PURPOSES = [
    (GOLD, gettext_lazy("Gold item: mixed with the other tasks")),
    ("training", gettext_lazy("Practice: comes first, with feedback")),
    ("qualification", gettext_lazy("Qualification: decides who may take part")),
]
FOUND_A_PAGE = 30


class KnownAnswerForm(forms.Form):
    """The lowest and highest acceptable answer to each question. Questions left empty are not checked."""

    purpose = forms.ChoiceField(choices=PURPOSES, initial=GOLD, label=gettext_lazy("Purpose"))
    why_en = forms.CharField(
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3}),
        label=gettext_lazy("Explanation in English"),
        help_text=gettext_lazy("Shown as feedback on practice tasks."),
    )
    why_zh = forms.CharField(
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3}),
        label=gettext_lazy("Explanation in Chinese"),
    )

    def __init__(self, criteria: list[Criterion], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.criteria = criteria
        for criterion in criteria:
            for end, label in (("low", _("at least")), ("high", _("at most"))):
                self.fields[f"{end}-{criterion.key}"] = _end_field(criterion, label)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for criterion in self.criteria:
            low, high = self._ends(criterion)
            if low is not None and high is not None and low > high:
                self.add_error(f"high-{criterion.key}", _("The highest value is lower than the lowest value."))
        if not self.errors and not self.expected():
            raise forms.ValidationError(_("Enter the expected answer to at least one question."))
        return data

    def _ends(self, criterion: Criterion) -> tuple[float | None, float | None]:
        texts = [self.cleaned_data.get(f"{end}-{criterion.key}") for end in ("low", "high")]
        low, high = (float(text) if text not in (None, "") else None for text in texts)
        return low, high

    def expected(self) -> dict[str, float | list[float]]:
        found: dict[str, float | list[float]] = {}
        for criterion in self.criteria:
            low, high = self._ends(criterion)
            if low is None and high is None:
                continue
            bottom, top = criterion.ends
            ends = [bottom if low is None else low, top if high is None else high]
            found[criterion.key] = ends[0] if ends[0] == ends[1] else ends
        return found

    def why(self) -> dict[str, str]:
        return texts_of(self.cleaned_data, "why")

    def rows(self) -> list[tuple[Criterion, forms.BoundField, forms.BoundField]]:
        return [(one, self[f"low-{one.key}"], self[f"high-{one.key}"]) for one in self.criteria]


def _end_field(criterion: Criterion, label: str) -> forms.Field:
    if criterion.levels:
        choices = [("", "–")] + [
            (number_text(float(level["value"])), localized(level.get("label", {})) or str(level["key"]))
            for level in sorted(criterion.levels, key=lambda level: float(level["value"]))
        ]
        return forms.ChoiceField(choices=choices, required=False, label=label)
    low, high = criterion.ends
    return forms.FloatField(min_value=low, max_value=high, required=False, label=label)


def marked_tasks(study: Study) -> QuerySet[Task]:
    """Tasks with a known answer, including generated attention checks, and how raters did on them."""
    return (
        study.tasks.filter(gold__purpose__in=MARKED)
        .select_related("response_a__instruction__category")
        .annotate(
            given=Count("assignments__check_outcome"),
            passed=Count("assignments__check_outcome", filter=Q(assignments__check_outcome__passed=True)),
        )
        .order_by("gold__purpose", "position", "pk")
    )


def _open_to_mark(study: Study) -> QuerySet[Task]:
    """Ordinary tasks that no rater has been given. Once there are slots, they are among the tasks with a free one."""
    given = Assignment.objects.filter(task=OuterRef("pk"), rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT])
    tasks = study.tasks.filter(~Exists(given), gold__isnull=True)
    if study.seats.exists():
        free = Seat.objects.filter(study=study, state=Seat.State.FREE)
        tasks = tasks.filter(pk__in=free.order_by().values("task"))
    return tasks


def _purpose_names() -> dict[str, str]:
    return {
        GOLD: _("Gold item"),
        CONTROL: _("Attention check"),
        "training": _("Practice"),
        "qualification": _("Qualification"),
    }


def _after(task: Task) -> Q:
    """The tasks that come after this one in the order of the list."""
    return Q(position__gt=task.position) | Q(position=task.position, pk__gt=task.pk)


def _purpose_wanted(study: Study) -> str:
    """What the study still needs marked tasks for: its qualification, its practice, or else gold items."""
    policies = Policies.of(study)
    rule = policies.qualification
    if rule is not None and check_tasks(study, QUALIFICATION).count() < rule.of:
        return QUALIFICATION
    return TRAINING if policies.training and not check_tasks(study, TRAINING).exists() else GOLD


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def known_answers(request: HttpRequest, slug: str) -> HttpResponse:
    """List tasks with a known answer and search for tasks to mark. POST creates a draft's tasks."""
    study = study_led_by(cast(User, request.user), slug)
    if request.method == "POST":
        return _make_tasks_to_choose(request, study)
    sought = request.GET.get("q", "").strip()
    open_to_mark = _open_to_mark(study)
    if sought:
        open_to_mark = open_to_mark.filter(
            Q(response_a__instruction__external_id__icontains=sought)
            | Q(response_a__instruction__category__key__icontains=sought)
            | Q(response_a__model__name__icontains=sought)
        )
    names = _purpose_names()
    marked = [(names.get((task.gold or {}).get("purpose", ""), ""), task) for task in marked_tasks(study)[:500]]
    context = {
        "study": study,
        "can_lead": True,
        "provenance": provenance_of(study),
        "marked": marked,
        "page": Paginator(
            open_to_mark.select_related(
                "response_a__instruction__category", "response_a__model", "response_b__model"
            ).order_by("position", "pk"),
            FOUND_A_PAGE,
        ).get_page(request.GET.get("page")),
        "sought": sought,
        "has_tasks": study.tasks.exists(),
    }
    return render(request, "annotation/known_answers.html", context)


def _make_tasks_to_choose(request: HttpRequest, study: Study) -> HttpResponse:
    if study.status == Study.Status.DRAFT:
        if is_large(study):
            messages.info(request, _("Creating more than %(n)s tasks takes a while.") % {"n": LARGE})
        if not make_tasks(study):
            messages.error(request, _("Your choices do not give any tasks yet. Choose responses and a rubric first."))
    return redirect("annotation:known_answers", study)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def mark_task(request: HttpRequest, slug: str, task_id: str) -> HttpResponse:
    """Show one task with its text, and a form for the expected answers and the purpose."""
    study = study_led_by(cast(User, request.user), slug)
    tasks = study.tasks.select_related("response_a__instruction", "response_b", "answer_rubric", "study")
    task = get_object_or_404(tasks, public_id=task_id)
    criteria = list(task.answer_rubric.criteria.all())
    initial = {"purpose": _purpose_wanted(study)}
    form = KnownAnswerForm(criteria, request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            mark_gold(task, form.expected(), purpose=form.cleaned_data["purpose"], why=form.why())
        except UserError as problem:
            form.add_error(None, str(problem))
        else:
            log_event(
                study,
                cast(User, request.user),
                "mark_known_answer",
                about=task,
                after={"task": task.key, **(task.gold or {})},
            )
            messages.success(request, _("The task has been marked."))
            following = _open_to_mark(study).filter(_after(task)).order_by("position", "pk").first()
            if request.POST.get("do") == "next" and following is not None:
                return redirect("annotation:mark_task", study, following.public_id)
            return redirect("annotation:known_answers", study)
    context = {
        "study": study,
        "can_lead": True,
        "task": task,
        "form": form,
        "instruction": render_text(task.response_a.instruction.text),
        "responses": [
            render_text((one.text or "")[part_shown(task)])
            for one in (task.response_a, task.response_b)
            if one is not None
        ],
    }
    return render(request, "annotation/mark_task.html", context, status=422 if form.errors else 200)


@results_page
@require_POST
def unmark_task(request: HttpRequest, slug: str, task_id: str) -> HttpResponse:
    """Remove the known answer from a task that no rater has been given."""
    study = study_led_by(cast(User, request.user), slug)
    task = get_object_or_404(study.tasks.filter(gold__isnull=False), public_id=task_id)
    try:
        unmark(task, by=cast(User, request.user))
    except StudyRefused as problem:
        messages.error(request, for_reader(problem))
    return redirect("annotation:known_answers", study)


def unmark(task: Task, *, by: User) -> None:
    """Remove the known answer. In a launched study, create the task's slots. Raises StudyRefused."""
    if Assignment.objects.filter(task=task).exists() or CheckOutcome.objects.filter(assignment__task=task).exists():
        raise StudyRefused(
            _("The task cannot be changed because a rater has already been given it as a quality check.")
        )
    before = task.gold
    if before and before.get("purpose") not in (GOLD, *BEFORE_RATING):
        raise StudyRefused(_("An attention check cannot become an ordinary task."))
    with transaction.atomic():
        task.gold = None
        task.save(update_fields=["gold"])
        log_event(task.study, by, "unmark_known_answer", about=task, before={"task": task.key, **(before or {})})
        if task.study.status != Study.Status.DRAFT:
            make_seats(task.study)
