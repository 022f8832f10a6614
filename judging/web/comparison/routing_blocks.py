"""What the page of routed draws says: what a draw would take, how far the ratings are, and people's means from them."""

from dataclasses import replace

from django.utils.translation import gettext, ngettext

from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number, shortest
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, ResultPage, Table
from judging.comparison.routing.draws import RoutingPlan
from judging.comparison.routing.estimates import Batch, RoutedEstimate, RoutedGroup, Routing
from judging.comparison.routing.pool import SpreadKind
from judging.models import RoutedDraw

DIGITS = 2
TOLD = 0.01
"""From which chance on it is told that too few instructions may be drawn."""


def title() -> str:
    return gettext("Ratings where a judge is unsure")


def percent(share: float) -> str:
    return gettext("%(n)s %%") % {"n": shortest(round(100 * share))}


def plan_words(plan: RoutingPlan) -> list[str]:
    """Say in sentences what would be drawn and whether that is expected to save labels."""
    shown = {
        "n": shortest(round(plan.budget, 1)),
        "pool": f"{len(plan.pool.units):,}",
        "responses": f"{plan.ratings / plan.overlap:,.0f}",
        "ratings": f"{plan.ratings:,.0f}",
        "overlap": plan.overlap,
    }
    words = [
        ngettext(
            "About %(n)s of %(pool)s instructions would be drawn, with %(responses)s responses, which takes about "
            "%(ratings)s ratings (%(overlap)d for each response).",
            "About %(n)s of %(pool)s instructions would be drawn, with %(responses)s responses, which takes about "
            "%(ratings)s ratings (%(overlap)d for each response).",
            plan.overlap,
        )
        % shown
    ]
    if plan.too_few >= TOLD:
        words.append(
            gettext(
                "With a chance of %(chance)s, fewer than %(least)d instructions are drawn; nothing could then be estimated "
                "from this draw."
            )
            % {"chance": percent(plan.too_few), "least": MIN_CLUSTERS}
        )
    if plan.pool.left_out:
        words.append(
            ngettext(
                "%(n)d instruction is left out, because the judge did not score every model compared on it.",
                "%(n)d instructions are left out, because the judge did not score every model compared on them.",
                plan.pool.left_out,
            )
            % {"n": plan.pool.left_out}
        )
    return [*words, *saving_words(plan)]


def saving_words(plan: RoutingPlan) -> list[str]:
    """Say whether the spread is expected to save labels against a uniform draw, as strongly as is known."""
    if plan.pool.spread_kind == SpreadKind.NONE:
        return [
            gettext("Every instruction has the same probability, so the draw itself neither saves nor costs labels.")
        ]
    found = plan.saving
    if found.measured is not None and found.low is not None and found.high is not None:
        shown: dict[str, object] = {
            "n": found.n,
            "saved": percent(abs(found.measured)),
            "low": percent(found.low),
            "high": percent(found.high),
        }
        if found.low > 0:
            told = gettext(
                "On the instructions that people have rated (%(n)d), this draw would have saved %(saved)s of the labels of "
                "a uniform draw (95 %% interval %(low)s to %(high)s)."
            )
        elif found.high < 0:
            told = gettext(
                "On the instructions that people have rated (%(n)d), this draw would have cost %(saved)s more than a "
                "uniform draw (saved: 95 %% interval %(low)s to %(high)s). Draw uniformly instead."
            )
        else:
            told = gettext(
                "Whether this draw saves labels is not shown: on the instructions that people have rated (%(n)d), the share "
                "saved lies between %(low)s and %(high)s (95 %% interval)."
            )
        return [told % shown]
    known = ngettext(
        "People have rated %(n)d instruction of the pool outside of draws, and at least %(needed)d are needed to say "
        "whether the spread tells where people differ from the judge.",
        "People have rated %(n)d instructions of the pool outside of draws, and at least %(needed)d are needed to say "
        "whether the spread tells where people differ from the judge.",
        found.n,
    ) % {"n": found.n, "needed": MIN_CLUSTERS}
    bounds = gettext(
        "If it tells so exactly, the draw saves %(best)s of the labels of a uniform draw; if it tells nothing, the draw "
        "costs %(worst)s more. On published ratings (LLMEval-2, HANNA) such draws saved nothing, so a uniform draw is the "
        "safe choice."
    ) % {"best": percent(found.at_best), "worst": percent(max(0.0, -found.if_unrelated))}
    return [known, bounds]


def strata_names() -> dict[str, str]:
    return {str(place): gettext("Fifth %(n)d of the spread") % {"n": place} for place in range(1, 6)}


def strata_table(plan: RoutingPlan) -> Table:
    columns = [
        Column(gettext("Stratum"), names=strata_names()),
        Column(gettext("Instructions"), 0),
        Column(gettext("Spread"), 3),
        Column(gettext("Probability"), 3),
        Column(gettext("Expected to be drawn"), 1),
    ]
    rows = [[one.name, one.instructions, one.spread, one.probability, one.expected] for one in plan.strata]
    return Table(columns, rows)


