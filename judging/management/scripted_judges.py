"""The sentence by which a command says that its figures rest on a scripted judge."""

from collections.abc import Iterable

from annotation.models import Rater


def scripted_judges(judges: Iterable[Rater]) -> list[str]:
    """Return the names of those that are scripted, each once and in their order."""
    return list(dict.fromkeys(judge.name for judge in judges if judge.provenance == Rater.Provenance.SCRIPTED))


def scripted_line(judge: str) -> str:
    return f"{judge} is a scripted judge; its verdicts are drawn and say nothing about the models."
