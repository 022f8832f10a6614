"""The life cycle of a drift monitor: a fixed set of tasks that a judge answers repeatedly. Rows store when it is due."""

import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TypedDict

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils.translation import gettext

from accounts.models import Event, User
from annotation.models import Assignment, Study, Task
from core.background import send_after_commit
from core.clock import Clock
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.webhooks.events import EventName, announce_of_study
from judging.methods.registry import METHODS
from judging.models import DriftBaseline, Judge, JudgeRun, PlannedItem, Watch
from judging.runs.life_cycle import start_run
from judging.runs.planning.plan import BATCH
from judging.runs.planning.requirements import MethodLacks, check_requirements
from judging.runs.queue import ATTEMPTS

USUAL_SIZE = 200
LONGEST_PAUSE = 24 * 366
LARGEST = 100_000
OPEN = (JudgeRun.Status.PLANNED, JudgeRun.Status.RUNNING)


class WatchRefused(UserError):
    """The monitor cannot be created or started; the sentence says what to do."""


def create_watch(
    *,
    judge: Judge,
    study: Study,
    every_hours: int,
    clock: Clock,
    size: int = USUAL_SIZE,
    seed: int = 0,
    budget_money: Decimal | None = None,
    user: User | None = None,
) -> Watch:
    """Create a monitor over `size` tasks drawn from those of the study that the judge can answer, rated tasks first.

    The first round is due at once. Raises WatchRefused.
    """
    if not 1 <= every_hours <= LONGEST_PAUSE:
        raise WatchRefused(
            gettext("Rounds come every 1 to %(most)d hours; %(asked)d is not among them.")
            % {"most": LONGEST_PAUSE, "asked": every_hours}
        )
    if size < 2:
        raise WatchRefused(gettext("A watch needs two tasks at least, since drift is told over instructions."))
    tasks = gold_set(judge, study, size, seed)
    try:
        with transaction.atomic():
            watch = Watch.objects.create(
                judge=judge,
                study=study,
                tasks=tasks,
                every_hours=every_hours,
                next_at=clock(),
                budget_money=budget_money,
                created_by=user,
            )
            _log(watch, "created", user, {"tasks": len(tasks), "every_hours": every_hours})
    except IntegrityError as error:
        raise WatchRefused(
            gettext("%(judge)s is watched on study %(study)s already; go on with that watch instead.")
            % {"judge": judge, "study": study.slug}
        ) from error
    return watch


def gold_set(judge: Judge, study: Study, size: int, seed: int) -> list[int]:
    """Return the pks of the monitor's tasks, ascending: rated tasks first, drawn with the seed. Raises WatchRefused."""
    kind = METHODS[judge.method].task_kind
    tasks = Task.objects.filter(study=study, kind=kind, gold__isnull=True).order_by("pk")
    pks = list(tasks.values_list("pk", flat=True))
    if tasks.values("response_a__instruction").distinct().count() < 2:
        raise WatchRefused(
            gettext(
                "Study %(study)s has fewer than two instructions with tasks for %(judge)s, which judges this: %(kind)s. "
                "Choose another study or another judge."
            )
            % {"study": study.slug, "judge": judge, "kind": Task.Kind(kind).label.lower()}
        )
    try:
        check_requirements([judge, *judge.jurors.all()], study, tasks)
    except MethodLacks as error:
        raise WatchRefused(for_reader(error)) from error
    rated = set(Assignment.objects.filter(task__in=pks).answered().of_people().values_list("task_id", flat=True))
    draws = random.Random(f"{seed} watch")
    order = sorted(pks, key=lambda pk: (pk not in rated, draws.random()))
    return sorted(order[:size])


def due(clock: Clock) -> list[Watch]:
    return list(
        Watch.objects.filter(active=True, next_at__lte=clock())
        .select_related("judge__rater", "study")
        .order_by("next_at")
    )


