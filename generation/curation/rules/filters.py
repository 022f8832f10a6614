"""Which instructions of a pool are worth a benchmark, and why each of the others goes.

The steps are those by which WildBench's tasks were chosen (arXiv 2406.04770, section 2): length, turns, language,
near-duplicates, the last conversation of each user, difficulty, review. Two differ: near-duplicates are found by words
instead of embeddings, and what is harmful goes by a tag or by review.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why an instruction goes, in the order in which the reasons are looked for."""

    PERSON = "person"
    TEXT = "text"
    LANGUAGE = "language"
    SHORT = "short"
    LONG = "long"
    TURNS = "turns"
    TAG = "tag"
    USER = "user"
    EASY = "easy"
    DUPLICATE = "duplicate"


@dataclass(frozen=True)
class CurationRules:
    """What passes. 0, or nothing, turns a rule off.

    `shortest` and `longest` are numbers of words of all that the user says, both included, and `most_turns` a number of
    the user's messages. A language such as zh stands for zh-hans too; an instruction that states none passes. An
    instruction goes as easy if it was rated and every rating is below `difficulty`, from 1, very easy, to 5, very hard.
    `similarity` and `sequence` are the threshold and size of `near_duplicates`.
    """

    shortest: int = 10
    longest: int = 3000
    most_turns: int = 5
    languages: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()
    last_of_user: bool = True
    difficulty: int = 3
    similarity: float = 0.7
    sequence: int = 3


@dataclass(frozen=True, slots=True)
class InstructionFacts:
    """What the rules look at. `text` is all that the user says, empty where no text is known.

    `decision` is that of a person: True keeps it and False drops it whatever the rules say, None where nobody decided;
    `remark` is the reason that the person gave.
    """

    name: str
    text: str
    words: int
    turns: int
    language: str = ""
    tags: frozenset[str] = frozenset()
    user: str = ""
    ratings: tuple[int, ...] = ()
    decision: bool | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Leaving:
    """Why an instruction goes. `what` is what it was found by: a number, a
    language, a tag, the name of another one, or what a person wrote."""

    reason: Reason
    what: str = ""
    similarity: float | None = None


def curated(
    pool: Sequence[InstructionFacts], rules: CurationRules, *, step: Callable[[int], None] = lambda _done: None
) -> list[Leaving | None]:
    """Return for each instruction of the pool, in its order, why it goes; None where it stays.

    Each has the first reason that applies. The last conversation of a user is the last in the pool that no earlier rule took
    out, and of near-duplicates the earlier stays. `step` is called with 1 for each instruction.
    """
    found = [_by_itself(one, rules) for one in pool]
    if rules.last_of_user:
        last = {one.user: place for place, one in enumerate(pool) if one.user and found[place] is None}
        for place, one in enumerate(pool):
            if found[place] is None and not one.decision and one.user and last[one.user] != place:
                found[place] = Leaving(Reason.USER, pool[last[one.user]].name)
    if rules.difficulty:
        for place, one in enumerate(pool):
            easy = bool(one.ratings) and max(one.ratings) < rules.difficulty
            if found[place] is None and not one.decision and easy:
                found[place] = Leaving(Reason.EASY, str(max(one.ratings)))
    places = [place for place, leaving in enumerate(found) if leaving is None]
    step(len(pool) - len(places))
    if not rules.similarity:
        step(len(places))
        return found
    # numpy takes longer to import than most commands to run.
    from core.near_duplicates import near_duplicates

    protected = {number for number, place in enumerate(places) if pool[place].decision}
    duplicates = near_duplicates(
        [pool[place].text for place in places],
        threshold=rules.similarity,
        size=rules.sequence,
        protected=protected,
        step=step,
    )
    for number, duplicate in duplicates.items():
        earlier = pool[places[duplicate.earlier]].name
        found[places[number]] = Leaving(Reason.DUPLICATE, earlier, duplicate.similarity)
    return found


def _by_itself(one: InstructionFacts, rules: CurationRules) -> Leaving | None:
    """Why an instruction goes whatever the others are."""
    if one.decision is not None:
        return None if one.decision else Leaving(Reason.PERSON, one.remark)
    if not one.text.strip():
        return Leaving(Reason.TEXT)
    if one.language and rules.languages and not any(_speaks(one.language, wanted) for wanted in rules.languages):
        return Leaving(Reason.LANGUAGE, one.language)
    if one.words < rules.shortest:
        return Leaving(Reason.SHORT, str(one.words))
    if rules.longest and one.words > rules.longest:
        return Leaving(Reason.LONG, str(one.words))
    if rules.most_turns and one.turns > rules.most_turns:
        return Leaving(Reason.TURNS, str(one.turns))
    tag = next((tag for tag in rules.without_tags if tag in one.tags), "")
    return Leaving(Reason.TAG, tag) if tag else None


def _speaks(language: str, wanted: str) -> bool:
    return language == wanted or language.startswith(f"{wanted}-")
