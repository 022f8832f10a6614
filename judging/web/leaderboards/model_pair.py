"""Pages that compare two models: their difference, instruction by instruction, and one instruction in full."""

from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Rater
from annotation.texts.rendering import render_text
from calibration.statistics.errors import NoStatistic
from calibration.web.blocks import Column, Table
from calibration.web.formats import as_csv
from generation.library.access import benchmark_read_by
from judging.leaderboards.model_pairs import GAP, SORTS, ModelPair, compared_item, model_pair
from judging.leaderboards.query import board_query
from judging.leaderboards.table import verdicts_on
from judging.web.leaderboards.choices import Menu, board_choices
from judging.web.leaderboards.messages import words_of
from judging.web.leaderboards.model_pair_blocks import pair_panel
from judging.web.leaderboards.page import column_names, default_weights, weights_choices
from judging.web.leaderboards.pages import board_or_why, board_provenance, chosen_judge

ON_A_PAGE = 50


@require_safe
@results_page
def compare_models(request: HttpRequest, slug: str) -> HttpResponse:
    """?first= and ?second= name the models; the other parameters are the leaderboard's. ?file=items.csv is the list."""
    context = _context(request, slug)
    pair: ModelPair | None = context["pair"]
    if request.GET.get("file") == "items.csv" and pair is not None:
        return _csv(pair)
    if pair is not None:
        context["panel"] = pair_panel(pair)
        context["page"] = Paginator(pair.rows, ON_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "judging/compare_models.html", context)


@require_safe
@results_page
def compare_item(request: HttpRequest, slug: str) -> HttpResponse:
    """?item= is the instruction's id, by default the first of the list; the order of the list determines the next one."""
    context = _context(request, slug)
    pair: ModelPair | None = context["pair"]
    ids = [row.public_id for row in pair.rows] if pair else []
    wanted = request.GET.get("item", "") or next(iter(ids), "")
    if pair is None or wanted not in ids:
        raise Http404(gettext("The two models do not have this instruction in common."))
    place = ids.index(wanted)
    item = compared_item(pair, pair.rows[place])
    context |= {
        "provenance": _with_people(context["provenance"], pair),
        "item": item,
        "row": pair.rows[place],
        "instruction": render_text(item.instruction.text) if item.instruction.text else None,
        "place": place + 1,
        "of": len(ids),
        "before": ids[place - 1] if place else "",
        "after": ids[place + 1] if place + 1 < len(ids) else "",
    }
    return render(request, "judging/compare_item.html", context)


def _context(request: HttpRequest, slug: str) -> dict[str, Any]:
    """What both pages share; `pair` is None with a `reason` if the two cannot be compared."""
    benchmark = benchmark_read_by(cast(User, request.user), slug)
    # Verdicts of failed runs are looked at on the leaderboard alone, which marks them and ranks nothing by them.
    query = replace(board_query(request.GET), discredited=False)
    known = verdicts_on(benchmark)
    judges, judge = [row.judge for row in known], chosen_judge(known, query.judge)
    if judge is None:
        raise Http404(gettext("No judge has rated this benchmark yet."))
    weights = query.weights or default_weights(benchmark)
    sort = request.GET.get("order", GAP) if request.GET.get("order") in SORTS else GAP
    board, why = board_or_why(benchmark, judge, weights, query, beside_people=False)
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
    asked = query.address(judge=judge.public_id, weights=weights)
    own = urlencode({"first": first, "second": second, **({"order": sort} if sort != GAP else {})})
    return {
        "benchmark": benchmark,
        "judge": judge,
        "judges": judges,
        "weights": weights,
        "path": request.path,
        "weights_choices": weights_choices(benchmark),
        "board": board,
        "names": names,
        "pair": pair,
        "reason": reason,
        "first": first,
        "second": second,
        "order": sort,
        "orders": _orders(first, second),
        "board_query": asked,
        "query": f"{asked}&{own}",
        "menus": _menus(benchmark, board, query),
        "provenance": board_provenance(board) if board else [judge.provenance] if judge.provenance else [],
        "measure": words_of(board.measure.name) if board else None,
        "asked": query,
        "columns": column_names(board) if board else {},
    }


def _with_people(provenance: list[str], pair: ModelPair) -> list[str]:
    """Also simulated if people's ratings, which the page shows, are."""
    simulated = Rater.objects.filter(
        kind=Rater.Kind.PERSON,
        provenance=Rater.Provenance.SIMULATED,
        assignments__task__response_a__instruction__benchmark=pair.board.benchmark,
    ).exists()
    return sorted({*provenance, *([str(Rater.Provenance.SIMULATED)] if simulated else [])})


def _menus(benchmark: Any, board: Any, query: Any) -> list[Menu]:
    choices = board_choices(benchmark, board, query)
    return [*choices.main, *(menu for menu in choices.filters if menu.name in ("category", "language", "tag"))]


def _asked(request: HttpRequest, names: list[str]) -> tuple[str, str]:
    """Return the requested models, by default the two best. 404 for a model that is not on the board."""
    found = []
    for place, name in enumerate(("first", "second")):
        asked = request.GET.get(name, "")
        if asked and names and asked not in names:
            raise Http404(gettext("There is no model with this name on the leaderboard."))
        found.append(asked or (names[place] if len(names) > place else ""))
    return found[0], found[1]


def _orders(first: str, second: str) -> list[tuple[str, str]]:
    return [
        (GAP, gettext("largest difference first")),
        ("first", gettext("largest lead of %(model)s first") % {"model": first}),
        ("second", gettext("largest lead of %(model)s first") % {"model": second}),
        ("order", gettext("by instruction")),
    ]


def _csv(pair: ModelPair) -> HttpResponse:
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
    response = HttpResponse(as_csv(table), content_type="text/csv; charset=utf-8")
    stem = slugify(f"{pair.board.benchmark.slug}-{pair.first}-{pair.second}")
    response["Content-Disposition"] = f'attachment; filename="{stem}.csv"'
    return response
