"""The audit of a table that somebody already has: what it shows of the judges in it, and what it cannot show. PURE."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.statistics.agreement.proportions import clustered_proportions
from calibration.statistics.agreement.such_raters import alpha_variance
from calibration.statistics.design.needed import detectable
from calibration.statistics.errors import NoStatistic
from calibration.statistics.populations import CrossedVariance
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray
from calibration.statistics.ties import mean_ranks
from core.messages.message import Message
from judging.audit import messages
from judging.audit.copies import OTHERS, copied_shares
from judging.audit.families import family_of
from judging.audit.measures import (
    NOTHING,
    common_lines,
    correlation_agreement,
    estimate,
    holm,
    interval_alpha,
    share_agreement,
    shift_from_people,
    slope_beyond_people,
    test_of_zero,
)
from judging.audit.ratings import Ratings, Repeat, read_ratings
from judging.audit.report import (
    AuditEstimate,
    AuditReport,
    Check,
    CheckKind,
    Ends,
    Needed,
    PeopleAgreement,
    Population,
    Repeats,
)
from judging.audit.roles import AuditOptions, find_layout, read_table

SIGNIFICANT = 0.05
POWER_REACH = 0.8416212335729143
"""The 80th percentile of the standard normal distribution."""
SMALL_SHARE = 0.05
"""A difference of shares, correlations or points per pair for which the number of items needed is stated."""
SMALL_COPY = 0.2
"""The same for the share of one person's deviations that a judge repeats."""
SMALL_EFFECT = 0.2
"""The same for scores, in standard deviations of people's values (Cohen's small effect)."""
CENTRE = 0.5
ONE_SIDED: Mapping[CheckKind, float] = {"agreement": -1.0, "copy": 1.0}
"""Checks of which only one direction is a fault of the judge."""
ALONE: Mapping[CheckKind, str] = {"copy": "one_person", "swaps": "judge_alone"}
"""Checks that rest on no sample of raters, and the reason why none is named."""


def audit(path: Path, asked: AuditOptions) -> AuditReport:
    """Read the file and audit every judge in it. Raises BadRow and UserError, which say what to do."""
    table = read_table(path)
    layout = find_layout(table, asked)
    ratings = read_ratings(table, layout)
    found = findings(ratings)
    return AuditReport(
        file=table.file,
        rows=len(table),
        items=int(ratings.instruction.max()) + 1,
        kind=ratings.kind,
        choices=layout.choices,
        people=ratings.people,
        judges=tuple(ratings.judges),
        unreadable=ratings.unreadable,
        bad_rows=table.bad_rows,
        alpha=_alpha(ratings),
        agreement=tuple(found.agreement),
        checks=corrected(found.checks),
        repeats=tuple(found.repeats),
        cannot_say=tuple(found.cannot_say),
    )


def findings(ratings: Ratings) -> "Findings":
    """What the judges of a file show, judge by judge; `corrected` turns its checks into findings."""
    found = Findings(ratings)
    found.all_judges()
    return found


def corrected(checks: list[Check]) -> tuple[Check, ...]:
    """The checks with Holm's correction over all of them.

    Agreement is a finding only where the judge's is lower, and a copy only where it repeats a person, not the reverse.
    """
    if not checks:
        return ()
    adjusted = holm(np.array([check.p for check in checks]))
    return tuple(
        replace(
            check,
            corrected=float(p),
            finding=bool(p < SIGNIFICANT and check.effect.value * ONE_SIDED.get(check.kind, check.effect.value) > 0),
        )
        for check, p in zip(checks, adjusted, strict=True)
    )


