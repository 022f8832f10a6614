"""Every evaluation method against people's overall scores: text metrics and judges as the rows of one table.

HelloBench (arXiv 2409.16191), tables 4 and 24: METEOR, BLEU-4, ROUGE-L, Repetition-4, Distinct-4 and perplexity beside
judges, each correlated with people's mean overall score over responses.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import ABOUT_RESPONSES, ROLES, Bools, Floats, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import label_frame, score_frame
from calibration.data.verdicts import failed_judges, judged_elsewhere, judges_by_verdicts
from calibration.reports.codec import Missing, part
from calibration.reports.judge_matches import are_positions
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.errors import NoStatistic, Undefined
from calibration.statistics.judges.agreement import LEAST_COMMON
from calibration.statistics.judges.correlations import (
    MethodsCompared,
    ScoredResponses,
    compare_methods,
    spearman_with_people,
)
from calibration.statistics.judges.estimates import PeopleEstimate, best_of_pairs
from calibration.statistics.ties import settle_ties
from core.errors import UserError
from generation.models import Category, Response
from generation.text_metrics.counts import NoWords, distinct_4, repetition_4
from generation.text_metrics.overlap import bleu, meteor, rouge_l
from judging.comparison.judge_against_people import weighting_for
from judging.leaderboards.observations import weighted_points
from judging.leaderboards.weighting import EQUAL, PUBLISHED, UnknownWeights, Weighting, weighting_named

PAIR = 2
TEXTS_AT_ONCE = 50
DIGITS = 9
"""Decimals of points that are compared, few enough to hide the rounding of sums."""
METRIC, POINTS, SCORE = "metric", "points", "score"
"""What a row is: counted in the text, a judge's weighted checklist, or a judge's score for a criterion."""


def _bleu(text: str, reference: str) -> float:
    return bleu([text], [[reference]])


def _meteor(text: str, reference: str) -> float:
    return meteor(text, reference).score


def _rouge_l(text: str, reference: str) -> float:
    return rouge_l(text, reference).f1


WITH_REFERENCE: Mapping[str, Callable[[str, str], float]] = {"meteor": _meteor, "bleu_4": _bleu, "rouge_l": _rouge_l}
WITHOUT_REFERENCE: Mapping[str, Callable[[str], float]] = {
    "repetition_4": repetition_4,
    "distinct_4": lambda text: distinct_4([text]),
}
METRICS = (*WITH_REFERENCE, *WITHOUT_REFERENCE)
PERPLEXITY = "perplexity"
"""The key of the criterion under which a model's perplexity of each response is loaded."""


@dataclass(frozen=True)
class MethodScores:
    """What a method says of responses, arrays (m,) with each response once; `method` is a metric or a judge's name.

    `detail` is the name of the weights for points, the criterion for a score, and the model for perplexity.
    """

    kind: str
    method: str
    detail: str
    response: Ints
    value: Floats


@dataclass(frozen=True)
class MethodCorrelation:
    """A method's correlation with people's means over `n` responses; `mean` is its own, and `failed` says that a run of
    the judge failed its canary texts.

    `spearman` is None where there is none, and `why` names the reason.
    """

    kind: str
    method: str
    detail: str
    n: int
    mean: float | None
    spearman: PeopleEstimate | None
    why: str = ""
    failed: bool = False


@dataclass(frozen=True)
class RankedMethods:
    """Methods on the `n` responses that all of them scored; `n_smallest` is the fewest that one of them scored.

    `rows` are their places in the report. `ranked`: the common responses are enough for a ranking, and `found` compares the
    methods on them; `best` is the row that is ahead of every other after Holm's correction, None where none is.
    """

    n: int
    n_smallest: int
    ranked: bool
    rows: list[int]
    found: MethodsCompared | None
    best: int | None


