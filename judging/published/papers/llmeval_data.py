"""What a workspace holds of LLMEval's published ratings (arXiv 2312.07398), by the paper's names of its models."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from accounts.models import Workspace
from annotation.models import Rater, Task
from calibration.data.circumstances import response_characters
from calibration.data.frames import ROLES, Bools, Floats, Ints, ScoreFrame
from calibration.data.scores import score_frame
from generation.models import Benchmark
from judging.published.columns import UNSCALED
from judging.published.tables import judges_of_paper, published_tables
from judging.scores.benchmark_scores import llmeval1_mean
from judging.scores.metrics import METRICS, STARS
from judging.scores.points import model_scores

PEOPLE, JUDGE = "people", "judge"
SIDES = (PEOPLE, JUDGE)
Means = Mapping[str, float]


def plain(name: str) -> str:
    """Return a name's letters and digits in lower case, so that GPT-4, GPT4 and gpt_4 are one name."""
    return re.sub(r"[\W_]+", "", name.casefold())


def printed_names(
    published: Mapping[str, Any], rows: Mapping[str, object], models: Mapping[int, str]
) -> dict[int, str]:
    """Return the paper's name of each of our models; of two models with one name there, the one spelt alike."""
    known = {plain(name): name for name in rows}
    aliases = {plain(other): name for name, others in published["aliases"].items() for other in others if name in rows}
    found = {pk: name for pk, model in models.items() if (name := known.get(plain(model)))}
    taken = set(found.values())
    for pk, model in sorted(models.items()):
        name = aliases.get(plain(model))
        if pk not in found and name is not None and name not in taken:
            found[pk] = name
            taken.add(name)
    return found


def places(scores: Means, digits: int) -> dict[str, float]:
    """Return ranks as the paper gives them: of scores rounded as printed, models that tie share the last place."""
    rounded = {name: round(score, digits) for name, score in scores.items()}
    return {name: float(sum(other >= score for other in rounded.values())) for name, score in rounded.items()}


