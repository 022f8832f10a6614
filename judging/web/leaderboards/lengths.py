"""The page of scores by requested length: a line for each model, and what a length costs over the same prompts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Rater
from calibration.data.verdicts import JudgesVerdicts, failed_judges
from calibration.figures.curves import Curve, curves
from calibration.figures.drawing import number
from calibration.statistics.errors import NoStatistic
from calibration.statistics.ranking.coverage import unranked
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Choice, Column, ResultPage, Table
from calibration.web.failed_judges import all_marked, marking
from calibration.web.messages.intervals import ends_words
from calibration.web.serving import file_of
from core.errors import UserError
from generation.library.access import benchmark_read_by
from generation.llm.protocol.wrapping import LENGTHS
from generation.models import MAIN_EXPERIMENT, Benchmark
from generation.web.responses.forms import experiment_label
from judging.leaderboards.lengths import LengthScore, has_lengths, scores_by_length
from judging.leaderboards.table import verdicts_on
from judging.leaderboards.weighting import MissingWeights, UnknownWeights
from judging.scores.points import NoVerdicts
from judging.web.leaderboards.filter_menus import default_weights, weights_choices
from judging.web.leaderboards.messages import notes_on_unranked
from judging.web.leaderboards.page import chosen_judge, simulated_people

METHOD = (
    _(
        "Each requested length is scored by itself and never pooled with another. Responses without a requested length "
        "count only for prompts that some length has."
    ),
    _(
        "Intervals are 95 percent intervals by Student's t over whole prompts: this judge and the models are taken as "
        "given, and prompts are drawn again. With fewer than %(n)d prompts they are the range over leaving one prompt out; "
        "a single prompt has none."
    ),
    _(
        "The difference compares a requested length with none over the prompts that have both, prompt by prompt. Below "
        "zero, the length costs points."
    ),
)


@require_safe
@results_page
def length_page(request: HttpRequest, slug: str) -> HttpResponse:
    """?judge= and ?weights= are as on the leaderboard; ?file= is a figure or table."""
    benchmark = benchmark_read_by(cast(User, request.user), slug)
    known = verdicts_on(benchmark)
    judge = chosen_judge(known, request.GET.get("judge", ""))
    weights = request.GET.get("weights") or default_weights(benchmark)
    rows, reason = _rows(benchmark, judge, weights)
    failed = failed_judges(benchmark, judge) if judge else []
    page = lengths_page(rows, judge, failed) if judge is not None and rows else None
    if "file" in request.GET:
        if page is None:
            raise Http404(gettext("This page has no such file."))
        return file_of(page, request.GET["file"], f"{benchmark.slug}-lengths")
    query = request.GET.copy()
    query.pop("file", None)
    context: dict[str, object] = {
        "benchmark": benchmark,
        "page": page,
        "choices": _choices(benchmark, [row.judge for row in known], judge, weights),
        "reason": reason,
        "discredited": failed,
        "provenance": sorted({judge.provenance, *simulated_people(benchmark)} - {""}) if judge else [],
        "path": request.path,
        "query": query.urlencode(),
    }
    return render(request, "judging/length_scores.html", context)


def lengths_page(rows: Sequence[LengthScore], judge: Rater, failed: Sequence[JudgesVerdicts]) -> ResultPage:
    """Return the page of a judge's scores, which are marked where it is among the `failed`."""
    with marking(failed):
        page = _page(rows, judge.name)
    return replace(page, failed=[row.judge.name for row in failed])


def _rows(benchmark: Benchmark, judge: Rater | None, weights: str) -> tuple[list[LengthScore], str]:
    """Return the scores, or none of them and the reason."""
    if not has_lengths(benchmark):
        return [], gettext("No responses of this benchmark were generated with a requested length.")
    if judge is None:
        return [], gettext("No judge has rated this benchmark yet.")
    try:
        return scores_by_length(benchmark, judge.public_id, weights), ""
    except NoVerdicts:
        return [], gettext("This judge has no usable verdicts on responses with a requested length.")
    except MissingWeights:
        return [], gettext("These weights do not cover every judged category.")
    except UnknownWeights:
        return [], gettext("There are no such weights.")
    except (UserError, NoStatistic):
        return [], gettext("The verdicts are not on the scale that this score needs.")


