"""Text statistics of a benchmark's responses: the page with its figures, tables and files."""

from collections.abc import Sequence
from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy as _, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from calibration.figures.charts import Bar, interval_bars
from calibration.web.blocks import Block, Choice, Column, ResultPage, Table
from calibration.web.serving import file_of
from core.errors import UserError
from generation.library.access import benchmark_read_by
from generation.library.error_modes import ModelErrors
from generation.library.kept_statistics import READ_OF_EACH, kept_errors, kept_statistics
from generation.library.text_statistics import Mean, ModelTexts, experiments_with_texts
from generation.models import MAIN_EXPERIMENT, Benchmark
from generation.responses.plan import EXPERIMENTS
from generation.web.responses.forms import experiment_label
from judging.web.leaderboards.text_errors import error_blocks

METHOD = (
    _(
        "Lengths cover all responses. Statistics that require reading the texts use a random sample of equal size "
        "from each model."
    ),
    _(
        "Intervals are normal 95 percent intervals over responses. They are too narrow for models that answer an "
        "instruction several times."
    ),
    _(
        "Repetition-4 is the share of a text's distinct sequences of four words that occur more than once; "
        "distinct-4 is the number of distinct sequences divided by the number of words of the model."
    ),
    _(
        "BLEU, ROUGE-L and METEOR compare a response with the human reference for the same instruction, if there "
        "is one. METEOR uses words and stems, without synonyms."
    ),
)


@require_safe
@results_page
def text_page(request: HttpRequest, slug: str) -> HttpResponse:
    """?experiment= and ?each= (responses read per model) select the responses; ?file= is a figure or table."""
    benchmark = benchmark_read_by(cast(User, request.user), slug)
    experiment = request.GET.get("experiment", MAIN_EXPERIMENT)
    each = request.GET.get("each", str(READ_OF_EACH[0]))
    known = {*EXPERIMENTS, *experiments_with_texts(benchmark)}
    if experiment not in known or each not in map(str, READ_OF_EACH):
        raise Http404(gettext("This benchmark has no such experiment."))
    page = text_statistics_page(benchmark, experiment, each)
    if page is not None and "file" in request.GET:
        return file_of(page, request.GET["file"], benchmark.slug)
    query = request.GET.copy()
    query.pop("file", None)
    context = {"benchmark": benchmark, "page": page, "path": request.path, "query": query.urlencode()}
    return render(request, "judging/text_statistics.html", context)


def text_statistics_page(benchmark: Benchmark, experiment: str, each: str) -> ResultPage | None:
    """Return the page of the responses of an experiment, `each` of a model read; None where there are none."""
    rows = kept_statistics(benchmark, experiment, int(each))
    return _page(benchmark, rows, _errors_of(benchmark, experiment, int(each)), experiment, each) if rows else None


def _errors_of(benchmark: Benchmark, experiment: str, each: int) -> list[ModelErrors] | str:
    """Return the models' errors by the workspace's rules; else why there are none."""
    try:
        return kept_errors(benchmark, experiment, each)
    except UserError as error:
        return str(error)


def _page(
    benchmark: Benchmark, rows: Sequence[ModelTexts], errors: Sequence[ModelErrors] | str, experiment: str, each: str
) -> ResultPage:
    longest = max(rows, key=lambda row: row.words.value if row.words else 0.0)
    opening = _opening(longest, several=len(rows) > 1)
    choices = [
        Choice(
            "each", gettext("Responses read per model"), [(str(number), str(number)) for number in READ_OF_EACH], each
        )
    ]
    experiments = experiments_with_texts(benchmark)
    if len(experiments) > 1:
        options = [(one, experiment_label(one)) for one in experiments]
        choices.insert(0, Choice("experiment", gettext("Experiment"), options, experiment))
    total = sum(row.responses for row in rows)
    return ResultPage(
        title=gettext("Text statistics"),
        opening=opening,
        blocks=[_lengths(rows), _repetition(rows), *error_blocks(errors), _overlap(rows)],
        about=ngettext("%(n)s response from %(m)d models.", "%(n)s responses from %(m)d models.", total)
        % {"n": f"{total:,}", "m": len(rows)},
        choices=choices,
        method=[str(sentence) for sentence in METHOD],
        sources=["HelloBench (arXiv 2409.16191)", "Papineni et al. (2002)", "Lin (2004)", "Lavie and Agarwal (2007)"],
        code=[
            "generation.text_metrics.counts",
            "generation.text_metrics.error_modes",
            "generation.text_metrics.overlap",
        ],
    )


