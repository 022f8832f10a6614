"""Pages that compare two models: their difference, instruction by instruction, and one instruction in full."""

from dataclasses import dataclass, replace
from typing import cast
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import excluded_shown
from annotation.texts.rendering import render_text
from calibration.figures.drawing import ends_apart, number
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.statistics.errors import NoStatistic
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.answer_notes import benchmark_notes, is_asked
from calibration.web.blocks import Block, Column, Table
from calibration.web.failed_judges import marked, marking, with_mark
from calibration.web.messages.intervals import ends_meaning
from calibration.web.table_files import as_csv
from generation.library.access import benchmark_read_by
from generation.models import Benchmark
from judging.leaderboards.filters import Filters, read_filters
from judging.leaderboards.model_pairs import GAP, SORTS, ModelPair, compared_item, model_pair
from judging.leaderboards.table import Leaderboard, verdicts_on
from judging.scores.leads import SIGNIFICANT
from judging.scores.paired_difference import Difference
from judging.web.leaderboards.filter_menus import Menu, board_choices, default_weights, weights_choices
from judging.web.leaderboards.messages import metric_messages, taken_as_given
from judging.web.leaderboards.page import board_or_reason, board_provenance, chosen_judge, simulated_people
from judging.web.leaderboards.table import column_names

ON_A_PAGE = 50
ITEMS = "items.csv"
"""The name of the file of all instructions."""


@require_safe
@results_page
def compare_models(request: HttpRequest, slug: str) -> HttpResponse:
    """?first= and ?second= name the models; the other parameters are the leaderboard's. ?file=items.csv is the list."""
    with excluded_shown(is_asked(request)):
        pair, context = _context(request, slug)
    if request.GET.get("file") == ITEMS and pair is not None:
        return pair_csv(pair)
    if pair is not None:
        with marking(pair.board.failed):
            context["panel"] = pair_panel(pair)
        context["page"] = Paginator(pair.rows, ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "judging/compare_models.html", context)


@require_safe
@results_page
def compare_item(request: HttpRequest, slug: str) -> HttpResponse:
    """?item= is the instruction's id, by default the first of the list; the order of the list determines the next one."""
    with excluded_shown(is_asked(request)):
        return _compare_item(request, slug)


def _compare_item(request: HttpRequest, slug: str) -> HttpResponse:
    pair, context = _context(request, slug)
    ids = [row.public_id for row in pair.rows] if pair else []
    wanted = request.GET.get("item", "") or next(iter(ids), "")
    if pair is None or wanted not in ids:
        raise Http404(gettext("The two models do not have this instruction in common."))
    place = ids.index(wanted)
    item = compared_item(pair, pair.rows[place])
    context |= {
        "provenance": sorted({*board_provenance(pair.board), *simulated_people(pair.board.benchmark)}),
        "item": item,
        "row": pair.rows[place],
        "instruction": render_text(item.instruction.text) if item.instruction.text else None,
        "place": place + 1,
        "of": len(ids),
        "before": ids[place - 1] if place else "",
        "after": ids[place + 1] if place + 1 < len(ids) else "",
    }
    return render(request, "judging/compare_item.html", context)


def _context(request: HttpRequest, slug: str) -> tuple[ModelPair | None, dict[str, object]]:
    """Return what both pages share; `pair` is None with a `reason` if the two cannot be compared."""
    benchmark = benchmark_read_by(cast(User, request.user), slug)
    # Verdicts of failed runs are looked at on the leaderboard alone, which marks them and ranks nothing by them.
    filters = replace(replace(read_filters(request.GET), groups=""), discredited=False)
    known = verdicts_on(benchmark)
    judges, judge = [row.judge for row in known], chosen_judge(known, filters.judge)
    if judge is None:
        raise Http404(gettext("No judge has rated this benchmark yet."))
    weights = filters.weights or default_weights(benchmark)
    sort = request.GET.get("order", GAP) if request.GET.get("order") in SORTS else GAP
    board, why = board_or_reason(benchmark, judge, weights, filters, beside_people=False)
    names = [one.model for one in board.models] if board else []
    first, second = _asked(request, names)
    pair, reason = None, why.get("reason", "")
    if board is not None and first and second and first != second:
        try:
            pair = model_pair(board, first, second, sort)
        except NoStatistic:
            reason = gettext("The two models have no judged instructions in common.")
    elif board is not None:
        reason = gettext("Choose two different models from the leaderboard.")
    address = filters.address(judge=judge.public_id, weights=weights)
    choice = urlencode({"first": first, "second": second, **({"order": sort} if sort != GAP else {})})
    return pair, {
        "benchmark": benchmark,
        "judge": judge,
        "judges": judges,
        "weights": weights,
        "path": request.path,
        "weights_choices": weights_choices(benchmark),
        "board": board,
        "discredited": board.failed if board else [],
        "names": names,
        "pair": pair,
        "reason": reason,
        "first": first,
        "second": second,
        "order": sort,
        "orders": _orders(first, second),
        "board_address": address,
        "query": f"{address}&{choice}",
        "menus": _menus(benchmark, board, filters),
        "provenance": board_provenance(board) if board else [judge.provenance] if judge.provenance else [],
        "measure": metric_messages(board.metric.name) if board else None,
        "asked": filters,
        "columns": column_names(board) if board else {},
        **benchmark_notes(request, benchmark),
    }


def _menus(benchmark: Benchmark, board: Leaderboard | None, filters: Filters) -> list[Menu]:
    choices = board_choices(benchmark, board, filters)
    return [*choices.main, *(menu for menu in choices.filters if menu.name in ("category", "language", "tag"))]