def _alpha(ratings: Ratings) -> AuditEstimate | None:
    """Krippendorff's alpha of the people over all tasks: nominal for labels, interval otherwise; None if undefined.

    Numbers are taken less the mean of their criterion, so that criteria of different height are no agreement.
    """
    if not ratings.task.size:
        return None
    try:
        if ratings.kind == "labels":
            instructions = ratings.instruction[ratings.task]
            found = alpha_variance(ratings.task, ratings.value, ratings.rater, instructions, metric="nominal")
        else:
            everywhere = np.zeros(len(ratings.instruction))
            found = interval_alpha(common_lines(ratings, everywhere, 2, centred=ratings.kind == "numbers"))
    except NoStatistic:
        return None
    return estimate(found, 0, "plain")


@dataclass
class _Bias:
    kind: CheckKind
    x: FloatArray | None


class Findings:
    """What the judges of one file show, gathered judge by judge."""

    def __init__(self, ratings: Ratings) -> None:
        self.ratings = ratings
        self.agreement: list[PeopleAgreement] = []
        self.checks: list[Check] = []
        self.repeats: list[Repeats] = []
        self.cannot_say: list[Message] = []
        values = ratings.value
        self.spread = float(values.std()) if values.size else 0.0
        self.ordered = ratings.kind != "labels" or len(set(values.tolist())) <= 2

    def all_judges(self) -> None:
        ratings = self.ratings
        if not ratings.judges:
            self.cannot_say.append(messages.NO_JUDGE())
            return
        if not ratings.people:
            self.cannot_say.append(messages.NO_PEOPLE())
        else:
            self._say_what_is_missing()
            for name, values in ratings.judges.items():
                self._agreement_of(name, values)
                for bias in self._biases(name):
                    self._bias_of(name, values, bias)
                if self.ordered:
                    self._copy_of(name, values)
        if not any(ratings.repeats.values()):
            self.cannot_say.append(messages.NO_REPEATS())
        for name, repeats in ratings.repeats.items():
            self._repeats_of(name, repeats)

    def _say_what_is_missing(self) -> None:
        ratings = self.ratings
        if not self.ordered:
            self.cannot_say.append(messages.NO_ORDER())
            return
        if not np.isfinite(ratings.length).any():
            self.cannot_say.append(messages.NO_LENGTHS())
        if not np.isfinite(ratings.formatted).any():
            self.cannot_say.append(messages.NO_FORMAT())
        if not ratings.moments:
            self.cannot_say.append(messages.NO_TIMES())
        if not ratings.models or not ratings.models[0]:
            self.cannot_say.append(messages.NO_MODELS())
        if ratings.kind != "pairs" and not np.isfinite(ratings.position).any():
            self.cannot_say.append(messages.NO_POSITION())

    def _agreement_of(self, name: str, values: FloatArray) -> None:
        measure, scale = ("correlation", "correlation") if self.ratings.kind == "numbers" else ("share", "share")
        what = messages.EFFECTS["agreement"](judge=name)
        try:
            lines = common_lines(self.ratings, values, 2, centred=measure == "correlation")
        except NoStatistic:
            if messages.NO_CEILING() not in self.cannot_say:
                self.cannot_say.append(messages.NO_CEILING())
            return
        compute = correlation_agreement if measure == "correlation" else share_agreement
        found = self._defined(what, lambda: compute(lines))
        if found is None:
            return
        ceiling, value, difference = (
            estimate(found, 0, scale),  # type: ignore[arg-type]
            estimate(found, 1, scale),  # type: ignore[arg-type]
            estimate(found, 2, "plain"),
        )
        self.agreement.append(PeopleAgreement(name, measure, value, ceiling, difference, len(lines.judge)))  # type: ignore[arg-type]
        self._test(name, "agreement", found, 2, SMALL_SHARE)

    def _biases(self, name: str) -> list[_Bias]:
        """The biases that the columns allow to look for."""
        ratings = self.ratings
        if not self.ordered:
            return []
        found = [_Bias("position" if ratings.kind == "pairs" else "severity", None)]
        if np.isfinite(ratings.length).any():
            found.append(_Bias("length", ratings.length))
        if np.isfinite(ratings.formatted).any():
            found.append(_Bias("format", ratings.formatted))
        if np.isfinite(ratings.position).any():
            found.append(_Bias("order", ratings.position))
        if name in ratings.moments:
            found.append(_Bias("drift", _places_in_time(ratings.moments[name])))
        if ratings.models and ratings.models[0]:
            own = _own_family(ratings, name)
            if own is None:
                self.cannot_say.append(messages.NO_FAMILY(judge=name))
            else:
                found.append(_Bias("family", own))
        return found

    def _bias_of(self, name: str, values: FloatArray, bias: _Bias) -> None:
        what = messages.EFFECTS[bias.kind](judge=name)
        judged = values if bias.x is None else np.where(np.isfinite(bias.x), values, np.nan)
        several = int(np.bincount(self.ratings.task).max(initial=0)) >= 2
        try:
            lines = common_lines(
                self.ratings, judged, 2 if several else 1, centred=bias.x is not None and self._centred
            )
        except NoStatistic:
            self.cannot_say.append(messages.NOT_DEFINED(what=what))
            return

        def compute() -> CrossedVariance:
            if bias.x is not None:
                return slope_beyond_people(lines, bias.x[lines.tasks])
            return shift_from_people(lines, CENTRE if self.ratings.kind == "pairs" else None)

        found = self._defined(what, compute)
        if found is not None:
            small = SMALL_SHARE if self.ratings.kind != "numbers" else SMALL_EFFECT * self.spread
            self._test(name, bias.kind, found, 0, small)

    def _copy_of(self, name: str, values: FloatArray) -> None:
        """The person whom the judge follows most, if any; p for the most of them is that of one times their number."""
        nobody = messages.NO_COPY(judge=name)
        try:
            lines = common_lines(self.ratings, values, OTHERS + 1, centred=self._centred)
        except NoStatistic:
            self.cannot_say.append(nobody)
            return
        used = np.zeros(len(self.ratings.instruction), dtype=np.bool_)
        used[lines.tasks] = True
        shares = copied_shares(lines, self.ratings.rater[used[self.ratings.task]])
        if not shares:
            self.cannot_say.append(nobody)
            return
        most = max(shares, key=lambda one: float(one.found.value[0] / np.sqrt(one.found.these[0] + NOTHING)))
        person = self.ratings.people[most.person]
        self._test(name, "copy", most.found, 0, SMALL_COPY, len(shares), person)

    @property
    def _centred(self) -> bool:
        return self.ratings.kind == "numbers"

    def _defined(self, what: Message, compute: Callable[[], CrossedVariance]) -> CrossedVariance | None:
        try:
            return compute()
        except NoStatistic:
            self.cannot_say.append(messages.NOT_DEFINED(what=what))
            return None

    def _test(
        self,
        name: str,
        kind: CheckKind,
        found: CrossedVariance,
        place: int,
        small: float,
        family: int = 1,
        person: str = "",
    ) -> None:
        """Add a check; p and what is detectable allow for the `family` of which this one was chosen as the clearest."""
        what = messages.effect(kind, name, person)
        try:
            tested = test_of_zero(found, place)
        except NoStatistic:
            if found.n_instructions < MIN_CLUSTERS:
                self.cannot_say.append(messages.TOO_FEW(what=what, n=found.n_instructions))
            else:
                self.cannot_say.append(messages.NOT_DEFINED(what=what))
            return
        level = SIGNIFICANT / family
        size = detectable(tested.error, tested.freedom, level=level)
        effect = estimate(found, place, "plain")
        self.checks.append(
            Check(
                judge=name,
                kind=kind,
                effect=replace(effect, why=ALONE[kind]) if kind in ALONE else effect,
                population=tested.population,
                p=min(1.0, family * tested.p),
                corrected=min(1.0, family * tested.p),
                finding=False,
                detectable=size,
                items=found.n_instructions,
                needed=_needed(found, place, tested.population, small, level) if size > small else None,
                about=person,
            )
        )

    def _repeats_of(self, name: str, given: Sequence[Repeat]) -> None:
        for swapped in (False, True):
            part = [repeat for repeat in given if repeat.swapped is swapped]
            if part:
                self.repeats.append(_repeated(name, part, self.ratings, swapped))
        turned = [repeat for repeat in given if repeat.swapped]
        if turned:
            self._swaps_of(name, turned)

    def _swaps_of(self, name: str, turned: list[Repeat]) -> None:
        """Whether answers that changed with the sides stay with one side: the mean of +1, -1 and 0 over instructions."""
        stays = np.array([_side_kept(repeat) for repeat in turned])
        codes = np.unique(self.ratings.instruction[[repeat.task for repeat in turned]], return_inverse=True)[1].reshape(
            -1
        )
        k, n = int(codes.max()) + 1, len(turned)
        what = messages.EFFECTS["swaps"](judge=name)
        if k < MIN_CLUSTERS:
            self.cannot_say.append(messages.TOO_FEW(what=what, n=k))
            return
        sums, sizes = np.bincount(codes, weights=stays, minlength=k), np.bincount(codes, minlength=k)
        left = (sums.sum() - sums) / (n - sizes)
        variance = np.array([(k - 1) / k * float(((left - left.mean()) ** 2).sum())])
        missing = np.full(1, np.nan)
        value = np.array([float(stays.mean())])
        found = CrossedVariance(value, variance, missing, missing, missing, k, 1, "few_raters")
        self._test(name, "swaps", found, 0, SMALL_SHARE)


