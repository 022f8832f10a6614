"""What a run of probes found: each probe's effect on the judge's verdicts, as far as the run has come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from calibration.statistics.judges.probes import (
    ProbedVerdicts,
    ProbeEffect,
    ShareOfVerdicts,
    probe_effects,
    share_alone,
)
from calibration.statistics.resampling import MIN_CLUSTERS
from core.errors import UserError
from core.messages.message import Wording
from judging.judges.questions import Questions
from judging.methods.pairs.base import level_of
from judging.methods.parsing import Unscored, Verdict
from judging.methods.prompts import Item
from judging.models import JudgeRun, PlannedItem
from judging.probes.design import FIRST, SECOND, TURNED
from judging.probes.request import AGAIN, SAME
from judging.runs.aggregation import outcomes_of

NO_PROBES = Wording("probe.no_probes", "This run judges responses; it has no probes.")
NOT_YET = Wording(
    "probe.not_yet",
    "No probe has verdicts before and after its change about %(needed)s instructions yet; the fullest has %(n)s.",
)


@dataclass(frozen=True)
class ProbeRow:
    """One probe; `effect` is None where it has verdicts about fewer instructions than needed, `instructions` says how many.

    `unusable` of its questions got no usable verdict. `growth` is the share of words that it added.
    """

    key: str
    growth: float
    effect: ProbeEffect | None
    instructions: int
    unusable: int


@dataclass(frozen=True)
class ProbeReport:
    """The probes of a run of `judge` in `study`. Effects are shares of the scale; of a pair toward the side changed.

    `again` is the share of verdicts that differ when the same question is asked twice. `wordings` are the hashes of the
    other prompts, `author` the claimed one.
    """

    judge: str
    study: str
    pairs: bool
    rows: list[ProbeRow]
    again: ShareOfVerdicts | None
    responses: int
    instructions: int
    waiting: int
    author: str
    wordings: list[str]

    @property
    def effects(self) -> list[tuple[str, ProbeEffect]]:
        return [(row.key, row.effect) for row in self.rows if row.effect is not None]

    @property
    def found(self) -> list[str]:
        """The probes that move the verdicts, or change more of them than asking again does, the strongest first."""
        moved = [(key, effect) for key, effect in self.effects if effect.found or effect.unsteady]
        return [key for key, _effect in sorted(moved, key=lambda pair: -abs(pair[1].mean))]


@dataclass(frozen=True)
class _Said:
    """A verdict as one number, the mean share of the scale, and as all its answers."""

    value: float
    answers: tuple[tuple[str, float | str], ...]
    step: float


def probe_report(run: JudgeRun) -> ProbeReport:
    """Compare the verdicts before and after each change. Raises UserError for a run without probes, or while none has
    verdicts about enough instructions.
    """
    if run.probes is None:
        raise UserError(NO_PROBES())
    items = list(run.items.select_related("task__response_a").order_by("position"))
    said = _said(run, items)
    by_key = _by_key(items)
    before = {host: said.get(item.pk) for host, item in by_key.get(SAME, {}).items()}
    again = {host: said.get(item.pk) for host, item in by_key.get(AGAIN, {}).items()}
    rows, compared = [], []
    for arm in run.probes["arms"]:
        asked = by_key.get(arm["key"], {})
        data = _compared(asked, before, again, said)
        enough = len(set(data.instruction)) >= MIN_CLUSTERS
        if enough:
            compared.append(data)
        rows.append((arm, asked, data, enough))
    if not compared:
        most = max((len(set(data.instruction)) for _arm, _asked, data, _enough in rows), default=0)
        raise UserError(NOT_YET(needed=MIN_CLUSTERS, n=most))
    effects = iter(probe_effects(compared))
    return ProbeReport(
        judge=run.judge.rater.name,
        study=run.study.slug,
        pairs=any(item.task.response_b_id for item in items[:1]),
        rows=[
            ProbeRow(
                arm["key"],
                arm["growth"],
                next(effects) if enough else None,
                len(set(data.instruction)),
                sum(item.status == PlannedItem.Status.UNSCORED for item in asked.values()),
            )
            for arm, asked, data, enough in rows
        ],
        again=_alone(by_key.get(AGAIN, {}), before, again),
        responses=run.probes["responses"],
        instructions=run.probes["instructions"],
        waiting=sum(item.status == PlannedItem.Status.WAITING for item in items),
        author=run.probes["author"],
        wordings=run.probes["wordings"],
    )


def _by_key(items: Sequence[PlannedItem]) -> dict[str, dict[int, PlannedItem]]:
    """Return the items of each probe by the task that they are made of."""
    found: dict[str, dict[int, PlannedItem]] = {}
    for item in items:
        gold = item.task.gold or {}
        key = str(gold["probe"])
        if key == SAME:
            key = f"wording_{item.juror}" if item.juror else {FIRST: SAME, SECOND: AGAIN, TURNED: "order"}[item.repeat]
        found.setdefault(key, {})[int(gold["of"])] = item
    return found


def _said(run: JudgeRun, items: Sequence[PlannedItem]) -> dict[int, _Said]:
    """Return the usable verdicts by item."""
    questions = Questions.of(run.judge, run.study)
    questions.learn(item.task for item in items)
    outcomes = outcomes_of(items)
    found = {}
    for item in items:
        match outcomes[item.pk]:
            case Verdict() as verdict:
                found[item.pk] = _as_said(verdict, questions.answered(item.task), preference=item.task.response_b_id)
            case Unscored():
                continue
    return found


def _as_said(verdict: Verdict, items: Sequence[Item], *, preference: int | None) -> _Said:
    scales = {item.key: item.values for item in items}
    shares, answers, steps = [], [], []
    for answer in verdict.answers:
        values = scales[answer.key]
        width = max(values) - min(values) or 1.0
        shares.append((answer.value - min(values)) / width)
        answers.append((answer.key, level_of(answer) if preference else answer.value))
        steps.append(min((b - a for a, b in pairwise(values) if b > a), default=width) / width)
    return _Said(float(np.mean(shares)), tuple(answers), min(steps) / len(steps))


def _compared(
    asked: Mapping[int, PlannedItem],
    before: Mapping[int, _Said | None],
    again: Mapping[int, _Said | None],
    said: Mapping[int, _Said],
) -> ProbedVerdicts:
    """Return the verdicts after a probe beside those before, where both are usable."""
    change, changed, alone, instruction, steps = [], [], [], [], []
    for host, item in asked.items():
        first, second, after = before.get(host), again.get(host), said.get(item.pk)
        if first is None or after is None:
            continue
        change.append(_sign(item) * (after.value - first.value))
        changed.append(after.answers != first.answers)
        alone.append(np.nan if second is None else float(second.answers != first.answers))
        instruction.append(item.task.response_a.instruction_id)
        steps.append(after.step)
    return ProbedVerdicts(
        np.array(change, dtype=np.float64),
        np.array(changed, dtype=np.bool_),
        np.array(alone, dtype=np.float64),
        instruction,
        float(np.mean(steps)) if steps else 1.0,
    )


def _sign(item: PlannedItem) -> int:
    """Return 1 where a greater score is one for the text that was changed or, of an unchanged pair, is shown first; else
    -1.
    """
    gold = item.task.gold or {}
    if not item.task.response_b_id:
        return 1
    side = gold["side"] if gold["probe"] != SAME else item.shown_first
    return -1 if side == "b" else 1


def _alone(
    asked: Mapping[int, PlannedItem], before: Mapping[int, _Said | None], again: Mapping[int, _Said | None]
) -> ShareOfVerdicts | None:
    """Return the share of verdicts that differ between two askings of the same question; None with too few of them."""
    known = [
        (item.task.response_a.instruction_id, first.answers != second.answers)
        for host, item in asked.items()
        if (first := before.get(host)) is not None and (second := again.get(host)) is not None
    ]
    if len({instruction for instruction, _differs in known}) < MIN_CLUSTERS:
        return None
    return share_alone(np.array([differs for _instruction, differs in known]), [one for one, _differs in known])
