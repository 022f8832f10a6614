"""Which rubrics of a workspace do not fit a study and why, and the rubric that a new study begins with."""

from dataclasses import dataclass
from itertools import islice

from django.db.models import Prefetch
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import Criterion, Rubric, Study
from annotation.rubrics.instruction_checks import PREFIX as CHECK_PREFIX
from annotation.rubrics.reviews import PREFIX as REVIEW_PREFIX
from annotation.studies.life_cycle import save_study, settings_of
from annotation.studies.selection import ROLES_OF, candidates, fitting_rubrics, planned_tasks

MOST_LISTED = 30


@dataclass(frozen=True)
class Unfitting:
    """A rubric with which the study cannot be answered, and the reason as a sentence."""

    rubric: Rubric
    reason: str


def unfitting_rubrics(study: Study) -> list[Unfitting]:
    """At most 30 rubrics of the workspace that do not fit, in their newest version.

    Left out are those of single instructions and other studies, and those made by the program for checks and reviews.
    """
    rubrics = (
        Rubric.objects.filter(workspace=study.workspace_id, study=None, instruction=None)
        .exclude(pk__in=fitting_rubrics(study).order_by().values("pk"))
        .exclude(key__startswith=CHECK_PREFIX)
        .exclude(key__startswith=REVIEW_PREFIX)
        .select_related("benchmark", "category__benchmark")
        .prefetch_related(Prefetch("criteria", Criterion.objects.only("role", "rubric")))
        .order_by("key", "-version")
    )
    newest: dict[str, Rubric] = {}
    for rubric in rubrics:
        newest.setdefault(rubric.key, rubric)
    return [Unfitting(rubric, _reason(study, rubric)) for rubric in islice(newest.values(), MOST_LISTED)]


def _reason(study: Study, rubric: Rubric) -> str:
    owner = rubric.benchmark or (rubric.category.benchmark if rubric.category else None)
    if owner is not None and owner.pk != study.benchmark_id:
        return _("It belongs to another benchmark, %(benchmark)s.") % {"benchmark": owner.name}
    wanted = ROLES_OF.get(Study.Kind(study.kind), set())
    roles = {Criterion.Role(one.role) for one in rubric.criteria.all()}
    if not roles:
        return _("It has no questions.")
    if not roles & wanted:
        return _("Its questions are of another kind (%(has)s); a study of the kind “%(kind)s” needs %(wanted)s.") % {
            "has": ", ".join(sorted(str(role.label) for role in roles)),
            "wanted": ", ".join(sorted(str(Criterion.Role(role).label) for role in wanted)),
            "kind": study.get_kind_display(),
        }
    return _("It was made for another study.")


def begin_with_rubric(study: Study, *, by: User | None) -> None:
    """Choose a rubric for a new draft that would have no tasks without one."""
    rubric = first_rubric(study)
    if rubric is not None:
        before = settings_of(study)
        study.rubric = rubric
        save_study(study, by=by, before=before)


def first_rubric(study: Study) -> Rubric | None:
    """The rubric with which a new study has tasks: none where instructions have rubrics of their own, else one that fits.

    Of several that fit, the first by key in its newest version.
    """
    if study.kind == Study.Kind.REVIEW or planned_tasks(study).tasks or not candidates(study):
        return None
    return fitting_rubrics(study).filter(study=None).first()