def _choices(benchmark: Benchmark, judges: Sequence[Rater], judge: Rater | None, weights: str) -> list[Choice]:
    return [
        Choice(
            "judge", gettext("Judge"), [(one.public_id, one.name) for one in judges], judge.public_id if judge else ""
        ),
        Choice("weights", gettext("Weights"), weights_choices(benchmark), weights),
    ]


def _page(rows: Sequence[LengthScore], judge: str) -> ResultPage:
    blocks = [all_marked(block, judge) for block in (_scores(rows), _differences(rows))]
    return ResultPage(
        gettext("Scores by requested length"),
        _opening(rows),
        blocks,
        [str(sentence) % {"n": MIN_CLUSTERS} for sentence in METHOD],
        sources=["HelloBench (arXiv 2409.16191)"],
        code=["judging.scores.paired_difference"],
    )


def _opening(rows: Sequence[LengthScore]) -> str:
    """State who scores the highest at the greatest length, among models with enough prompts, and that this is no test."""
    longest = max((row.experiment for row in rows), key=_place)
    there = [row for row in rows if row.experiment == longest]
    left_out = unranked({row.model: row.n for row in there})
    compared = [row for row in there if row.model not in left_out]
    best = max(compared, key=lambda row: row.score)
    value = number(best.score)
    if best.score_low is not None and best.score_high is not None:
        value = ends_words(best.score, best.score_low, best.score_high, _kind(best))
    said = gettext("With at least %(words)s words requested, %(model)s has the highest score: %(score)s.") % {
        "model": best.model,
        "words": f"{LENGTHS[longest]:,}",
        "score": value,
    }
    if len(compared) > 1:
        said += " " + gettext("Whether it is ahead of the others is not tested here.")
    notes = notes_on_unranked({row.model: (left_out.get(row.model), row.n) for row in there})
    return " ".join([said, *notes])


def _kind(row: LengthScore) -> str:
    return "t95" if row.n >= MIN_CLUSTERS else "leave_one_out_range"


def _place(experiment: str) -> int:
    return LENGTHS.get(experiment, 0)


def _scores(rows: Sequence[LengthScore]) -> Block:
    title = gettext("How does the score change with the requested length?")
    experiments = sorted({row.experiment for row in rows}, key=_place)
    drawn = []
    for model in dict.fromkeys(row.model for row in rows):
        own = sorted((row for row in rows if row.model == model), key=lambda row: _place(row.experiment))
        points = [(float(experiments.index(row.experiment)), row.score) for row in own]
        drawn.append(Curve(model, points, [_ends(row.score_low, row.score_high) for row in own]))
    figure = curves(
        drawn,
        title=title,
        x_title=gettext("Words requested"),
        y_title=gettext("Score"),
        x_labels=[f"{LENGTHS[one]:,}" if one in LENGTHS else gettext("no length") for one in experiments],
        from_zero=False,
    )
    columns = [
        Column(gettext("Model")),
        _experiment_column(),
        Column(gettext("Prompts"), 0),
        *Column.interval(gettext("Score"), 2),
        Column(gettext("Mean words"), 0),
    ]
    cells = [[row.model, row.experiment, row.n, row.score, row.score_low, row.score_high, row.words] for row in rows]
    caption = gettext("Each model's score at each requested length, with intervals.")
    return Block("lengths", title, figure=figure, caption=caption, table=Table(columns, cells))


def _ends(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _experiment_column() -> Column:
    names = {one: experiment_label(one) for one in (MAIN_EXPERIMENT, *LENGTHS)}
    return Column(gettext("Length"), names=names)


def _differences(rows: Sequence[LengthScore]) -> Block:
    title = gettext("What does a requested length cost?")
    compared = [row for row in rows if row.difference is not None]
    if not compared:
        reason = gettext("No prompt was judged both with and without a requested length.")
        return Block("differences", title, reason=reason)
    columns = [
        Column(gettext("Model")),
        _experiment_column(),
        *Column.interval(gettext("Difference"), 2),
        Column(gettext("Prompts with both"), 0),
    ]
    cells = [
        [
            row.model,
            row.experiment,
            row.difference,
            *((row.low, row.high) if row.shared > 1 else (None, None)),
            row.shared,
        ]
        for row in compared
    ]
    return Block("differences", title, table=Table(columns, cells))