@dataclass(frozen=True)
class MethodsAgainstPeople:
    """All methods of a study; `responses` have an overall score from people.

    Where they are ranked the highest correlation on their common responses comes first, and elsewhere they are in the
    order of their names.
    """

    study: str
    criterion: str
    weights: str
    responses: int
    rows: list[MethodCorrelation]
    compared: RankedMethods | None


MethodsReport: TypeAlias = MethodsAgainstPeople | Missing


@dataclass(frozen=True)
class People:
    """People's mean overall score of each response on 0..10; arrays (m,), with its instruction and writer.

    `place`, `rater` and `value` (n,) are the single scores: each one's response among the m, by whom, on 0..10.
    """

    key: str
    response: Ints
    mean: Floats
    instruction: Ints
    model: Ints
    model_names: Mapping[int, str]
    place: Ints
    rater: Ints
    value: Floats
    positions: bool

    def beside(self, method: Floats, wanted: Ints) -> ScoredResponses:
        """Return a method's scores (k,) of the responses at the places `wanted` (k,), ascending, beside people's."""
        given = np.isin(self.place, wanted)
        return ScoredResponses(
            judge=method,
            instruction=self.instruction[wanted],
            model=self.model[wanted],
            response=np.searchsorted(wanted, self.place[given]).astype(np.int64),
            rater=self.rater[given],
            value=self.value[given],
            positions=self.positions,
        )


def people_of(study: Study, *, category: str = "") -> People:
    """Return people's means, of one top category by key where it is given. Raises NothingToRead."""
    frame = label_frame(kinds=ABOUT_RESPONSES, study=study)
    keys = frame.keys_of_role("overall")
    if not keys:
        raise NothingToRead("This study has no overall scores from people, so no method can be compared with them.")
    scores = frame.of_criterion(keys[0])
    if category:
        wanted = [pk for pk, name in scores.category_names.items() if name == category]
        scores = scores.select(np.isin(scores.parent, wanted) | np.isin(scores.category, wanted))
        if not len(scores):
            raise NothingToRead(f"This study has no overall scores from people in category {category}.")
    response, first, place = np.unique(scores.response, return_index=True, return_inverse=True)
    share = (scores.value - scores.low) / (scores.high - scores.low)
    mean = 10 * np.bincount(place, weights=share) / np.bincount(place)
    return People(
        key=keys[0],
        response=response,
        mean=_exact(mean),
        instruction=scores.instruction[first],
        model=scores.model[first],
        model_names=dict(scores.model_names),
        place=place.reshape(-1).astype(np.int64),
        rater=scores.rater,
        value=10 * share,
        positions=are_positions(scores),
    )


def methods_of(study: Study, people: People) -> Iterator[MethodScores]:
    """Yield the scores of every text metric and every judge for the responses that people scored."""
    yield from _text_metrics(people.response)
    frames = _judged(study)
    for row in judges_by_verdicts(study):
        yield from _of_judge(study, row.judge, frames, people.response)


def _text_metrics(responses: Ints) -> Iterator[MethodScores]:
    found: dict[str, list[tuple[int, float]]] = {name: [] for name in METRICS}
    for start in range(0, len(responses), TEXTS_AT_ONCE):
        pks = responses[start : start + TEXTS_AT_ONCE].tolist()
        rows = Response.objects.filter(pk__in=pks, text__isnull=False).order_by("pk")
        for pk, text, reference in rows.values_list("pk", "text", "instruction__reference"):
            for name, value in _measured(text or "", reference):
                found[name].append((pk, value))
    for name, pairs in found.items():
        response = np.array([pk for pk, _value in pairs], dtype=np.int64)
        yield MethodScores(METRIC, name, "", response, np.array([value for _pk, value in pairs], dtype=np.float64))


def _measured(text: str, reference: str) -> Iterator[tuple[str, float]]:
    """Yield each metric that can be measured on the text; those of overlap need a human reference."""
    if reference:
        for name, with_reference in WITH_REFERENCE.items():
            yield name, with_reference(text, reference)
    for name, measure in WITHOUT_REFERENCE.items():
        try:
            yield name, measure(text)
        except NoWords:
            continue