@dataclass
class LlmevalData:
    """One stage's ratings in a workspace, with every repeated one, by people or by the paper's judge.

    `models` are the paper's names. Raises KeyError for a slug without printed tables.
    """

    workspace: Workspace
    slug: str
    models: tuple[str, ...]
    published: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        published = published_tables(self.slug)
        if published is None:
            raise KeyError(self.slug)
        self.published = published

    @cached_property
    def benchmark(self) -> Benchmark | None:
        return Benchmark.objects.filter(workspace=self.workspace, slug=self.slug).first()

    @cached_property
    def judges(self) -> list[int]:
        rows = Rater.objects.filter(workspace=self.workspace, kind=Rater.Kind.JUDGE)
        return [row.pk for row in judges_of_paper(rows, self.published)]

    def frame(self, side: str, *, pairs: bool = False) -> ScoreFrame | None:
        """The applicable scores of one side, None where there are none."""
        judge = side == JUDGE
        if self.benchmark is None or (judge and not self.judges):
            return None
        key = side, pairs
        if key not in self._frames:
            found = score_frame(
                kinds=[Task.Kind.PAIR if pairs else Task.Kind.SINGLE],
                benchmark=self.benchmark,
                raters=self.judges if judge else None,
                people=not judge,
                judges=judge,
                repeats=True,
            )
            role = "preference" if pairs else "item"
            usable = found.select(found.applicable & (found.model > 0) & (found.role == ROLES.index(role)))
            self._frames[key] = usable if len(usable) else None
        return self._frames[key]

    @cached_property
    def _frames(self) -> dict[tuple[str, bool], ScoreFrame | None]:
        return {}

    def judges_of(self, side: str, *, pairs: bool = False) -> list[str]:
        """The names of the judges whose verdicts one side's scores are; none where they are people's."""
        frame = self.frame(side, pairs=pairs) if side == JUDGE else None
        return [] if frame is None else [frame.rater_names[pk] for pk in np.unique(frame.rater).tolist()]

    def instructions(self, side: str, *, pairs: bool = False, model: str = "", criterion: str = "") -> int:
        """How many instructions have an answer; about the model with this printed name, on one criterion."""
        frame = self.frame(side, pairs=pairs)
        if frame is None:
            return 0
        if model:
            pks = [pk for pk, name in self.names(frame).items() if name == model]
            frame = frame.select(np.isin(frame.model, pks) | np.isin(frame.model_b, pks))
        if criterion:
            code = frame.criterion_keys.index(criterion) if criterion in frame.criterion_keys else -1
            frame = frame.select(frame.criterion == code)
        return len(np.unique(frame.instruction))

    def names(self, frame: ScoreFrame) -> dict[int, str]:
        """The paper's name of each model that the frame's answers are about."""
        there = {pk: frame.model_names[pk] for pk in np.unique([frame.model, frame.model_b]).tolist() if pk}
        return printed_names(self.published, dict.fromkeys(self.models), there)

    def criterion_means(self, side: str) -> dict[str, dict[str, float]]:
        """Mean stars by the criterion's key and the model; every rating counts, repeated ones too."""
        frame = self.frame(side)
        if frame is None:
            return {}
        names = self.names(frame)
        found: dict[str, dict[str, float]] = {}
        for code, key in enumerate(frame.criterion_keys):
            of_key = frame.criterion == code
            for pk, name in names.items():
                mask = of_key & (frame.model == pk)
                if mask.any():
                    found.setdefault(key, {})[name] = float(frame.value[mask].mean())
        return found

    def overall_stars(self, side: str) -> dict[str, float]:
        """LLMEval-1's overall score: the mean over the criteria of their mean stars."""
        frame = self.frame(side)
        if frame is None:
            return {}
        return {
            name: llmeval1_mean(frame.criterion[mask].tolist(), frame.value[mask])
            for pk, name in self.names(frame).items()
            for mask in [frame.model == pk]
        }

    def pair_points(self, side: str) -> dict[str, float]:
        """LLMEval-1's points a comparison, Eq. 2: 1 for a win, 0.5 for a draw (also where both are bad), 0 for a loss."""
        frame = self.frame(side, pairs=True)
        if frame is None:
            return {}
        points = (1 + np.sign(frame.value)) / 2
        names = self.names(frame)
        rows = model_scores(
            model=np.concatenate([frame.model, frame.model_b]),
            category=np.zeros(2 * len(frame), dtype=np.int64),
            points=np.concatenate([points, 1 - points]),
            unscored={},
            model_names={pk: str(pk) for pk in np.unique([frame.model, frame.model_b]).tolist()},
            category_keys={0: "all"},
            rule=UNSCALED,
        )
        return {
            names[int(row.model)]: row.average for row in rows if row.average is not None and int(row.model) in names
        }

    def subject_totals(self, side: str) -> dict[str, float]:
        """LLMEval-2's total: in each subject the stars in percent of full marks, and their mean over the subjects."""
        frame = self.frame(side)
        if frame is None:
            return {}
        names = self.names(frame)
        top = np.where(frame.parent > 0, frame.parent, frame.category)
        rows = model_scores(
            model=frame.model,
            category=top,
            points=frame.value,
            under=frame.high,
            unscored={},
            model_names={pk: str(pk) for pk in np.unique(frame.model).tolist()},
            category_keys={pk: str(pk) for pk in np.unique(top).tolist()},
            rule=METRICS[STARS].rule,
        )
        return {
            names[int(row.model)]: row.average for row in rows if row.average is not None and int(row.model) in names
        }

    def gaps(self, key: str) -> Floats:
        """The distances, shape (n,), between people's and the judge's mean stars of each response on one criterion."""
        sides = [self._by_response(side, key) for side in SIDES]
        _shared, left, right = np.intersect1d(sides[0][0], sides[1][0], assume_unique=True, return_indices=True)
        return np.asarray(np.abs(sides[0][1][left] - sides[1][1][right]), dtype=np.float64)

    def _by_response(self, side: str, key: str) -> tuple[Ints, Floats]:
        frame = self.frame(side)
        if frame is None or key not in frame.criterion_keys:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        own = frame.select(frame.criterion == frame.criterion_keys.index(key))
        pks, place = np.unique(own.response, return_inverse=True)
        place = place.reshape(-1)
        return pks, np.bincount(place, weights=own.value) / np.bincount(place)

    def lengths(self, side: str) -> tuple[Floats, Floats, Floats] | None:
        """Characters of both responses of each pair whose texts are stored, and the first one's points; each (n,)."""
        frame = self.frame(side, pairs=True)
        if frame is None:
            return None
        chars = response_characters(np.concatenate([frame.response, frame.response_b]))
        one, two = (
            np.array([chars.get(pk, -1) for pk in column.tolist()], dtype=np.float64)
            for column in (frame.response, frame.response_b)
        )
        known: Bools = (one >= 0) & (two >= 0)
        return one[known], two[known], ((1 + np.sign(frame.value)) / 2)[known]