def _asked(request: HttpRequest, names: list[str]) -> tuple[str, str]:
    """Return the requested models, by default the two best. 404 for a model that is not on the board."""
    models = []
    for place, name in enumerate(("first", "second")):
        asked = request.GET.get(name, "")
        if asked and names and asked not in names:
            raise Http404(gettext("There is no model with this name on the leaderboard."))
        models.append(asked or (names[place] if len(names) > place else ""))
    return models[0], models[1]


def _orders(first: str, second: str) -> list[tuple[str, str]]:
    return [
        (GAP, gettext("largest difference first")),
        ("first", gettext("largest lead of %(model)s first") % {"model": first}),
        ("second", gettext("largest lead of %(model)s first") % {"model": second}),
        ("order", gettext("by instruction")),
    ]


def pair_csv(pair: ModelPair) -> HttpResponse:
    table = Table(
        [
            Column(gettext("Instruction")),
            Column(gettext("Category")),
            Column(pair.first, 2),
            Column(pair.second, 2),
            Column(gettext("Difference"), 2),
        ],
        [[row.external_id, row.category, row.first, row.second, row.gap] for row in pair.rows],
    )
    with marking(pair.board.failed):
        table = marked(table, [pair.board.judge.name] * len(table.rows))
    response = HttpResponse(as_csv(table), content_type="text/csv; charset=utf-8")
    stem = slugify(f"{pair.board.benchmark.slug}-{pair.first}-{pair.second}")
    response["Content-Disposition"] = f'attachment; filename="{stem}.csv"'
    return response


@dataclass(frozen=True)
class PairPanel:
    opening: str
    block: Block


def pair_panel(pair: ModelPair) -> PairPanel:
    difference, names, judge = pair.difference, column_names(pair.board), pair.board.judge.name
    parts = [(gettext("Overall"), difference.overall)]
    if len(difference.columns) > 1:
        parts += [
            (names[key], difference.columns[code])
            for code, key in pair.board.categories.items()
            if code in difference.columns
        ]
    rows = [
        [name, part.value, part.interval.low, part.interval.high, part.n, part.first, part.ties, part.second]
        for name, part in parts
    ]
    figure = ranges(
        [RangeRow(name, [Span(part.value, part.interval.low, part.interval.high)]) for name, part in parts],
        title=gettext("%(first)s minus %(second)s, by category") % {"first": pair.first, "second": pair.second},
        x_title=with_mark(gettext("Above 0: %(first)s is better") % {"first": pair.first}, judge),
        series=[gettext("difference")],
        step=0.1,
        rule=0.0,
    )
    columns = [
        Column(gettext("Category")),
        Column(gettext("Difference"), 2),
        *Column.ends(gettext("From"), gettext("To"), 1),
        Column(gettext("Instructions"), 0),
        Column(gettext("%(model)s better") % {"model": pair.first}, 0),
        Column(gettext("Equal"), 0),
        Column(gettext("%(model)s better") % {"model": pair.second}, 0),
    ]
    return PairPanel(
        _opening(pair, difference.overall, difference.p),
        Block(
            "difference",
            gettext("By category"),
            figure=figure,
            caption=ends_meaning(difference.kind, difference.clusters, gettext("instructions")),
            table=marked(Table(columns, rows), [judge] * len(rows)),
            notes=[
                gettext(
                    "Each instruction counts once, with the difference between the two models' values, so that the"
                    " difficulty of an instruction cancels out. p inverts the interval of the overall difference; those of "
                    "categories are not corrected for their number, and show no model to be ahead."
                ),
                taken_as_given(),
            ],
        ),
    )


def _opening(pair: ModelPair, overall: Difference, p: float | None) -> str:
    if overall.first == overall.second == 0:
        return ngettext(
            "%(first)s and %(second)s are even on the %(n)s instruction that both answered.",
            "%(first)s and %(second)s are even on all %(n)s instructions that both answered.",
            overall.n,
        ) % {"first": pair.first, "second": pair.second, "n": f"{overall.n:,}"}
    turned = overall.value < 0
    low, high = overall.interval.low, overall.interval.high
    ends = ends_apart(*((-high, -low) if turned else (low, high)), 0.1)
    shown = {
        "first": pair.first,
        "second": pair.second,
        "gap": number(abs(overall.value), 0.1),
        "ahead": pair.second if turned else pair.first,
        "behind": pair.first if turned else pair.second,
        "around": "" if ends is None else gettext("%(low)s to %(high)s") % {"low": ends[0], "high": ends[1]},
        "p": "" if p is None else f"p {_p(p)}",
    }
    shown["sure"] = "; ".join(part for part in (shown["around"], shown["p"]) if part)
    on_all = ngettext(
        " on %(n)s instruction that both answered.", " on %(n)s instructions that both answered.", overall.n
    ) % {"n": f"{overall.n:,}"}
    if p is None:
        few = gettext(
            "Which model is ahead is not shown, because that needs at least %(least)d instructions, and two in every "
            "category: %(ahead)s is %(gap)s above %(behind)s"
        )
        return few % {**shown, "least": MIN_CLUSTERS} + on_all
    if overall.value == 0:
        sentence = gettext("%(first)s and %(second)s are even on average: the difference is 0 (%(sure)s)")
    elif p >= SIGNIFICANT:
        sentence = gettext("Neither model is clearly ahead: %(ahead)s is %(gap)s above %(behind)s (%(sure)s)")
    else:
        sentence = gettext("%(ahead)s is ahead of %(behind)s by %(gap)s (%(sure)s)")
    return sentence % shown + on_all


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {number(p, 0.001)}"
