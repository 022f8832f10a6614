"""Make a study from names, as a command and the API give them: the settings of the study form, without the form."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User, Workspace
from annotation.models import Rubric, Study
from annotation.policies.policies import MOST_OVERLAP, ORDERS, Policies, choose
from annotation.policies.stopping import STOPPING_QUESTIONS, USUAL_ERROR, StoppingRule
from annotation.questionnaires.asking import AFTER, BEFORE, save_questions
from annotation.questionnaires.questions import read_questions
from annotation.studies.life_cycle import (
    StudyRefused,
    create_study,
    is_large,
    prepare_and_open,
    request_launch,
    save_study,
    settings_of,
)
from annotation.studies.selection import judges_to_review, planned_tasks, tags_of, with_roles
from core.background import send_after_commit
from core.errors import UserError
from generation.models import MAIN_EXPERIMENT, Benchmark, LanguageModel

PAIRS = ("all", "baselines", "even")
SAMPLES = ("first", "all")
SELF_NAMING = {"": {}, "mask": {"mask_self_naming": True}, "keep": {"keep_self_naming": True}}
"""What becomes of responses that say which model wrote them; with "" a lead decides before the launch."""
LARGEST_SEED = 2**56
LONGEST_EXPERIMENT = 50

LOAD_LIBRARY = "Load the library, which has rubrics for pairs: the command load_library, or Library in the browser."


@dataclass(frozen=True)
class WantedStudy:
    """A study to be made. Empty choices mean all, or each instruction's own rubric; `instructions` 0 means all.

    Categories, models, baselines and judges are named by their keys and names, the rubric by its key. Instructions
    with any of the `tags` count. `questions_before` and `questions_after` are the questions that raters answer about
    themselves, as annotation/questionnaires/questions.py reads them. Pairs are those of all models, of the `baselines` with
    every other model, or `pairs_wanted` drawn evenly. `stop` is the question whose answer says when labelling may stop, of
    STOPPING_QUESTIONS, with its threshold of agreement (0..1), its two models and its error (0..1).
    """

    kind: str
    benchmark: str
    name: str
    name_zh: str = ""
    rubric: str = ""
    categories: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    instructions: int = 0
    seed: int | None = None
    samples: str = "first"
    pairs: str = ""
    baselines: tuple[str, ...] = ()
    pairs_wanted: int = 0
    judges: tuple[str, ...] = ()
    overlap: int = 3
    order: str = "spread"
    experiment: str = MAIN_EXPERIMENT
    self_naming: str = ""
    tags: tuple[str, ...] = ()
    questions_before: tuple[Mapping[str, Any], ...] = ()
    questions_after: tuple[Mapping[str, Any], ...] = ()
    stop: str = ""
    stop_threshold: float | None = None
    stop_models: tuple[str, ...] = ()
    stop_error: float = USUAL_ERROR


@dataclass(frozen=True)
class MadeStudy:
    """A new draft, and how many tasks it has and how many responses, pairs or verdicts no rubric fits."""

    study: Study
    tasks: int
    without_rubric: int


def make_study(*, workspace: Workspace, wanted: WantedStudy, by: User | None) -> MadeStudy:
    """Make a draft with these settings, or nothing. Raises UserError."""
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=wanted.benchmark).first()
    if benchmark is None:
        known = ", ".join(workspace.benchmarks.order_by("slug").values_list("slug", flat=True)) or "none"
        raise _unknown("benchmark", wanted.benchmark, known)
    _check(wanted)
    asked = {BEFORE: read_questions(wanted.questions_before), AFTER: read_questions(wanted.questions_after)}
    names = _names(wanted)
    same = Study.objects.filter(workspace=workspace, names=names).first()
    if same is not None:
        raise UserError(f"There is a study of this name already, {same.slug}; choose another name.")
    with transaction.atomic():
        study = create_study(workspace=workspace, names=names, kind=wanted.kind, benchmark=benchmark, by=by)
        before = settings_of(study)
        study.experiment = wanted.experiment
        study.seed = study.seed if wanted.seed is None else wanted.seed
        study.save(update_fields=["experiment", "seed"])
        study.rubric = _rubric(study, wanted.rubric)
        choose(
            study,
            overlap=wanted.overlap,
            order=wanted.order,
            selection=_selection(study, benchmark, wanted),
            stopping=_stopping(benchmark, wanted),
            **SELF_NAMING[wanted.self_naming],
        )
        save_study(study, by=by, before=before)
        for moment, questions in asked.items():
            save_questions(study, moment, questions, by=by)
        planned = planned_tasks(study)
        if not planned and study.kind == Study.Kind.PAIR and not study.rubric and planned.without_rubric:
            raise UserError(_pair_rubric_needed(study))
        if not planned:
            raise StudyRefused(
                _(
                    "Your choices do not give any tasks. Choose responses that have a text and a rubric that fits "
                    "this type of study."
                )
            )
    return MadeStudy(study, len(planned), planned.without_rubric)


def launch_at_once(study: Study, *, by: User | None) -> None:
    """Create the tasks and slots of a draft and open it. Raises StudyRefused; the draft stays."""
    request_launch(study, by=by)
    prepare_and_open(study)
    if study.status != Study.Status.OPEN:
        study.refresh_from_db()
        raise StudyRefused(f"Study {study.slug} is a draft and was not launched: {Policies.of(study).refused}")


def launch_soon(study: Study, *, by: User | None) -> None:
    """Open a draft at once, or have a worker do it where it is large. Raises StudyRefused; the draft stays."""
    if not is_large(study):
        launch_at_once(study, by=by)
        return
    request_launch(study, by=by)
    send_after_commit("annotation.launch", study.pk)


def _names(wanted: WantedStudy) -> dict[str, str]:
    return {language: name for language, name in (("en", wanted.name), ("zh-hans", wanted.name_zh)) if name}


def _check(wanted: WantedStudy) -> None:
    """Raise UserError for a value that no study can have, or for choices that contradict each other."""
    for what, value, known in (
        ("kind", wanted.kind, Study.Kind.values),
        ("order", wanted.order, ORDERS),
        ("samples", wanted.samples, SAMPLES),
        ("pairs", wanted.pairs, ("", *PAIRS)),
        ("self_naming", wanted.self_naming, SELF_NAMING),
        ("stop", wanted.stop, ("", *STOPPING_QUESTIONS)),
    ):
        if value not in known:
            raise _unknown(what, value, ", ".join(filter(None, known)))
    for what, number, low, high in (
        ("overlap", wanted.overlap, 1, MOST_OVERLAP),
        ("instructions", wanted.instructions, 0, 1_000_000),
        ("pairs_wanted", wanted.pairs_wanted, 0, 1_000_000),
        ("seed", wanted.seed or 0, 0, LARGEST_SEED),
    ):
        if not low <= number <= high:
            raise UserError(f"{what} is {number}; give a whole number from {low} to {high}.")
    if not wanted.name and not wanted.name_zh:
        raise UserError(_("Enter a name in at least one language."))
    if not wanted.experiment or len(wanted.experiment) > LONGEST_EXPERIMENT:
        raise UserError(f"The experiment needs a name of at most {LONGEST_EXPERIMENT} characters.")
    is_pair = wanted.kind == Study.Kind.PAIR
    if (wanted.pairs or wanted.baselines or wanted.pairs_wanted) and not is_pair:
        raise UserError("Only a study of kind pair has pairs and baselines; leave them out.")
    if wanted.judges and wanted.kind != Study.Kind.REVIEW:
        raise UserError("Only a study of kind review has judges; leave them out.")
    if wanted.pairs == "baselines" and not wanted.baselines:
        raise UserError(_("Choose at least one model as the baseline."))
    if wanted.pairs == "even" and not wanted.pairs_wanted:
        raise UserError(_("Enter the number of pairs to sample."))
    if wanted.baselines and wanted.pairs not in ("", "baselines"):
        raise UserError("Baselines belong to pairs of kind baselines; leave them out or choose these pairs.")


def _selection(study: Study, benchmark: Benchmark, wanted: WantedStudy) -> dict[str, Any]:
    models = LanguageModel.objects.answering(benchmark)
    pairs = wanted.pairs or ("baselines" if wanted.baselines else "all")
    chosen = {
        "categories": _categories(benchmark, wanted.categories),
        "models": _found("model", wanted.models, models, "name"),
        "baselines": _found("model", wanted.baselines, models, "name"),
        "judges": _found("judge", wanted.judges, judges_to_review(study), "label"),
        "instructions": wanted.instructions,
        "samples": wanted.samples,
        "pairs": pairs if wanted.kind == Study.Kind.PAIR else "",
        "pairs_wanted": wanted.pairs_wanted,
        "tags": _tags(benchmark, wanted.tags),
    }
    return {name: value for name, value in chosen.items() if value}


def _stopping(benchmark: Benchmark, wanted: WantedStudy) -> dict[str, Any] | None:
    if not wanted.stop:
        if wanted.stop_threshold is not None or wanted.stop_models:
            raise UserError(
                "stop_threshold and stop_models belong to a question; state one with stop, or leave them out."
            )
        return None
    models = LanguageModel.objects.answering(benchmark)
    pks = tuple(_found("model", wanted.stop_models, models, "name"))
    rule = StoppingRule(wanted.stop, wanted.stop_error, wanted.stop_threshold or 0.0, pks)
    if not rule.is_sensible:
        raise UserError(
            "stop needs an error from 0.001 to 0.2, for agreement stop_threshold above 0 and below 1, and for better two "
            "stop_models."
        )
    return rule.stored()


def _categories(benchmark: Benchmark, names: Iterable[str]) -> list[int]:
    """The categories of these keys; a key that a group and a category share means the category, group/key either."""
    known: dict[str, int] = {}
    for one in benchmark.categories.select_related("parent").order_by("-parent_id", "pk"):
        paths = [f"{one.parent.key}/{one.key}"] if one.parent else []
        for key in (one.key, *one.aliases, *paths):
            known.setdefault(key, one.pk)
    for name in names:
        if name not in known:
            keys = sorted({one.key for one in benchmark.categories.all()})
            raise _unknown("category", name, ", ".join(keys) or "none")
    return sorted({known[name] for name in names})


def _tags(benchmark: Benchmark, tags: Iterable[str]) -> list[str]:
    chosen = sorted(set(tags))
    known = tags_of(benchmark.pk) if chosen else []
    for tag in chosen:
        if tag not in known:
            raise _unknown("tag", tag, ", ".join(known) or "none")
    return chosen


def _found(what: str, names: Iterable[str], rows: QuerySet[Any], field: str) -> list[int]:
    known = {str(name): pk for name, pk in rows.values_list(field, "pk")}
    for name in names:
        if name not in known:
            raise _unknown(what, name, ", ".join(sorted(known)) or "none")
    return sorted({known[name] for name in names})


def _rubric(study: Study, key: str) -> Rubric | None:
    """The newest version of the library's rubric with this key, if it fits the kind of study."""
    if not key:
        return None
    fitting = _fitting(study)
    found = fitting.filter(key=key).order_by("version").last()
    if found is None:
        known = _keys(fitting)
        fit = ", ".join(known) or "none"
        problem = f"There is no rubric {key!r} that fits a study of kind {study.kind}; those that fit are: {fit}."
        raise UserError(f"{problem} {LOAD_LIBRARY}" if study.kind == Study.Kind.PAIR and not known else problem)
    return found


def _fitting(study: Study) -> QuerySet[Rubric]:
    library = Rubric.objects.filter(workspace=study.workspace_id, study=None, instruction=None)
    return with_roles(library, study.kind)


def _keys(rubrics: QuerySet[Rubric]) -> list[str]:
    return sorted(set(rubrics.order_by().values_list("key", flat=True)))


def _pair_rubric_needed(study: Study) -> str:
    """Say that no instruction brings a rubric for pairs, and which rubrics can be named instead."""
    known = _keys(_fitting(study))
    named = f"Name a rubric; those that fit are: {', '.join(known)}." if known else LOAD_LIBRARY
    return f"No rubric of these instructions fits a study of kind pair. {named}"


def _unknown(what: str, name: str, known: str) -> UserError:
    return UserError(f"There is no {what} {name!r}; there are: {known}.")