def start_due(watch: Watch, *, clock: Clock) -> JudgeRun | None:
    """Start the round that is due; None if another worker was faster or the last round is still running.

    Rounds that were missed while nothing was running are not made up for: the next round is due one full interval from
    now.
    """
    taken = Watch.objects.filter(pk=watch.pk, active=True, next_at=watch.next_at).update(
        next_at=clock() + timedelta(hours=watch.every_hours)
    )
    if not taken or watch.rounds.filter(status__in=OPEN).exists():
        return None
    return start_round(watch, clock=clock)


def start_round(watch: Watch, *, clock: Clock, user: User | None = None) -> JudgeRun:
    """Ask every task again without stored replies. Raises WatchRefused while a round is running."""
    with transaction.atomic():
        Watch.objects.select_for_update().get(pk=watch.pk)
        if watch.rounds.filter(status__in=OPEN).exists():
            raise WatchRefused(gettext("A round of this watch is going on; wait until it is over, or cancel it."))
        there = set(Task.objects.filter(pk__in=watch.tasks).values_list("pk", flat=True))
        tasks = [pk for pk in watch.tasks if pk in there]
        if not tasks:
            raise WatchRefused(gettext("None of this watch's tasks is there any more; make a new watch."))
        run = JudgeRun.objects.create(
            judge=watch.judge,
            study=watch.study,
            watch=watch,
            budget_money=watch.budget_money,
            created_by=user,
            manifest={"settings": _settings(watch.judge)},
        )
        items = _items(run, tasks)
        PlannedItem.objects.bulk_create(items, batch_size=BATCH)
        start_run(run, clock=clock, user=user)
    return run


def ask_now(watch: Watch, *, clock: Clock, user: User | None = None) -> JudgeRun:
    """Start a round and hand it to a worker. Raises WatchRefused while one is running."""
    run = start_round(watch, clock=clock, user=user)
    send_after_commit("judging.work", run.pk, kept=False)
    return run


class RoundSettings(TypedDict):
    """The settings of a round as its manifest keeps them."""

    attempts: int
    limit: None
    concurrency: None
    reuse: bool
    only_rated: bool
    jurors: list[int]
    both_orders: bool
    repeats: int
    combine: str


def _settings(judge: Judge) -> RoundSettings:
    """Return the settings of a round; a panel keeps its own."""
    panel = judge.parameters if "jurors" in judge.parameters else {}
    return {
        "attempts": ATTEMPTS,
        "limit": None,
        "concurrency": None,
        "reuse": False,
        "only_rated": False,
        "jurors": panel.get("jurors", [judge.pk]),
        "both_orders": bool(panel.get("both_orders")),
        "repeats": int(panel.get("repeats", 1)),
        "combine": str(panel.get("combine", "")),
    }


def _items(run: JudgeRun, tasks: Sequence[int]) -> list[PlannedItem]:
    """Number the answers as repeats after all earlier answers of the judges, so that no result takes them for first
    answers.

    A pair is shown in the same order in every round, so that rounds differ only in time.
    """
    settings = run.manifest["settings"]
    orders, repeats = 2 if settings["both_orders"] else 1, settings["repeats"]
    pair = METHODS[run.judge.method].task_kind == Task.Kind.PAIR
    first = _next_repeat(settings["jurors"], tasks, orders)
    rows: list[PlannedItem] = []
    for pk in tasks:
        shown = random.Random(f"{pk} watch").choice("ab") if pair else "a"
        for juror in range(len(settings["jurors"])):
            for repeat in range(repeats):
                for turn in range(orders):
                    side = shown if turn == 0 else "b" if shown == "a" else "a"
                    rows.append(
                        PlannedItem(
                            run=run,
                            task_id=pk,
                            shown_first=side,
                            juror=juror,
                            repeat=first + orders * repeat + turn,
                            position=len(rows),
                        )
                    )
    return rows


