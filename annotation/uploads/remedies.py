"""What is wrong with a table, with a remedy on the page in the place of a command's option."""

import re

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.importing.messages import (
    BENCHMARK_IS_THERE,
    LONG_EXPERIMENT,
    NO_BENCHMARK,
    NONE_FOR_OPTION,
    NOTHING_LOADED,
    WIDE_SCALE,
)
from annotation.rubrics.scales import NAMES_NO_CRITERION
from core.messages.message import Message
from core.messages.rendering import for_reader
from core.tables.messages import BAD_FILE, BAD_ROW
from generation.importers.messages.of_rows import SAY_SIDE

_REMEDIES: tuple[tuple[str, str | Promise], ...] = (
    (r"give one with --scale .* for all", _("state it under Scale below")),
    (r"correct it, or say --off-scale .*unscored", _("correct it, or leave out the bad rows")),
    (r"say what it means with --map .*unscored", _("say under Meaning of the labels what it means")),
    (r"remove one of the rows or use --duplicates repeat or drop", _("choose below what happens to repeated answers")),
    (
        r"keep one of them, or name the column .*--column sample=COLUMN",
        _("leave out the bad rows, or choose the column of samples"),
    ),
)
_WHOLE: dict[str, str | Promise] = {
    SAY_SIDE.code: _("say A or B, or the model's name, or correct it"),
    BENCHMARK_IS_THERE.code: _(
        "There is a benchmark %(study)s already; enter it as the benchmark of the items, or give the study another name."
    ),
    NO_BENCHMARK.code: _(
        "There is no benchmark %(benchmark)s; upload its instructions first, or leave the benchmark empty (there are: "
        "%(known)s)."
    ),
    LONG_EXPERIMENT.code: _("The name of the experiment is too long; keep it to %(most)s characters."),
    WIDE_SCALE.code: _(
        "The scale of %(criterion)s is %(low)s to %(high)s, but its values are %(least)s to %(most)s; if the scale is "
        "narrower, load the file with that scale."
    ),
    NONE_FOR_OPTION.code: _(
        "%(file)s has no criterion %(criterion)s, which a scale names; its criteria are %(known)s."
    ),
    NAMES_NO_CRITERION.code: _("%(text)s names no criterion; write KEY=1:6, or *=1:6 for all."),
}
"""What the page says in place of a whole message that names a command's option."""


def on_page(problem: str) -> str:
    """Return the sentence of a loader in the active language, with a remedy on the page for an option of a command."""
    if isinstance(problem, Message) and problem.code in (BAD_ROW.code, BAD_FILE.code):
        said = {name: on_page(problem.params[name]) for name in ("reason", "remedy")}
        return for_reader(Message(problem.code, {**problem.params, **said}))
    if isinstance(problem, Message) and problem.code == NOTHING_LOADED.code:
        return for_reader(Message(problem.code, {"problem": on_page(problem.params["problem"])}))
    if isinstance(problem, Message) and problem.code in _WHOLE:
        return str(_WHOLE[problem.code]) % problem.params
    for pattern, remedy in _REMEDIES:
        found = re.search(pattern, problem)
        if found:
            problem = f"{problem[: found.start()]}{remedy}{problem[found.end() :]}"
    return for_reader(problem)