def _judged(study: Study) -> list[ScoreFrame]:
    """Return judges' scores given here, and then those given elsewhere to this study's responses."""
    frames = [score_frame(kinds=ABOUT_RESPONSES, study=study, people=False)]
    others = judged_elsewhere(study).values("task__study")
    for other in Study.objects.filter(pk__in=others).exclude(pk=study.pk).order_by("pk"):
        frames.append(score_frame(kinds=ABOUT_RESPONSES, study=other, people=False))
    return frames


def _of_judge(study: Study, judge: Rater, frames: list[ScoreFrame], wanted: Ints) -> Iterator[MethodScores]:
    """Yield the judge's points by each of the study's weightings, and its score for each further criterion."""
    own = [
        frame.select((frame.rater == judge.pk) & np.isin(frame.response, wanted) & frame.applicable) for frame in frames
    ]
    for weighting in _weightings(study):
        parts = [_points(frame, weighting) for frame in own]
        response, value = _first_of([part for part in parts if part is not None])
        if len(response):
            yield MethodScores(POINTS, judge.name, weighting.name, response, value)
    keys = sorted({key for frame in own for key in _other_keys(frame)})
    for key in keys:
        response, value = _first_of([_means(frame.of_criterion(key)) for frame in own if key in _other_keys(frame)])
        named = (METRIC, PERPLEXITY, judge.name) if key == PERPLEXITY else (SCORE, judge.name, key)
        yield MethodScores(*named, response, value)


def _weightings(study: Study) -> list[Weighting]:
    """Return the study's newest weights, else the benchmark's published ones if there are any; and equal weights."""
    chosen = weighting_for(study)
    if chosen.fit is None and study.benchmark is not None:
        with suppress(UnknownWeights):
            chosen = weighting_named(study.benchmark, PUBLISHED)
    return [Weighting(EQUAL)] if chosen.fit is None else [chosen, Weighting(EQUAL)]


def _points(frame: ScoreFrame, weighting: Weighting) -> tuple[Ints, Floats] | None:
    items = frame.select((frame.role == ROLES.index("item")) & ~_of_perplexity(frame))
    if not len(items):
        return None
    leaves = Category.objects.filter(pk__in=np.unique(items.category).tolist()).select_related("parent")
    try:
        points = weighted_points(items, weighting, {leaf.pk: leaf for leaf in leaves})
    except UserError:
        return None
    return points.response, _exact(points.points)


def _other_keys(frame: ScoreFrame) -> list[str]:
    """Return the criteria that are scores of their own: overall ones, and perplexity whatever its role."""
    codes = np.unique(frame.criterion[(frame.role == ROLES.index("overall")) | _of_perplexity(frame)])
    return [frame.criterion_keys[code] for code in codes.tolist()]


def _of_perplexity(frame: ScoreFrame) -> Bools:
    if PERPLEXITY not in frame.criterion_keys:
        return np.zeros(len(frame), dtype=np.bool_)
    return np.asarray(frame.criterion == frame.criterion_keys.index(PERPLEXITY), dtype=np.bool_)


def _means(frame: ScoreFrame) -> tuple[Ints, Floats]:
    response, place = np.unique(frame.response, return_inverse=True)
    return response, _exact(np.bincount(place, weights=frame.value) / np.bincount(place))


