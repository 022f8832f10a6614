"""Keep studies: duplicate one as a draft, and archive one so that lists no longer show it."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import Criterion, Rubric, Study
from annotation.policies.policies import choose, chosen_by_lead
from annotation.questionnaires.asking import copy_questionnaires
from annotation.rubrics.from_table import own_key
from annotation.rubrics.library import CRITERION_FIELDS
from annotation.studies.life_cycle import StudyRefused, create_study, log_event

COPY_OF = {"en": "{name} (copy)", "zh-hans": "{name}（副本）"}
LONGEST_NAME = 150
NOT_COPIED = ("dropped", "clusters")
"""Policies that speak of the study's own tasks."""


def duplicate_study(study: Study, *, by: User) -> Study:
    """Make a draft with the settings, rubric, selection, texts and questionnaires of a study, without its raters, tasks and
    answers.

    A rubric of the study's own is copied. Raises StudyRefused.
    """
    names = {
        language: COPY_OF.get(language, COPY_OF["en"]).format(name=name[: LONGEST_NAME - 10])
        for language, name in study.names.items()
    }
    with transaction.atomic():
        made = create_study(
            workspace=study.workspace,
            names=names or {"en": COPY_OF["en"].format(name=study.slug)},
            kind=study.kind,
            benchmark=study.benchmark,
            by=by,
        )
        made.experiment, made.guideline = study.experiment, study.guideline
        made.rubric = _own_copy(study.rubric, made) if study.rubric else None
        chosen = {name: value for name, value in chosen_by_lead(study).items() if name not in NOT_COPIED}
        choose(made, **chosen)
        made.save()
        copy_questionnaires(study, made, by=by)
        log_event(made, by, "duplicate_study", after={"of": study.slug})
    return made


def _own_copy(rubric: Rubric, study: Study) -> Rubric:
    """The rubric itself if it is of the library, else a copy of its own for the study."""
    if rubric.study_id is None:
        return rubric
    copy = Rubric.objects.create(
        workspace_id=study.workspace_id, study=study, key=own_key(study), names=study.names, authored=rubric.authored
    )
    Criterion.objects.bulk_create(
        Criterion(rubric=copy, **{name: getattr(one, name) for name in CRITERION_FIELDS})
        for one in rubric.criteria.all()
    )
    return copy


def archive_study(study: Study, *, by: User) -> None:
    """Hide the study from lists; its results stay readable. Raises StudyRefused for an open one."""
    with transaction.atomic():
        current = Study.objects.select_for_update().get(pk=study.pk)
        if current.status == Study.Status.OPEN:
            raise StudyRefused(_("The study is open. Pause or close it before you archive it."))
        if current.archived_at is None:
            Study.objects.filter(pk=study.pk).update(archived_at=timezone.now())
            log_event(study, by, "archive_study")
    study.refresh_from_db(fields=["archived_at"])


def restore_study(study: Study, *, by: User) -> None:
    """Show an archived study in lists again."""
    with transaction.atomic():
        if Study.objects.filter(pk=study.pk, archived_at__isnull=False).update(archived_at=None):
            log_event(study, by, "restore_study")
    study.archived_at = None
