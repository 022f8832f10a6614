"""The pool of a routed draw: instructions whose responses a judge scored, and how unsure the judge is of each.

A unit is an instruction with all responses of the models compared. Its spread is the root mean square, over its responses,
of the standard deviation of a response's score: between several judges, between repeats of one, or, of a soft verdict with
the share s of the scale, sqrt(s (1 - s)). Scores of different judges are standardised first.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import ABOUT_RESPONSES, ScoreFrame
from calibration.data.scores import score_frame
from calibration.data.verdicts import judged_elsewhere
from core.errors import UserError
from core.messages.message import Wording
from generation.models import Category, Instruction, LanguageModel
from judging.comparison.judge_against_people import weighting_for
from judging.comparison.panels.scores import response_scores, single_observations
from judging.models import Judge, RoutedDraw

SpreadKind = RoutedDraw.SpreadKind

NO_JUDGE = Wording(
    "routing_no_judge", "Name at least one judge whose scores say where people's ratings are worth most."
)
PAIRS_ONLY = Wording(
    "routing_pairs_only",
    "People are routed to single responses, but this study asks about pairs or verdicts; choose a study of single "
    "responses.",
)
NO_SCORES = Wording(
    "routing_no_scores",
    "%(judge)s has no usable scores of single responses of this study; let it judge the study first.",
)
NO_SPREAD = Wording(
    "routing_no_spread",
    "%(judge)s gave each response one verdict, so nothing says where it is unsure; name at least 2 judges, let it judge at "
    "least 2 times, take its own verdicts as soft ones, or draw uniformly.",
)
NOT_SOFT = Wording(
    "routing_not_soft",
    "Every verdict of %(judge)s is at an end of its scale, so it says nothing of being unsure; name at least 2 judges or "
    "let it judge at least 2 times.",
)
ONE_JUDGE = Wording(
    "routing_one_judge",
    "A soft verdict is that of a single judge; name one judge, or take the spread between the %(n)s.",
)
UNKNOWN_MODEL = Wording(
    "routing_unknown_model", "%(judge)s scored no response of the model %(name)s in this study; it scored: %(known)s."
)


@dataclass(frozen=True)
class PoolUnit:
    """An instruction: the responses by model, the judge's mean score of them by model, and its spread, by primary keys."""

    instruction: int
    category: str
    responses: Mapping[int, tuple[int, ...]]
    judge: Mapping[int, float]
    spread: float

    @property
    def size(self) -> int:
        return sum(len(pks) for pks in self.responses.values())


@dataclass(frozen=True)
class Pool:
    """The units that can be drawn; `left_out` instructions lack a score of a model compared. `models` are by name."""

    units: tuple[PoolUnit, ...]
    models: Mapping[int, str]
    spread_kind: str
    left_out: int


def pool_of(study: Study, judges: Sequence[Rater], *, models: Sequence[str] = (), spread: str = "") -> Pool:
    """Return the pool of these judges' scores; `models` are names, all that were scored if empty.

    `spread` is a SpreadKind; '' takes what there is: several judges, else repeats, else verdicts between the levels of their
    scale. Raises UserError where there are no scores, or nothing says how unsure the judge is.
    """
    if not judges:
        raise UserError(NO_JUDGE())
    if study.kind not in (Study.Kind.CHECKLIST, Study.Kind.STARS):
        raise UserError(PAIRS_ONLY())
    scored = response_scores(study, judges, weighting_for(study))
    for judge in judges:
        if not scored.get(judge.pk):
            raise UserError(NO_SCORES(judge=judge.name))
    common = set.intersection(*({response for response, _ in scored[judge.pk]} for judge in judges))
    about = {response: scored[judges[0].pk][response, 0] for response in common}
    names = dict(LanguageModel.objects.filter(pk__in={one.model for one in about.values()}).values_list("pk", "name"))
    chosen = _chosen(names, models, judges[0])
    own = [{response: scored[judge.pk][response, 0].score for response in common} for judge in judges]
    kind, columns = _columns(study, judges, own, spread)
    by_response = _spreads(kind, columns, common)
    score = own[0] if len(own) == 1 else _standardised_mean(own)
    grouped: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for response in sorted(common):
        if about[response].model in chosen:
            grouped[about[response].instruction][about[response].model].append(response)
    whole = {pk: held for pk, held in grouped.items() if len(held) == len(chosen)}
    categories = _categories(whole)
    units = tuple(
        PoolUnit(
            instruction,
            categories.get(instruction, ""),
            {model: tuple(pks) for model, pks in sorted(held.items())},
            {model: fmean(score[pk] for pk in pks) for model, pks in sorted(held.items())},
            sqrt(fmean(by_response[pk] ** 2 for pks in held.values() for pk in pks)),
        )
        for instruction, held in sorted(whole.items())
    )
    return Pool(units, {pk: names[pk] for pk in sorted(chosen)}, kind, len(grouped) - len(whole))


def _chosen(names: Mapping[int, str], asked: Sequence[str], judge: Rater) -> set[int]:
    by_name = {name: pk for pk, name in names.items()}
    for name in asked:
        if name not in by_name:
            raise UserError(UNKNOWN_MODEL(judge=judge.name, name=name, known=", ".join(sorted(by_name))))
    return {by_name[name] for name in asked} or set(names)


def _categories(instructions: Iterable[int]) -> dict[int, str]:
    rows = Instruction.objects.filter(pk__in=list(instructions)).values_list("pk", "category__key")
    return {pk: key or "" for pk, key in rows}


