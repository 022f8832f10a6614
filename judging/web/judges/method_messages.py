"""The judging methods in the reader's language: what each asks, what it answers, where it comes from."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.judges.making import needs_no_model
from judging.methods import METHODS
from judging.methods.needs import NEEDS

Words = str | Promise


@dataclass(frozen=True)
class MethodWords:
    """One method as a page names it. `edited`: its prompt can be read and changed."""

    key: str
    name: Words
    asks: Words
    source: str
    task_kind: str
    needs_model: bool
    edited: bool


HELLOBENCH, LLMEVAL = "HelloBench (arXiv 2409.16191)", "LLMEval (arXiv 2312.07398)"
HREF, WILDBENCH = "HREF (arXiv 2412.15524)", "WildBench (arXiv 2406.04770)"
LONGGENBENCH = "LongGenBench (arXiv 2409.02076)"
_WORDS: dict[str, tuple[Words, Words, str]] = {
    "checklist": (
        _("Checklist"),
        _(
            "Every item of the checklist at once, each with a reason and a score; weighted, they are the points."
        ),
        HELLOBENCH,
    ),
    "overall": (_("Overall score"), _("One score from 0 to 10 with a reason."), HELLOBENCH),
    "overall_with_checklist": (
        _("Overall score, guided by the checklist"),
        _("An analysis along the checklist, then one score from 0 to 10."),
        HELLOBENCH,
    ),
    "stars": (_("Stars"), _("Each criterion on its own stars; a hint is shown where there is one."), LLMEVAL),
    "stars_objective": (
        _("Stars with the right answer"),
        _("As stars, for instructions with one right answer, which the hint holds."),
        LLMEVAL,
    ),
    "pair_of_three": (
        _("Pair: A, B or tie"),
        _("Which of two responses is better, by the same guideline that people are given."),
        HREF,
    ),
    "pair_of_three_reference": (
        _("Pair: A, B or tie, beside a human response"),
        _("As before, with the human reference response shown."),
        HREF,
    ),
    "pair_of_four": (
        _("Pair: A, B, tie or both bad"),
        _("Which of two responses is better; both may be bad. A hint is shown where there is one."),
        LLMEVAL,
    ),
    "pair_of_five": (
        _("Pair: from A much better to B much better"),
        _("An analysis of both along the checklist, then one of five preferences."),
        WILDBENCH,
    ),
    "graded_score": (
        _("Graded score"),
        _("Strengths and weaknesses along the checklist, then a score."),
        WILDBENCH,
    ),
    "instruction_check": (
        _("Instruction check"),
        _("Whether one sub-task's text does what was asked of it: yes or no."),
        LONGGENBENCH,
    ),
    "embedding": (
        _("Nearer embedding"),
        _("The response whose embedding lies nearer to that of the human response."),
        HREF,
    ),
    "perplexity": (
        _("Likelier human response"),
        _("The model under which the human response is likelier; asks the models that wrote the pair."),
        HREF,
    ),
    "random": (_("Rule: random"), _("A drawn side. Calls no model."), HREF),
    "shorter": (_("Rule: shorter"), _("The shorter response. Calls no model."), HREF),
    "longer": (_("Rule: longer"), _("The longer response. Calls no model."), HREF),
    "rouge": (
        _("Rule: ROUGE-L"),
        _("The response that shares the longer sequence of words with the human one."),
        HREF,
    ),
    "rouge_1": (_("Rule: ROUGE-1"), _("The response that shares more words with the human one."), HREF),
    "first": (_("Rule: the first"), _("Always the response shown first. Calls no model."), HREF),
    "second": (_("Rule: the second"), _("Always the response shown second. Calls no model."), HREF),
    "composite": (
        _("Composite"),
        _("In each category the method that agreed best with people on other tasks. Calls no model."),
        HREF,
    ),
}


def method_words(key: str) -> MethodWords:
    name, asks, source = _WORDS[key]
    needs = NEEDS[key]
    return MethodWords(key, name, asks, source, needs.task_kind, not needs_no_model(key), key in METHODS)


def all_methods() -> list[MethodWords]:
    """In the order of the table: those with a prompt first."""
    return [method_words(key) for key in NEEDS]
