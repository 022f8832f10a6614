"""The life cycle of a study: create a draft, prepare tasks and slots, open, pause and close. Every step is logged."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from accounts.models import Event, User, Workspace
from annotation.assignment.attention_checks import check_tasks, make_controls
from annotation.assignment.leases import free_seats
from annotation.assignment.new_slots import make_seats, overlap_of, turns_of
from annotation.masking.scan import SELF_NAMING, scan_study, undecided
from annotation.models import Assignment, Flag, Rater, Seat, StoppingQuestion, Study, Task
from annotation.policies.policies import NO_REFUSAL, BadPolicy, Policies, change_policies, chosen_by_lead, drop, stored
from annotation.studies.selection import PlannedTask, planned_tasks, task_row
from annotation.studies.stopping import StoppingRefused, stated_question
from core.db.public_ids import new_public_id
from core.errors import UserError
from core.messages.message import Wording, stored as message_columns
from generation.models import Benchmark
from generation.webhooks.events import EventName, announce_of_study

BATCH = 2000
LARGE = 2000
"""Number of tasks above which a worker prepares the study."""
CHANGES: dict[str, tuple[str, ...]] = {
    Study.Status.OPEN: (Study.Status.PAUSED, Study.Status.CLOSED),
    Study.Status.PAUSED: (Study.Status.OPEN, Study.Status.CLOSED),
    Study.Status.CLOSED: (Study.Status.OPEN,),
}
ONE_NAMES_ITSELF = Wording(
    "study.one_names_itself",
    "in %(n)s task a response says which model wrote it. Choose whether to mask the words, to drop the task, or to leave "
    "it, then launch again",
)
SOME_NAME_THEMSELVES = Wording(
    "study.some_name_themselves",
    "in %(n)s tasks a response says which model wrote it. Choose whether to mask the words, to drop the tasks, or to "
    "leave them, then launch again",
)


class StudyRefused(UserError):
    """The step is not possible; the message says why and what to do."""


def log_event(
    study: Study, by: User | None, verb: str, *, before: Any = None, after: Any = None, about: Task | None = None
) -> Event:
    """Log a lead's action on the study or on one of its tasks."""
    return Event.objects.create(
        workspace_id=study.workspace_id,
        actor=by,
        verb=verb,
        object_type="task" if about else "study",
        object_id=about.public_id if about else study.public_id,
        before=before,
        after=after,
    )


def create_study(
    *, workspace: Workspace, names: Mapping[str, str], kind: str, benchmark: Benchmark | None, by: User | None
) -> Study:
    """Create a draft whose slug is unique in its workspace; its seed is derived from its public id."""
    stem = slugify(next((name for name in names.values() if slugify(name)), "")) or "study"
    for number in range(1, 100):
        slug = stem[:90] if number == 1 else f"{stem[:90]}-{number}"
        if Study.objects.filter(workspace=workspace, slug=slug).exists():
            continue
        public_id = new_public_id()
        try:
            with transaction.atomic():
                study = Study.objects.create(
                    workspace=workspace,
                    slug=slug,
                    names=dict(names),
                    kind=kind,
                    benchmark=benchmark,
                    created_by=by,
                    public_id=public_id,
                    seed=seed_from(public_id),
                    policies=stored(overlap=3, order="spread", hints="hidden"),
                )
                log_event(study, by, "create_study", after={"kind": kind, "slug": slug})
        except IntegrityError:
            continue
        return study
    raise StudyRefused(_("Every address based on this name is already in use. Choose another name for the study."))


def seed_from(public_id: str) -> int:
    return int.from_bytes(public_id.encode()[:7], "big")


def save_study(study: Study, *, by: User | None, before: Mapping[str, Any]) -> None:
    """Save an edited study, log what changed, and delete a draft's tasks that are no longer chosen."""
    after = settings_of(study)
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    if not changed:
        return
    with transaction.atomic():
        study.save()
        log_event(
            study,
            by,
            "change_study",
            before={key: before.get(key) for key in sorted(changed)},
            after={key: after.get(key) for key in sorted(changed)},
        )
    if study.status == Study.Status.DRAFT and study.tasks.exists() and not Policies.of(study).launching:
        drop_unchosen(study)


