"""The query of a leaderboard: the address contains all of it, so that a view can be shared."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

from django.http import QueryDict

from judging.scores.metrics import METRICS

AVERAGE, WORDS, MODEL = "average", "words", "model"
MOST_RIVALS = 8


@dataclass(frozen=True)
class BoardQuery:
    """'' and None mean the default or everything.

    `against` are models by name, `smallest` and `largest` billions of parameters, `least` the minimum number of judged
    responses, `margin` WildBench's K in characters; `sort` is a category's key, AVERAGE, WORDS or MODEL, with the worst
    first if `rising`. With `discredited`, verdicts of runs that failed their canary texts are included, and nothing is
    ranked.
    """

    judge: str = ""
    weights: str = ""
    experiment: str = ""
    measure: str = ""
    category: str = ""
    language: str = ""
    tag: str = ""
    family: str = ""
    smallest: float | None = None
    largest: float | None = None
    least: int = 0
    margin: int | None = None
    against: tuple[str, ...] = ()
    sort: str = AVERAGE
    rising: bool = False
    discredited: bool = False

    @property
    def narrows(self) -> bool:
        """Whether the query selects only a part of the instructions."""
        return bool(self.category or self.language or self.tag)

    def address(self, **changes: object) -> str:
        """Return the query with these changes as an address, without default values; '' if all are defaults."""
        asked = replace(self, **changes)  # type: ignore[arg-type]
        plain: list[tuple[str, str]] = []
        for one in fields(BoardQuery):
            value = getattr(asked, one.name)
            if value == one.default or value is None:
                continue
            if one.name == "against":
                plain += [("against", name) for name in value]
            else:
                plain.append(
                    (one.name, "1" if value is True else f"{value:g}" if isinstance(value, float) else str(value))
                )
        return urlencode(plain)

    def as_json(self) -> Mapping[str, object]:
        return {one.name: getattr(self, one.name) for one in fields(BoardQuery)}


def board_query(given: QueryDict) -> BoardQuery:
    """Read the query from an address; an invalid number counts as not given, and NUL, which no database stores, as
    nothing.
    """
    against = tuple(dict.fromkeys(name for name in given.getlist("against") if name))
    measure = given.get("measure", "")
    return BoardQuery(
        **{
            name: given.get(name, "").replace("\0", "").strip()
            for name in ("judge", "weights", "experiment", "category", "language", "tag", "family")
        },
        measure=measure if measure in METRICS else "",
        smallest=_number(given.get("smallest", "")),
        largest=_number(given.get("largest", "")),
        least=int(_number(given.get("least", "")) or 0),
        margin=None if (margin := _number(given.get("margin", ""))) is None else int(margin),
        against=against[:MOST_RIVALS],
        sort=given.get("sort", "") or AVERAGE,
        rising=given.get("rising", "") == "1",
        discredited=given.get("discredited", "") == "1",
    )


def _number(written: str) -> float | None:
    """Return a finite number of at least 0, or None."""
    try:
        value = float(written)
    except ValueError:
        return None
    return value if 0 <= value < 1e12 else None
