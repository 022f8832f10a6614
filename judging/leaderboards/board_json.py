"""What the API and `leaderboard --json` state about a board, as JSON objects."""

from typing import NotRequired, TypedDict


class CellJson(TypedDict):
    score: float
    n: int
    unscored: int


class ModelJson(TypedDict):
    """`rank` is by score; the comparisons of all pairs leave the ranks from `rank_low` to `rank_high` possible, all at once
    with 95 %. `not_ranked` only where the model is listed without a rank, with the reason (see Unranked).
    """

    model: str
    categories: dict[str, CellJson]
    average: float | None
    rank: NotRequired[int]
    rank_low: NotRequired[int]
    rank_high: NotRequired[int]
    not_ranked: NotRequired[str]


class RankJson(TypedDict, total=False):
    rank: int
    rank_low: int
    rank_high: int


class NotRankedJson(TypedDict, total=False):
    not_ranked: str


class BoardJson(TypedDict, total=False):
    """What the API and `leaderboard --json` state; the first two only where a run failed its canary texts, the third only
    of a scripted judge.
    """

    ranked: bool
    discredited_verdicts: int
    scripted_judges: list[str]
    models: list[ModelJson]