def settings_of(study: Study) -> dict[str, Any]:
    """The settings that a lead can change, as plain values for the log."""
    return {
        "names": dict(study.names),
        "kind": study.kind,
        "benchmark": study.benchmark.slug if study.benchmark else "",
        "rubric": str(study.rubric) if study.rubric else "",
        "guideline": str(study.guideline) if study.guideline else "",
        **chosen_by_lead(study),
    }


def check_study(study: Study) -> None:
    """Raise StudyRefused if the study's settings contradict each other."""
    try:
        policies = Policies.of(study).checked()
    except BadPolicy as problem:
        raise StudyRefused(*problem.args) from problem
    if policies.training and not check_tasks(study, "training").exists():
        raise StudyRefused(
            _(
                "The study starts with practice tasks, but no task is marked as practice. Mark some under “Known "
                "answers”."
            )
        )
    if policies.qualification and not check_tasks(study, "qualification").exists():
        raise StudyRefused(
            _("The study has a qualification, but no task is marked for it. Mark some under “Known answers”.")
        )


def make_tasks(study: Study) -> int:
    """Create rows for the chosen tasks that do not exist yet. Return the number of tasks."""
    planned = planned_tasks(study)
    for start in range(0, len(planned), BATCH):
        rows = (task_row(study, one, start + place) for place, one in enumerate(planned.tasks[start : start + BATCH]))
        Task.objects.bulk_create(rows, batch_size=500, ignore_conflicts=True)
    return study.tasks.filter(gold__isnull=True).count()


def drop_unchosen(study: Study) -> int:
    """Delete a draft's tasks that are no longer chosen, unless they have a known answer or an assignment."""
    wanted = {one.key: one for one in planned_tasks(study).tasks}
    gone = [task.pk for task in study.tasks.filter(gold__isnull=True, assignments=None) if _outdated(task, wanted)]
    for start in range(0, len(gone), 500):
        Task.objects.filter(pk__in=gone[start : start + 500]).delete()
    return len(gone)


def _outdated(task: Task, wanted: Mapping[str, PlannedTask]) -> bool:
    planned = wanted.get(task.key)
    return planned is None or planned.answer_rubric != task.answer_rubric_id


def is_large(study: Study) -> bool:
    """Whether the study is so large that a worker prepares it."""
    return len(planned_tasks(study)) > LARGE


def request_launch(study: Study, *, by: User | None) -> None:
    """Mark the study to be prepared and opened. Raises StudyRefused."""
    if study.status != Study.Status.DRAFT:
        raise StudyRefused(_("The study has already been launched."))
    wanted = len(planned_tasks(study))
    if not wanted:
        raise StudyRefused(
            _(
                "Your choices do not give any tasks. Choose responses that have a text and a rubric that fits "
                "this type of study."
            )
        )
    check_study(study)
    with transaction.atomic():
        change_policies(study, launching=wanted, **NO_REFUSAL)
        log_event(study, by, "launch_study", after={"tasks": wanted, "overlap": overlap_of(study)})


def prepare_and_open(study: Study) -> None:
    """Create the tasks, slots and attention checks of a launched draft and open it. Idempotent; a refusal is stored."""
    if study.status != Study.Status.DRAFT or not Policies.of(study).launching:
        return
    try:
        make_tasks(study)
        check_self_naming(study)
        missing = (Policies.of(study).controls or 0) - check_tasks(study, "control").count()
        if missing > 0:
            make_controls(study, missing)
        # A draft may still have a task that is no longer chosen, such as one that a judge has answered.
        keys = {one.key for one in planned_tasks(study).tasks}
        question = stated_question(study, keys=keys)
        make_seats(study, keys=keys, turns=turns_of(question))
    except (BadPolicy, StoppingRefused, StudyRefused) as problem:
        _end_launch(study, refused=str(problem))
        return
    _end_launch(study, question=question)


def check_self_naming(study: Study) -> None:
    """Scan the study's texts. Raises StudyRefused if self-revealing responses await a decision."""
    scan_study(study)
    waiting = undecided(study)
    if waiting:
        raise StudyRefused((ONE_NAMES_ITSELF if waiting == 1 else SOME_NAME_THEMSELVES)(n=waiting))