def _first_of(parts: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """Join the parts; a response that several have counts in the first of them."""
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    response = np.concatenate([part[0] for part in parts])
    value = np.concatenate([part[1] for part in parts])
    known, first = np.unique(response, return_index=True)
    return known, value[first]


def _exact(values: Floats) -> Floats:
    return np.round(settle_ties(values), DIGITS)


def shared_with(method: MethodScores, people: People) -> tuple[Floats, Ints]:
    """Return the method's scores of the responses that people scored too, and the places of these among people's."""
    _shared, mine, theirs = np.intersect1d(method.response, people.response, return_indices=True)
    return method.value[mine], theirs.astype(np.int64)


def correlation_of(method: MethodScores, people: People, *, seed: int = 0, failed: bool = False) -> MethodCorrelation:
    """Correlate the method with people over the responses that both scored."""
    value, theirs = shared_with(method, people)
    mean = float(value.mean()) if len(value) else None
    named = method.kind, method.method, method.detail, len(value), mean
    try:
        found = spearman_with_people(people.beside(value, theirs), seed=seed)
    except NoStatistic as error:
        return MethodCorrelation(*named, None, error.code, failed)
    return MethodCorrelation(*named, found, "", failed)


def compared_methods(
    methods: list[MethodScores], rows: list[MethodCorrelation], people: People, *, seed: int = 0
) -> RankedMethods | None:
    """Compare the methods that have a correlation on the responses that all of them scored; None under two of them.

    A judge that failed its canary texts is not among them.
    """
    places = [place for place, row in enumerate(rows) if row.spearman is not None and not row.failed]
    if len(places) < PAIR:
        return None
    scores = [
        dict(zip(*(part.tolist() for part in shared_with(methods[at], people)[::-1]), strict=True)) for at in places
    ]
    common = np.array(sorted(set.intersection(*(set(one) for one in scores))), dtype=np.int64)
    smallest = min(len(one) for one in scores)
    nothing = RankedMethods(len(common), smallest, False, places, None, None)
    if len(common) < LEAST_COMMON or 2 * len(common) < smallest:
        return nothing
    table = np.array([[one[at] for at in common.tolist()] for one in scores])
    try:
        found = compare_methods(people.beside(table[0], common), table, seed=seed)
    except NoStatistic:
        return nothing
    best = best_of_pairs(found.pairs, len(places))
    return RankedMethods(len(common), smallest, True, places, found, None if best is None else places[best])


def methods_settings(study: Study) -> Settings:
    """Return the settings of the report; the weights are in it, so that none computed with earlier ones is shown."""
    return {"seed": 0, "weights": _weightings(study)[0].name}


def _compute(study: Study, settings: Settings) -> tuple[str, MethodsReport]:
    frame = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
    return data_hash(frame), part(lambda: _report(study, settings))


def _place(method: MethodScores) -> tuple[str, str, bool, str]:
    """Sort by kind and name; equal weights come before fits, whose names are drawn at random."""
    return method.kind, method.method, method.detail != EQUAL, method.detail


def _report(study: Study, settings: Settings) -> MethodsAgainstPeople:
    people, seed = people_of(study), int(settings["seed"])
    failed = {row.judge.name for row in failed_judges(study)}
    methods = sorted(methods_of(study, people), key=_place)
    rows = [correlation_of(one, people, seed=seed, failed=_judge_of(one) in failed) for one in methods]
    if not any(row.n for row in rows):
        raise Undefined("NoJudge", "No judge has rated responses of this study, and none of its responses has a text.")
    compared = compared_methods(methods, rows, people, seed=seed)
    if compared is not None and compared.found is not None:
        rho = dict(zip(compared.rows, (one.value for one in compared.found.rho), strict=True))
        order = sorted(range(len(rows)), key=lambda at: (at not in rho, -rho.get(at, 0.0), at))
        rows = [rows[at] for at in order]
        moved = {at: place for place, at in enumerate(order)}
        best = None if compared.best is None else moved[compared.best]
        compared = replace(compared, rows=[moved[at] for at in compared.rows], best=best)
    return MethodsAgainstPeople(
        study.slug, people.key, _weightings(study)[0].name, len(people.response), rows, compared
    )


def _judge_of(method: MethodScores) -> str:
    """Return the judge behind a method, '' for a text metric."""
    if method.kind == METRIC:
        return method.detail if method.method == PERPLEXITY else ""
    return method.method


AGAINST_PEOPLE: ReportKind[MethodsReport] = register(
    ReportKind("methods against people", _compute, slow_from=20_000, shape=MethodsReport)
)
