"""Which judge of ours stands beside which printed row of a table of judging methods."""

import re
from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from annotation.models import Rater
from judging.judges.questions import reference_model_of
from judging.models import Judge
from judging.published.columns import plain_name

TEMPLATE = re.compile(r"\bprompt ([A-D])\b", re.IGNORECASE)
"""What the name of a judge that tries one of HREF's prompt templates (table 8) says of it."""


class PrintedMethod(TypedDict):
    """How the judge of a printed row works: our method, the models' names, and the names of imported judges like it."""

    method: str
    models: Sequence[str]
    names: NotRequired[Sequence[str]]


def template_of(name: str) -> str:
    """Return the row of HREF's table 8 that a judge's name says it is, such as "Prompt B"; "" if it says none."""
    match = TEMPLATE.search(name)
    return f"Prompt {match[1].upper()}" if match else ""


def judges_of_rows(workspace: int, names: Sequence[str], methods: Mapping[str, PrintedMethod]) -> dict[str, str]:
    """Return, by printed row, the first of these judges of a workspace that is the printed one, a scripted one last.

    `methods` give each printed row's method and models. A judge with another of the paper's templates is none of them.
    """
    judges = {
        judge.rater.name: judge
        for judge in Judge.objects.filter(rater__workspace=workspace, rater__kind=Rater.Kind.JUDGE).select_related(
            "rater", "language_model"
        )
    }
    found: dict[str, str] = {}
    scripted = {name for name, judge in judges.items() if judge.rater.provenance == Rater.Provenance.SCRIPTED}
    for name in sorted(names, key=lambda name: name in scripted):
        if template_of(name) not in ("", "Prompt A"):
            continue
        for printed_name, method in methods.items():
            if printed_name not in found and _is(name, judges.get(name), printed_name, method):
                found[printed_name] = name
    return found


def _is(name: str, judge: Judge | None, printed_name: str, method: PrintedMethod) -> bool:
    """Whether a judge is the printed one: by method and model, or by name if it was imported."""
    if judge is None:
        return plain_name(name) in {plain_name(one) for one in (printed_name, *method.get("names", ()))}
    if judge.method != method["method"] or reference_model_of(judge):
        return False
    model = plain_name(judge.language_model.name) if judge.language_model else ""
    return not method["models"] or model in {plain_name(each) for each in method["models"]}
