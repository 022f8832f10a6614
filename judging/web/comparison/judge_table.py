"""The table of a study's judges: each with its agreement beside that of a person, its bias, price, pace and state."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from annotation.models import Study
from calibration.web.messages.people_estimates import people_words
from judging.comparison.judge_costs import JudgeCosts, costs_in, judges_made
from judging.comparison.run_lists import is_priced
from judging.monitoring.readings import drift_in
from judging.web.comparison.blocks import ComparisonPanel

PER = 100


@dataclass(frozen=True)
class JudgeRow:
    """A judge in the reader's language. Texts are '' where there is nothing to say; `price` is for PER usable verdicts.

    `unpriced`: nobody said what its calls cost. `watch` is the id of its drift monitor in this study.
    """

    panel: ComparisonPanel
    agreement: str
    ceiling: str
    bias: str
    price: Decimal | None
    unpriced: bool
    seconds: float | None
    watch: str
    drifted: bool
    failed: bool
    run: str


def judge_rows(study: Study, panels: Sequence[ComparisonPanel], failed: Collection[int]) -> list[JudgeRow]:
    """Return a row for each panel; `failed` are pks of judges that failed a check. The order is that of `_ranked`."""
    raters = [panel.judge.pk for panel in panels]
    costs, drift, made = costs_in(study, raters), drift_in(study, raters), judges_made(raters)
    rows = []
    for panel in _ranked(panels, failed):
        pk, report = panel.judge.pk, panel.report
        cost: JudgeCosts | None = costs.get(pk)
        money = cost.money if cost else None
        known = money is not None and pk in made and is_priced(made[pk], money)
        watch, drifted = drift.get(pk, ("", False))
        found = report.correlation if report else None
        bias = report.bias if report else None
        rows.append(
            JudgeRow(
                panel,
                people_words(found.spearman) if found else "",
                people_words(found.person) if found and found.person else "",
                people_words(bias) if bias else "",
                PER * money if known and money is not None else None,
                money is not None and not known,
                cost.seconds if cost else None,
                watch,
                drifted,
                pk in failed,
                cost.run if cost else "",
            )
        )
    return rows


def _ranked(panels: Sequence[ComparisonPanel], failed: Collection[int]) -> list[ComparisonPanel]:
    """Order the panels: by agreement where the judges scored the same responses; by name elsewhere.

    Judges that failed a check, or have no correlation, come last.
    """
    known = [panel for panel in panels if panel.judge.pk not in failed and panel.report and panel.report.correlation]
    others = sorted((panel for panel in panels if panel not in known), key=lambda panel: panel.judge.name)
    scored = {tuple(point.response for point in panel.report.points) for panel in known if panel.report}
    if len(scored) > 1:
        return [*sorted(known, key=lambda panel: panel.judge.name), *others]
    return [*sorted(known, key=_order), *others]


def _order(panel: ComparisonPanel) -> tuple[bool, float, str]:
    found = panel.report.correlation if panel.report else None
    return (found is None, -found.spearman.value if found else 0.0, panel.judge.name)