def _end_launch(study: Study, refused: str = "", question: StoppingQuestion | None = None) -> None:
    with transaction.atomic():
        current = Study.objects.select_for_update().get(pk=study.pk)
        if current.status != Study.Status.DRAFT:
            return
        change_policies(current, launching=None, **message_columns("refused", refused))
        if not refused:
            current.status = Study.Status.OPEN
            if question is not None:
                question.save()
            tasks, seats = (current.tasks.filter(gold__isnull=True).count(), Seat.objects.filter(study=current).count())
            log_event(current, None, "study_opened", after={"tasks": tasks, "seats": seats})
        current.save(update_fields=["status"])
    study.refresh_from_db()


def set_status(study: Study, status: str, *, by: User) -> None:
    """Open, pause or close a launched study. Raises StudyRefused."""
    if status not in CHANGES.get(study.status, ()):
        raise StudyRefused(
            _("The study cannot be changed this way in its current state. Reload the page to see the state.")
        )
    before = study.status
    with transaction.atomic():
        if not Study.objects.filter(pk=study.pk, status=before).update(status=status):
            raise StudyRefused(_("Someone else has changed the state of the study. Reload the page to see it."))
        log_event(study, by, f"{status}_study", before={"status": before}, after={"status": status})
        if status == Study.Status.CLOSED:
            announce_of_study(study, EventName.STUDY_FINISHED, {"reason": "closed"})
    study.status = status


def add_overlap(study: Study, tasks: list[Task], more: int, *, by: User) -> int:
    """Create `more` slots for each task, to be assigned next, and return their number.

    Their draw keys are derived from the seed and the task, and follow those that the task has.
    """
    made = 0
    with transaction.atomic():
        seats: list[Seat] = []
        for task in tasks:
            seats.extend(_further_seats(study, task, more))
        made = len(Seat.objects.bulk_create(seats, batch_size=500))
        log_event(
            study, by, "add_overlap", after={"tasks": [task.key for task in tasks][:50], "seats": made, "more": more}
        )
    return made


def _further_seats(study: Study, task: Task, more: int) -> Iterator[Seat]:
    places = set(Seat.objects.filter(task=task).values_list("place", flat=True))
    first = max(places, default=-1) + 1
    for place in range(first, first + more):
        # Low keys put tasks on which raters disagree before tasks that nobody has seen.
        key = Random(f"{study.seed}:{task.pk}:{place}").getrandbits(40)
        yield Seat(study=study, task=task, place=place, draw_key=key)


def drop_task(task: Task, *, by: User | None) -> None:
    """Drop a task that no person was given: delete its free slots. Raises StudyRefused."""
    study = task.study
    with transaction.atomic():
        if Assignment.objects.filter(task=task).exclude(rater__kind=Rater.Kind.JUDGE).exists():
            raise StudyRefused(_("A rater has already been given this task. Mask the words instead."))
        gone, _each = Seat.objects.filter(task=task, state=Seat.State.FREE).delete()
        log_event(study, by, "drop_task", about=task, before={"task": task.key}, after={"seats": gone})
        drop(task)
        if study.status == Study.Status.DRAFT:
            task.delete()
        else:
            Flag.objects.filter(task=task, kind=SELF_NAMING, resolved_at=None).update(resolved_at=timezone.now())


def release_task(task: Task, *, by: User) -> int:
    """Release a task from raters who have it open, and return the number of freed slots."""
    with transaction.atomic():
        held = Seat.objects.filter(task=task, state=Seat.State.HELD).select_for_update().order_by("pk")
        freed = free_seats(list(held.values_list("pk", flat=True)))
        log_event(task.study, by, "release_task", about=task, after={"seats": freed})
    return freed


def release_rater(study: Study, rater: int, *, by: User | None) -> int:
    """Release all open tasks of a rater and return their number."""
    with transaction.atomic():
        held = Seat.objects.filter(study=study, holder=rater, state=Seat.State.HELD).select_for_update()
        freed = free_seats(list(held.order_by("pk").values_list("pk", flat=True)))
        log_event(study, by, "release_rater", after={"rater": rater, "seats": freed})
    return freed
