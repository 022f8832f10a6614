"""What a run over anchors would ask and cost, as JSON values: what the command and the API state."""

from calibration.reports.codec import stored
from calibration.reports.registry import Plain
from judging.comparison.bridging.anchors import AnchorPlan
from judging.runs.planning.estimates import estimate_run
from judging.runs.planning.request import RunRequest


def anchor_price(request: RunRequest, plan: AnchorPlan) -> Plain:
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