def _opening(row: ModelTexts, *, several: bool) -> str:
    if row.words is None:
        return gettext("The length of these responses is unknown.")
    words = {"model": row.model, "words": f"{row.words.value:,.0f}"}
    if row.words.low is None or row.words.high is None:
        return gettext("%(model)s writes the most: %(words)s words in its only response.") % words
    ends = {"low": f"{row.words.low:,.0f}", "high": f"{row.words.high:,.0f}"}
    said = gettext("%(model)s writes the most: %(words)s words per response on average, %(low)s to %(high)s.") % {
        **words,
        **ends,
    }
    if several:
        said += " " + gettext("Whether it writes more than the others is not tested here.")
    return said


def _lengths(rows: Sequence[ModelTexts]) -> Block:
    title = gettext("How long are the responses?")
    bars = [_bar(row.model, row.words) for row in rows if row.words]
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Responses"), 0),
            *_columns(gettext("Words"), 0),
            *_columns(gettext("Length error"), 0),
        ],
        [[row.model, row.responses, *_cells(row.words), *_cells(row.length_error)] for row in rows],
    )
    return Block(
        "lengths",
        title,
        figure=interval_bars(bars, title=title, x_title=gettext("Words per response")) if bars else "",
        caption=gettext("Mean number of words of each model's responses, with intervals."),
        table=table,
        notes=[gettext("The length error is the mean distance, in words, from the requested length.")],
    )


def _repetition(rows: Sequence[ModelTexts]) -> Block:
    title = gettext("How much do they repeat themselves?")
    bars = [_bar(row.model, row.repetition) for row in rows if row.repetition]
    if not bars:
        return Block("repetition", title, reason=gettext("No response has at least four words."))
    table = Table(
        [Column(gettext("Model")), *_columns(gettext("Repetition-4"), 3), Column(gettext("Distinct-4"), 3)],
        [[row.model, *_cells(row.repetition), row.distinct] for row in rows],
    )
    return Block(
        "repetition",
        title,
        figure=interval_bars(bars, title=title, x_title=gettext("Repetition-4")),
        caption=gettext("Share of four-word sequences that occur more than once in the same response."),
        table=table,
    )


def _overlap(rows: Sequence[ModelTexts]) -> Block:
    title = gettext("How similar are they to the human references?")
    bars = [_bar(row.model, row.rouge_l) for row in rows if row.rouge_l]
    if not bars:
        return Block("overlap", title, reason=gettext("No instruction of this benchmark has a human reference."))
    table = Table(
        [Column(gettext("Model")), Column("BLEU", 3), *_columns("ROUGE-L", 3), *_columns("METEOR", 3)],
        [[row.model, row.bleu, *_cells(row.rouge_l), *_cells(row.meteor)] for row in rows],
    )
    return Block(
        "overlap",
        title,
        figure=interval_bars(bars, title=title, x_title="ROUGE-L"),
        caption=gettext("F1 of the longest common subsequence of words with the human reference."),
        table=table,
    )


def _bar(model: str, mean: Mean) -> Bar:
    return Bar(model, mean.value, mean.low, mean.high)


def _columns(name: str, digits: int) -> list[Column]:
    return [Column(name, digits), *Column.ends(gettext("From"), gettext("To"), digits), Column("n", 0)]


def _cells(mean: Mean | None) -> list[Any]:
    return [mean.value, mean.low, mean.high, mean.n] if mean else [None] * 4