def opening_of(found: Routing) -> str:
    """Say people's difference or mean where there is an estimate, else what is missing."""
    if not found.batches:
        return gettext("No instructions have been drawn for people to rate.")
    if not found.groups:
        return _waiting_words(found.batches[-1])
    group = max(found.groups, key=lambda one: (one.ratings, one.batches))
    if not group.differences:
        return gettext("People's mean of %(model)s is %(value)s, %(low)s to %(high)s.") % _shown(group.means[0])
    apart = group.differences[0]
    if len(group.differences) > 1:
        told = ngettext(
            "People's means are shown to differ for %(told)d of %(all)d pair of models; furthest apart are %(model)s and "
            "%(other)s, by %(value)s, %(low)s to %(high)s.",
            "People's means are shown to differ for %(told)d of %(all)d pairs of models; furthest apart are %(model)s and "
            "%(other)s, by %(value)s, %(low)s to %(high)s.",
            len(group.differences),
        )
        distinct = sum(one.low > 0 or one.high < 0 for one in group.differences)
        return told % {**_shown(_turned(apart)), "told": distinct, "all": len(group.differences)}
    ahead = _turned(apart)
    if ahead.low > 0:
        told = gettext("People rate %(model)s higher than %(other)s, by %(value)s, %(low)s to %(high)s.")
    else:
        told = gettext(
            "Whether people rate %(model)s or %(other)s higher is not shown: the difference is %(value)s, %(low)s to "
            "%(high)s."
        )
    return told % _shown(ahead)


def _turned(one: RoutedEstimate) -> RoutedEstimate:
    """Return the difference with the model that is ahead first."""
    if one.found.value >= 0 or not one.other:
        return one
    found = replace(one.found, value=-one.found.value, low=-one.found.high, high=-one.found.low)
    return RoutedEstimate(one.other, one.model, found, -one.high, -one.low, -one.uniform_high, -one.uniform_low)


def _shown(one: RoutedEstimate) -> dict[str, str]:
    return {
        "model": one.model,
        "other": one.other,
        "value": number(one.found.value),
        "low": number(one.low),
        "high": number(one.high),
    }


def _waiting_words(batch: Batch) -> str:
    shown = {
        "given": f"{batch.ratings:,}",
        "wanted": f"{batch.wanted:,}",
        "missing": batch.drawn - batch.complete,
        "drawn": batch.drawn,
        "pool": batch.pool,
        "least": MIN_CLUSTERS,
    }
    told = {
        "not_made": gettext("Chance drew %(drawn)d of %(pool)d instructions; their tasks have not been made yet."),
        "not_open": gettext(
            "Chance drew %(drawn)d of %(pool)d instructions; the study in which people rate them is not open yet."
        ),
        "waiting": gettext(
            "%(given)s of %(wanted)s ratings are in; people's means are estimated once every drawn instruction has all of "
            "its ratings."
        ),
        "incomplete": gettext(
            "The draw stays incomplete: its study is closed, and ratings of %(missing)d of %(drawn)d drawn instructions are "
            "missing. Nothing is estimated from it, because what is missing was not left out by chance."
        ),
        "too_few": gettext(
            "Chance drew %(drawn)d of %(pool)d instructions, and an estimate needs at least %(least)d; draw again."
        ),
    }
    return told[batch.state] % shown


def state_names() -> dict[str, str]:
    return {
        "not_made": gettext("tasks not made"),
        "not_open": gettext("study not open"),
        "waiting": gettext("waiting for ratings"),
        "incomplete": gettext("incomplete, its study is closed"),
        "complete": gettext("all ratings are in"),
        "too_few": gettext("fewer than %(n)d instructions drawn") % {"n": MIN_CLUSTERS},
    }


def routing_page(found: Routing, links: dict[str, str] | None = None) -> ResultPage:
    """The estimates and the draws; `links` are addresses of the studies that rate them, by slug."""
    several = len(found.groups) > 1
    blocks = [
        block
        for place, group in enumerate(found.groups, start=1)
        for block in _group_blocks(group, f"-{place}" if several else "")
    ]
    return ResultPage(title(), opening_of(found), [*blocks, _draws_block(found, links or {})], ["judges.routing"])