def _next_repeat(jurors: Sequence[int], tasks: Sequence[int], orders: int) -> int:
    """Return the first number that no answer and no planned item of these judges has: at least 1, a multiple of
    `orders`.
    """
    raters = Judge.objects.filter(pk__in=jurors).values("rater")
    given = Assignment.objects.filter(rater__in=raters, task__in=tasks).aggregate(last=Max("repeat"))["last"]
    judges = Judge.objects.filter(pk__in=jurors)
    runs = JudgeRun.objects.filter(judge__in=judges) | JudgeRun.objects.filter(judge__jurors__in=judges)
    planned = PlannedItem.objects.filter(run__in=runs.values("pk"), task__in=tasks).aggregate(last=Max("repeat"))[
        "last"
    ]
    after = max(given or 0, planned or 0) + 1
    return -(-after // orders) * orders


def set_active(watch: Watch, active: bool, *, clock: Clock, user: User | None = None) -> None:
    """Pause or resume; after resuming, an overdue round is due at once."""
    changed = Watch.objects.filter(pk=watch.pk).exclude(active=active).update(active=active)
    watch.refresh_from_db()
    if changed:
        _log(watch, "resumed" if active else "paused", user, {"next_at": watch.next_at.isoformat()})


def change_terms(
    watch: Watch, *, every_hours: int, budget_money: Decimal | None, clock: Clock, user: User | None = None
) -> None:
    """Change the interval and the budget of later rounds; the tasks stay. A shorter interval takes effect now."""
    before = {"every_hours": watch.every_hours, "budget_money": str(watch.budget_money)}
    watch.every_hours, watch.budget_money = every_hours, budget_money
    watch.next_at = min(watch.next_at, clock() + timedelta(hours=every_hours))
    watch.save(update_fields=["every_hours", "budget_money", "next_at"])
    after = {"every_hours": every_hours, "budget_money": str(budget_money)}
    if after != before:
        _log(watch, "changed", user, {"before": before, **after})


def _log(watch: Watch, verb: str, user: User | None, after: Mapping[str, object]) -> None:
    Event.objects.create(
        workspace_id=watch.study.workspace_id,
        actor=user,
        verb=f"watch {verb}"[:50],
        object_type="judging.Watch",
        object_id=watch.public_id,
        after=dict(after),
    )


def log_flag(watch: Watch, run: JudgeRun, number: int) -> None:
    """Record the event of a flagged round, once per round."""
    known = Event.objects.filter(object_type="judging.Watch", object_id=watch.public_id, verb="watch flagged")
    if not any((event.after or {}).get("run") == run.public_id for event in known):
        with transaction.atomic():
            _log(watch, "flagged", None, {"run": run.public_id, "round": number})
            about = {"monitor": {"id": watch.public_id}, "run": {"id": run.public_id}, "round": number}
            announce_of_study(watch.study, EventName.DRIFT_FOUND, about)


def set_baseline(watch: Watch, run: JudgeRun, *, user: User | None = None) -> DriftBaseline:
    """Compare later rounds with this one, the latest evaluated round; earlier checks stay as they are.

    Setting it again changes nothing. Raises WatchRefused if the round is not the latest, or its check found no change.
    """
    with transaction.atomic():
        Watch.objects.select_for_update().get(pk=watch.pk)
        finished = watch.rounds.filter(status=JudgeRun.Status.FINISHED)
        latest = finished.order_by("-created_at", "-pk").first()
        if latest is None or latest.pk != run.pk:
            raise WatchRefused(
                gettext(
                    "A later round has finished since. Look at its check first; only the latest round can become the "
                    "baseline."
                )
            )
        check = latest.manifest.get("watch")
        if not check or not check["flagged"]:
            raise WatchRefused(gettext("The check of this round found no change, so the present baseline stays."))
        made, new = DriftBaseline.objects.get_or_create(
            watch=watch, run=latest, defaults={"flagged": True, "created_by": user}
        )
        if new:
            _log(watch, "baseline changed", user, {"run": latest.public_id, "round": check["round"]})
    return made
