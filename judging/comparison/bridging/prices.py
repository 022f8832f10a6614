"""What a run over anchors would ask and cost, as JSON values: what the command and the API state."""

from typing import TypedDict

from calibration.reports.codec import stored
from judging.comparison.bridging.anchors import AnchorPlan
from judging.runs.planning.estimates import estimate_run
from judging.runs.planning.request import RunRequest


class AnchorMost(TypedDict):
    """The most that the calls take; `money` is a decimal number as text."""

    calls: int
    tokens: int
    money: str | None


class AnchorPrice(TypedDict):
    """A plan of anchors as JSON values; `models` is the plan's own."""

    anchors: int
    known: int
    models: object
    spread: float
    from_bridge: bool
    most: AnchorMost
    unpriced: list[str]
    currency: str


def anchor_price(request: RunRequest, plan: AnchorPlan) -> AnchorPrice:
    """Return the anchors of each model and the upper estimate of the cost; `money` is null where a price is unknown."""
    found = estimate_run(request)
    return {
        "anchors": plan.n,
        "known": plan.known,
        "models": stored(plan.models),
        "spread": plan.spread,
        "from_bridge": plan.from_bridge,
        "most": {
            "calls": found.most.calls,
            "tokens": found.most.tokens,
            "money": f"{found.most.money:f}" if found.priced else None,
        },
        "unpriced": found.unpriced,
        "currency": found.currency,
    }
