"""The demonstration that a lead asks for in the browser: made by a worker in the lead's workspace, without accounts.

How far it is, is counted from the rows that it makes, so a worker that dies leaves nothing to be put right.
"""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User, Workspace
from annotation.models import Study
from calibration.fits.store import run_fit
from calibration.management.commands.load_library import load_library
from core.background import send_after_commit
from core.errors import UserError
from core.models import RequestedTask
from generation.models import LanguageModel
from judging.demonstration.making import JUDGE, SLUG, SOURCE
from judging.demonstration.steps import make_ratings, publish_weights, published_fit
from judging.judges.making import create_judge
from judging.models import JudgeRun
from judging.runs.life_cycle import JUDGING, progress_of
from judging.runs.planning.preparation import create_run
from judging.runs.planning.request import RunRequest, Target

TASK = "judging.make_demonstration"


@dataclass(frozen=True)
class DemonstrationState:
    """How far the demonstration of a workspace is; `judged` of `to_judge` responses have a verdict."""

    study: Study | None
    fitted: bool
    run: JudgeRun | None
    judged: int
    to_judge: int
    requested: bool

    @property
    def is_complete(self) -> bool:
        return self.run is not None and self.run.status == JudgeRun.Status.FINISHED

    @property
    def is_under_way(self) -> bool:
        judging = self.run is not None and self.run.status in (JudgeRun.Status.PLANNED, JudgeRun.Status.RUNNING)
        return self.requested or judging

    @property
    def steps_done(self) -> int:
        """Return how many of the three steps are done: ratings, weights, verdicts."""
        return sum((self.study is not None, self.fitted, self.is_complete))


def state_of(workspace: Workspace) -> DemonstrationState:
    study = _study(workspace)
    run = JudgeRun.objects.filter(study=study, judge__rater__label=JUDGE).order_by("pk").first() if study else None
    progress = progress_of(run, clock=timezone.now) if run else None
    return DemonstrationState(
        study=study,
        fitted=study is not None and published_fit(workspace) is not None,
        run=run,
        judged=progress.settled if progress else 0,
        to_judge=progress.total if progress else 0,
        requested=_is_requested(workspace),
    )


def ask_for_demonstration(workspace: Workspace, *, by: User) -> None:
    """Ask a worker for the demonstration; asking again changes nothing. Raises UserError."""
    if Study.objects.filter(workspace=workspace, slug=SLUG).exclude(source=SOURCE).exists():
        raise UserError(
            _(
                "This workspace has a study of yours called %(slug)s, which is the name of the demonstration. Delete "
                "that study first."
            )
            % {"slug": SLUG}
        )
    state = state_of(workspace)
    if not state.is_complete and not state.is_under_way:
        send_after_commit(TASK, workspace.pk, by.pk)


def make_demonstration(workspace: Workspace, *, lead: User) -> None:
    """Make what is missing of the demonstration, and hand its judge's run over to the workers of runs."""
    with transaction.atomic():
        load_library(Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk), by=lead)
    study, _answers = make_ratings(workspace, lead=lead)
    if study.source != SOURCE:
        return
    if published_fit(workspace) is None:
        run_fit(study=study, user=lead)
        publish_weights(workspace)
    run = JudgeRun.objects.filter(study=study, judge__rater__label=JUDGE).order_by("pk").first()
    if run is None:
        model = LanguageModel.objects.get(workspace=workspace, name=JUDGE)
        judge = create_judge(model=model, name=JUDGE)
        run = create_run(RunRequest(Target(study=study), (judge,), canaries=True, user=lead))
    if run.status not in (JudgeRun.Status.FINISHED, JudgeRun.Status.CANCELLED):
        JUDGING.start(run, clock=timezone.now, user=lead)
        JUDGING.hand_over(run)


def _study(workspace: Workspace) -> Study | None:
    return Study.objects.filter(workspace=workspace, slug=SLUG, source=SOURCE).first()


def _is_requested(workspace: Workspace) -> bool:
    asked = RequestedTask.objects.filter(task=TASK).values_list("arguments", flat=True)
    return any(arguments[0] == workspace.pk for arguments in asked)