def _columns(
    study: Study, judges: Sequence[Rater], own: Sequence[Mapping[int, float]], asked: str
) -> tuple[str, Sequence[Mapping[int, float]]]:
    """Return the kind of spread, and the scores of each response that differ where the judge is unsure."""
    if asked == SpreadKind.NONE:
        return asked, own
    if asked == SpreadKind.SOFT:
        if len(judges) > 1:
            raise UserError(ONE_JUDGE(n=len(judges)))
        shares, _between = _soft(study, judges[0])
        if not any(0 < share < 1 for share in shares.values()):
            raise UserError(NOT_SOFT(judge=judges[0].name))
        return asked, [shares]
    if len(judges) > 1:
        return SpreadKind.PANEL, own
    kind, columns = _parts_of(study, judges[0])
    if asked in ("", kind) and len(columns) > 1:
        return kind, columns
    shares, between = _soft(study, judges[0])
    if asked == "" and between:
        return SpreadKind.SOFT, [shares]
    raise UserError(NO_SPREAD(judge=judges[0].name))


def _parts_of(study: Study, judge: Rater) -> tuple[str, list[dict[int, float]]]:
    """Return a panel's members', or else a judge's repeated, scores of each response."""
    made = Judge.objects.filter(rater=judge).prefetch_related("jurors__rater").first()
    jurors = [one.rater_id for one in made.jurors.all()] if made else []
    raters = jurors or [judge.pk]
    columns: dict[tuple[int, int], dict[int, float]] = {}
    for frame in _asked(study, raters):
        for rater in np.unique(frame.rater).tolist():
            for repeat in np.unique(frame.repeat[frame.rater == rater]).tolist():
                part = frame.select((frame.rater == rater) & (frame.repeat == repeat))
                column = columns.setdefault((rater, repeat), {})
                for response, score in _scores_in(study, part).items():
                    column.setdefault(response, score)
    several = len({rater for rater, _ in columns}) > 1
    kept = [column for column in columns.values() if column]
    return (SpreadKind.PANEL if several else SpreadKind.REPEATS), kept


def _asked(study: Study, raters: Sequence[int]) -> list[ScoreFrame]:
    """Return every verdict that was given, repeats among them, here and elsewhere on this study's responses."""
    others = judged_elsewhere(study).filter(rater__in=raters).values("task__study")
    studies = [study, *Study.objects.filter(pk__in=others).order_by("pk")]
    wanted = list(study.tasks.filter(response_b=None).values_list("response_a", flat=True))
    frames = [
        score_frame(
            kinds=ABOUT_RESPONSES if one == study else [study.task_kind],
            study=one,
            raters=raters,
            people=False,
            repeats=True,
            keep_derived=False,
        )
        for one in studies
    ]
    return [frame.select(np.isin(frame.response, wanted)) for frame in frames if len(frame)]


def _scores_in(study: Study, part: ScoreFrame) -> dict[int, float]:
    leaves = Category.objects.select_related("parent").in_bulk(np.unique(part.category).tolist())
    found = single_observations(part, weighting_for(study), leaves)
    if found is None:
        return {}
    rows = found[1]
    return dict(zip(rows.response.tolist(), (rows.top / rows.under).tolist(), strict=True))


def _soft(study: Study, judge: Rater) -> tuple[dict[int, float], bool]:
    """Return the share of the scale that the judge gave each response, and whether a verdict lies between two levels."""
    shares: dict[int, list[float]] = defaultdict(list)
    between = False
    for frame in _asked(study, [judge.pk]) or [score_frame(kinds=ABOUT_RESPONSES, study=study, people=False)]:
        own = frame.select((frame.rater == judge.pk) & (frame.repeat == 0) & frame.applicable)
        for response, share in zip(
            own.response.tolist(), ((own.value - own.low) / np.maximum(own.high - own.low, 1e-9)).tolist(), strict=True
        ):
            shares[response].append(min(max(share, 0.0), 1.0))
        between = between or _is_between(study, own)
    return {response: fmean(given) for response, given in shares.items()}, between


def _is_between(study: Study, own: ScoreFrame) -> bool:
    asked = study.asked_criteria().filter(key__in=own.criterion_keys)
    levels: dict[str, set[float]] = defaultdict(set)
    for criterion in asked:
        levels[criterion.key] |= {float(level["value"]) for level in criterion.levels}
    for code, key in enumerate(own.criterion_keys):
        values = np.unique(own.value[own.criterion == code])
        known = np.array(sorted(levels[key])) if levels[key] else np.round(values)
        if any(float(np.abs(known - value).min()) > 1e-9 for value in values.tolist()):
            return True
    return False


def _spreads(kind: str, columns: Sequence[Mapping[int, float]], responses: Iterable[int]) -> dict[int, float]:
    """Return the spread of each response; one that has a single score gets the root mean square of the others'."""
    wanted = sorted(responses)
    if kind == SpreadKind.NONE:
        return dict.fromkeys(wanted, 1.0)
    if kind == SpreadKind.SOFT:
        known = {pk: sqrt(share * (1 - share)) for pk, share in columns[0].items()}
    else:
        scores: dict[int, list[float]] = defaultdict(list)
        for column in map(_standardised, columns):
            for pk, value in column.items():
                scores[pk].append(value)
        known = {pk: float(np.std(given, ddof=1)) for pk, given in scores.items() if len(given) > 1}
    typical = sqrt(fmean(value**2 for value in known.values())) if known else 1.0
    return {pk: known.get(pk, typical) for pk in wanted}


def _standardised(column: Mapping[int, float]) -> dict[int, float]:
    values = np.array(list(column.values()))
    spread = float(values.std()) or 1.0
    return {pk: (value - float(values.mean())) / spread for pk, value in column.items()}


def _standardised_mean(columns: Sequence[Mapping[int, float]]) -> dict[int, float]:
    standard = [_standardised(column) for column in columns]
    return {pk: fmean(column[pk] for column in standard) for pk in columns[0]}
