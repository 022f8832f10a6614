"""What is asked of a leaderboard: all of it stands in the address, so that a view can be shared."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

from django.http import QueryDict

from judging.scores.metrics import MEASURES

AVERAGE, WORDS, MODEL = "average", "words", "model"
MOST_RIVALS = 8


@dataclass(frozen=True)
class BoardQuery:
    """'' and None ask for the default or for everything. `against` are models by name, `smallest` and `largest` billions
    of parameters, `least` the fewest judged responses, `margin` WildBench's K in characters; `sort` is a category's key,
    AVERAGE, WORDS or MODEL, from the worst on with `rising`. With `discredited`, verdicts of runs that
    failed their planted texts are read too, and nothing is ranked."""

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
        """Whether only a part of the instructions is asked for."""
        return bool(self.category or self.language or self.tag)

    def address(self, **changes: object) -> str:
        """The query with these changes, without what is the default; '' where all is."""
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
    """From an address; a number that is none counts as not given, and NUL, which no database keeps, as nothing."""
    against = tuple(dict.fromkeys(name for name in given.getlist("against") if name))
    measure = given.get("measure", "")
    return BoardQuery(
        **{
            name: given.get(name, "").replace("\0", "").strip()
            for name in ("judge", "weights", "experiment", "category", "language", "tag", "family")
        },
        measure=measure if measure in MEASURES else "",
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
    """A finite number from 0 on."""
    try:
        value = float(written)
    except ValueError:
        return None
    return value if 0 <= value < 1e12 else None
