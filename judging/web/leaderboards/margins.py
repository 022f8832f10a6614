"""The section of rewards over the length margin: a figure of the leading models and a table of all."""

from django.utils.translation import gettext

from calibration.figures.curves import Curve, curves
from calibration.web.blocks import Block, Column, Table
from judging.leaderboards.margins import MARGINS, rewards_by_margin
from judging.leaderboards.table import Leaderboard
from judging.scores.metrics import REWARD

MOST_CURVES = 4
OFF = "∞"


def margin_block(board: Leaderboard) -> Block | None:
    """Show each model's reward at several margins, the board's own among them; None for other metrics."""
    if board.metric.name != REWARD or not board.models:
        return None
    chosen = board.filters.margin
    margins = MARGINS if chosen in MARGINS else (*sorted([*(k for k in MARGINS if k is not None), chosen or 0]), None)
    rewards = rewards_by_margin(board, margins)
    labels = [OFF if margin is None else str(margin) for margin in margins]
    drawn = [
        Curve(name, [(float(x), y) for x, y in enumerate(values) if y is not None])
        for name, values in rewards.items()
        if any(value is not None for value in values)
    ][:MOST_CURVES]
    figure = ""
    if drawn:
        figure = curves(
            drawn,
            title=gettext("Reward by length margin"),
            x_title=gettext("Length margin K in characters (∞: none)"),
            y_title=gettext("Reward"),
            x_labels=labels,
            rule=0.0,
            rule_label=gettext("even"),
            step=0.1,
            chosen=float(margins.index(chosen)),
        )
    columns = [Column(gettext("Model")), *(Column(f"K = {label}", 1) for label in labels)]
    return Block(
        "margins",
        gettext("Reward by length margin"),
        figure=figure,
        caption=gettext("The first models on the board; the dashed line is the margin chosen above."),
        table=Table(columns, [[name, *values] for name, values in rewards.items()]),
        notes=[
            gettext(
                "A slight win counts as a tie if the winner is longer by more than K characters, so the smaller K is, the "
                "less length is worth. Clear wins count at every margin. Models whose reward falls as K gets smaller owe "
                "some of it to longer responses."
            )
        ],
    )