def _places_in_time(moments: FloatArray) -> FloatArray:
    """Where each verdict stands between the first (0) and the last (1), by its rank; equal moments share their mean rank."""
    known = np.isfinite(moments)
    found = np.full(len(moments), np.nan)
    found[known] = (mean_ranks(moments[known]) - 1) / max(int(known.sum()) - 1, 1)
    return found


def _own_family(ratings: Ratings, judge: str) -> FloatArray | None:
    """1 where a task's model is of the judge's family, else 0; of a pair, first minus second; None if it never varies."""
    family = family_of(judge)
    if not family:
        return None
    own = np.array([[float(family_of(name) == family) for name in models] for models in ratings.models])
    found = own[:, 0] - own[:, 1] if own.shape[1] == 2 else own[:, 0]
    return found if np.ptp(found) > 0 else None


def _side_kept(repeat: Repeat) -> float:
    """Of two answers with the sides swapped, in points of one response: 1 the first side twice, -1 the second twice."""
    if repeat.first == repeat.again or CENTRE in (repeat.first, repeat.again):
        return 0.0
    return 1.0 if repeat.first > repeat.again else -1.0


def _repeated(name: str, part: list[Repeat], ratings: Ratings, swapped: bool) -> Repeats:
    same = np.array([abs(repeat.first - repeat.again) < 1e-9 for repeat in part])
    clusters = ratings.instruction[[repeat.task for repeat in part]]
    share = clustered_proportions(same, np.zeros(len(part), dtype=np.int64), clusters)[0]
    ends = Ends(share.low, share.high) if share.interval_kind == "wilson95" and share.clusters >= MIN_CLUSTERS else None
    return Repeats(name, swapped, share.value, ends, len(part))


def _needed(found: CrossedVariance, place: int, population: Population, target: float, level: float) -> Needed:
    """The items with which a difference of `target` has 80 % power at this level of significance, with a 95 % interval.

    The interval is that of the items' own variance.
    """
    from scipy.special import chdtri, ndtri

    allowed = (target / (float(ndtri(1 - level / 2)) + POWER_REACH)) ** 2
    if population == "such":
        allowed -= float(found.raters[place])
    have, variance = found.n_instructions, float(found.these[place])
    if allowed <= 0:
        return Needed(target, None, 0, 0)
    items = have * variance / allowed
    low, high = (items * (have - 1) / float(chdtri(have - 1, tail)) for tail in (0.025, 0.975))
    return Needed(target, *(max(MIN_CLUSTERS, int(np.ceil(n))) for n in (items, low, high)))