def _group_blocks(group: RoutedGroup, suffix: str) -> list[Block]:
    heading = gettext("People's mean of each model")
    routed, uniform = gettext("This draw"), gettext("A uniform draw of the same size")
    bars = [Bar(one.model, one.found.value, one.low, one.high, group=routed) for one in group.means]
    bars += [Bar(one.model, one.found.value, one.uniform_low, one.uniform_high, group=uniform) for one in group.means]
    narrower = sum(one.high - one.low < one.uniform_high - one.uniform_low for one in group.means)
    answer = ngettext(
        "The interval is narrower than a uniform draw of the same size would have given for %(n)d of %(all)d model.",
        "The interval is narrower than a uniform draw of the same size would have given for %(n)d of %(all)d models.",
        len(group.means),
    ) % {"n": narrower, "all": len(group.means)}
    means = Block(
        f"means{suffix}",
        heading,
        answer=answer,
        figure=interval_bars(bars, title=heading, x_title=gettext("Mean score")),
        caption=gettext(
            "Estimates with their intervals (95 %); below, those of a uniform draw of as many instructions, with the same f."
        ),
        table=_table(group.means, Column(gettext("Model"))),
        notes=_population(group),
    )
    if not group.differences:
        return [means]
    notes = [gettext("A difference is the mean of the first model minus that of the second.")]
    if len(group.differences) > 1:
        notes.append(gettext("The intervals hold for all pairs together, at 95 % (Bonferroni)."))
    pairs = _table([_turned(one) for one in group.differences], Column(gettext("Models")))
    return [means, Block(f"differences{suffix}", gettext("Differences of two models"), table=pairs, notes=notes)]


def _table(rows: list[RoutedEstimate], first: Column) -> Table:
    columns = [
        first,
        *Column.interval(gettext("Estimate"), DIGITS),
        *Column.ends(gettext("Uniform draw: from"), gettext("Uniform draw: to"), DIGITS),
        Column(gettext("Instructions rated"), 0),
        Column(gettext("In the pool"), 0),
    ]
    shown = [
        [
            f"{one.model} − {one.other}" if one.other else one.model,
            *(one.found.value, one.low, one.high, one.uniform_low, one.uniform_high),
            *(one.found.n, one.found.pool),
        ]
        for one in rows
    ]
    return Table(columns, shown)


def _population(group: RoutedGroup) -> list[str]:
    shown = {"pool": f"{group.pool:,}", "raters": group.raters, "ratings": f"{group.ratings:,}"}
    about = ngettext(
        "The intervals are for instructions like the %(pool)s of the pool, rated by exactly this rater (ratings: "
        "%(ratings)s). They do not allow for other raters.",
        "The intervals are for instructions like the %(pool)s of the pool, rated by exactly these %(raters)d raters "
        "(ratings: %(ratings)s). They do not allow for other raters.",
        group.raters,
    )
    scale = gettext("Scores are on people's scale, from %(low)s to %(high)s.") % {
        "low": shortest(group.low),
        "high": shortest(group.high),
    }
    notes = [about % shown, scale]
    if len(group.batches) > 1:
        notes.append(
            ngettext(
                "%(n)d draw of this pool is combined, weighted by inverse variance.",
                "%(n)d draws of this pool are combined, weighted by inverse variance.",
                len(group.batches),
            )
            % {"n": len(group.batches)}
        )
    return notes


def _draws_block(found: Routing, links: dict[str, str]) -> Block:
    columns = [
        Column(gettext("Study that rates it")),
        Column(gettext("State"), names=state_names()),
        Column(gettext("Judges")),
        Column(gettext("Spread"), names={kind.value: str(kind.label) for kind in RoutedDraw.SpreadKind}),
        Column(gettext("In the pool"), 0),
        Column(gettext("Expected to be drawn"), 1),
        Column(gettext("Drawn"), 0),
        Column(gettext("All ratings in"), 0),
        Column(gettext("Ratings"), 0),
        Column(gettext("Ratings wanted"), 0),
        Column(gettext("Seed")),
    ]
    rows = [
        [
            one.study or gettext("none yet"),
            *(one.state, ", ".join(one.judges), one.spread_kind, one.pool, one.expected),
            *(one.drawn, one.complete, one.ratings, one.wanted, str(one.seed)),
        ]
        for one in found.batches
    ]
    stays = sum(one.state == "incomplete" for one in found.batches)
    answer = ""
    if stays:
        answer = ngettext(
            "%(n)d draw stays incomplete, because its study was closed before all ratings were in; nothing is estimated "
            "from it. Open its study again to complete it.",
            "%(n)d draws stay incomplete, because their studies were closed before all ratings were in; nothing is "
            "estimated from them. Open their studies again to complete them.",
            stays,
        ) % {"n": stays}
    notes = [
        gettext(
            "The probabilities and the seed are stored before the draw and never change. An instruction counts once all of "
            "its responses have all of their ratings, and a draw once every drawn instruction counts."
        ),
        gettext(
            "Answers to drawn tasks count in no other figure of this installation. Doubtful verdicts that you send to "
            "people by hand have no probability: they settle single verdicts and take no part in these estimates."
        ),
    ]
    table = Table(columns, rows, links=[links.get(one.study, "") for one in found.batches]) if rows else None
    return Block("draws", gettext("Draws"), answer=answer, table=table, notes=notes)
