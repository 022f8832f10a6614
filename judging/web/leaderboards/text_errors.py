"""The parts of the page of text statistics that show errors: how often each model makes them, and the passages."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext

from calibration.statistics.agreement.proportions import wilson_ends
from calibration.web.blocks import Block, Column, Table
from generation.library.error_modes import PASSAGES_OF_EACH, ModelErrors, base_of, first_passages
from generation.text_metrics.error_modes import LENGTH, MEANINGLESS, MODES, REFUSAL, REPETITION


def error_blocks(rows: Sequence[ModelErrors] | str) -> list[Block]:
    """Build the table of shares and the table of passages; a text says why there are none."""
    title = gettext("How do they go wrong?")
    if isinstance(rows, str):
        return [Block("errors", title, reason=rows)]
    names = _names()
    columns = [Column(gettext("Model")), Column(gettext("Responses read"), 0)]
    for mode in MODES:
        columns += [Column(names[mode], 3), *Column.ends(gettext("From"), gettext("To"), 3)]
    columns.append(Column(gettext("Mean distance from the requested words"), 1, optional=True))
    table = Table(columns, [_shares(row) for row in rows])
    notes = [
        gettext(
            "Repetition: a sentence occurs three times or more. Refusal: the response begins as a refusal does. "
            "Meaningless: a passage with hardly a word, hardly a different word, or a listed phrase; read it before you "
            "believe it. Too short: fewer words than requested, of the responses to which a length was requested."
        ),
        gettext("The lists of phrases are the workspace's; a lead can change them."),
    ]
    return [Block("errors", title, table=table, notes=notes), _passages(rows)]


def _names() -> dict[str, str]:
    return {
        REPETITION: gettext("Repetition"),
        REFUSAL: gettext("Refusal"),
        MEANINGLESS: gettext("Meaningless"),
        LENGTH: gettext("Too short"),
    }


def _shares(row: ModelErrors) -> list[Any]:
    cells: list[Any] = [row.model, row.read]
    for mode in MODES:
        n = base_of(row, mode)
        share = row.counts[mode] / n if n else None
        cells += [None] * 3 if share is None else [share, *wilson_ends(share, n)]
    return [*cells, row.length_error]


def _passages(rows: Sequence[ModelErrors]) -> Block:
    names = _names()
    shown = [passage for row in rows for passage in first_passages(row)]
    title = gettext("Passages with errors")
    if not shown:
        return Block("passages", title, reason=gettext("None of the responses read has one of these errors."))
    columns = [
        Column(gettext("Instruction")),
        Column(gettext("Model")),
        Column(gettext("Error")),
        Column(gettext("Passage")),
        Column(gettext("Times, share, or words missing"), 2),
    ]
    return Block(
        "passages",
        title,
        table=Table(
            columns,
            [[one.instruction, one.model, names[one.mode], one.passage, one.number] for one in shown],
            links=[reverse("generation:response", args=[one.response]) for one in shown],
        ),
        notes=[gettext("At most %(n)d passages of each model and error are shown.") % {"n": PASSAGES_OF_EACH}],
        folded=True,
    )
