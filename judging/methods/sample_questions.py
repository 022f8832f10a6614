"""Questions of the form that a method asks, with stand-ins for all texts, to try a prompt. PURE."""

from judging.methods.guided import GuidedQuestion
from judging.methods.pairs.base import SCORES, PairMethod
from judging.methods.prompts import BadTemplate, Item, Level
from judging.methods.registry import METHODS, PROMPTED
from judging.methods.scales import range_levels

UNHEARD_OF = "@@ user\n$no_placeholder_has_this_name"
QUARTERS = tuple(Level(value, f"{value:g}") for value in (0.0, 0.25, 0.5, 0.75, 1.0))


def sample_question(method: str) -> GuidedQuestion:
    """Return a question that the method can be asked in any study. The method must have a prompt."""
    count = 2 if METHODS[method].task_kind == "pair" else 1
    return GuidedQuestion(
        (("user", "x"),),
        ("x", "y")[:count],
        (Item("x", "x", _levels(method)),),
        hint="x",
        reference="x",
        guideline="x",
        guides=(Item("x", "x", QUARTERS),),
    )


def _levels(method: str) -> tuple[Level, ...]:
    asked = PROMPTED[method]
    if isinstance(asked, PairMethod):
        return tuple(Level(SCORES[level], level) for level in asked.options.values())
    match METHODS[method].role:
        case "overall":
            return range_levels(0.0, 10.0, 1.0)
        case "check":
            return Level(0.0, "no"), Level(1.0, "yes")
        case _:
            return QUARTERS


def check_prompt(method: str, prompt: str) -> None:
    """Raise BadTemplate if no question of this method could be asked with the prompt."""
    PROMPTED[method].messages(prompt, sample_question(method), with_schema=False)


def placeholders_of(method: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all placeholders that a prompt of the method may contain, and those that it must contain."""
    try:
        check_prompt(method, UNHEARD_OF)
    except BadTemplate as error:
        return error.known, error.needed
    raise AssertionError("A placeholder that does not exist was accepted.")
