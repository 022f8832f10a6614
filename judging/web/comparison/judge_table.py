"""The table of a study's judges: each with its agreement beside that of a person, its bias, price, pace and state."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext

from annotation.models import Study
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.people_estimates import people_cells, people_columns, people_words
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
    agreement: PeopleEstimate | None
    ceiling: PeopleEstimate | None
    bias: PeopleEstimate | None
    price: Decimal | None
    unpriced: bool
    seconds: float | None
    watch: str
    drifted: bool
    failed: bool
    run: str

    @property
    def words(self) -> dict[str, str]:
        """Each estimate with its intervals."""
        found = {"agreement": self.agreement, "ceiling": self.ceiling, "bias": self.bias}
        return {name: people_words(one) if one else "" for name, one in found.items()}


Key = Callable[[JudgeRow], Decimal | float | str | None]
ORDERS: Mapping[str, Key] = {
    "judge": lambda row: row.panel.judge.name,
    "agreement": lambda row: row.agreement.value if row.agreement else None,
    "ceiling": lambda row: row.ceiling.value if row.ceiling else None,
    "bias": lambda row: abs(row.bias.value) if row.bias else None,
    "price": lambda row: row.price,
    "seconds": lambda row: row.seconds,
}
"""What the table can be ordered by. `-` before a name stands for descending order."""


@dataclass(frozen=True)
class Heading:
    """A column by which the table can be ordered: its label, the order that a press leads to, and its aria-sort."""

    label: str
    order: str
    sort: str


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
                found.spearman if found else None,
                found.person if found else None,
                bias,
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
    known = _comparable(panels, failed)
    others = sorted((panel for panel in panels if panel not in known), key=lambda panel: panel.judge.name)
    if not _alike(known):
        return [*sorted(known, key=lambda panel: panel.judge.name), *others]
    return [*sorted(known, key=_order), *others]


def _order(panel: ComparisonPanel) -> tuple[bool, float, str]:
    found = panel.report.correlation if panel.report else None
    return (found is None, -found.spearman.value if found else 0.0, panel.judge.name)


def _comparable(panels: Sequence[ComparisonPanel], failed: Collection[int]) -> list[ComparisonPanel]:
    return [panel for panel in panels if panel.judge.pk not in failed and panel.report and panel.report.correlation]


def _alike(panels: Sequence[ComparisonPanel]) -> bool:
    """Whether the judges scored the same responses, so that they can be ranked."""
    return len({tuple(point.response for point in panel.report.points) for panel in panels if panel.report}) <= 1


def orders_of(rows: Sequence[JudgeRow]) -> list[str]:
    """Return what these judges can be ordered by: by agreement and bias only if all scored the same responses."""
    alike = _alike(_comparable([row.panel for row in rows], {row.panel.judge.pk for row in rows if row.failed}))
    return [name for name in ORDERS if alike or name not in ("agreement", "ceiling", "bias")]


def ordered(rows: Sequence[JudgeRow], order: str) -> list[JudgeRow]:
    """Order the rows as asked, those without a value last; an order that is not offered leaves them as they are."""
    name = order.removeprefix("-")
    if name not in orders_of(rows):
        return list(rows)
    key = ORDERS[name]
    known = [row for row in rows if key(row) not in (None, "")]
    others = [row for row in rows if row not in known]
    return [*sorted(known, key=key, reverse=order.startswith("-")), *others]  # type: ignore[arg-type]


def headings(rows: Sequence[JudgeRow], order: str) -> dict[str, Heading]:
    """Return the headings of the columns; those by which nothing can be ordered have no order."""
    labels = {
        "judge": gettext("Judge"),
        "agreement": gettext("Agreement with people"),
        "ceiling": gettext("One person with the others"),
        "bias": gettext("Bias"),
        "price": gettext("Cost of 100 verdicts"),
        "seconds": gettext("Seconds per verdict"),
    }
    offered = orders_of(rows) if len(rows) > 1 else []
    found = {}
    for name, label in labels.items():
        first = f"-{name}" if name in ("agreement", "ceiling") else name
        second = name if first != name else f"-{name}"
        sort = ("descending" if order.startswith("-") else "ascending") if order.removeprefix("-") == name else ""
        found[name] = Heading(label, "" if name not in offered else second if order == first else first, sort)
    return found


def judge_block(rows: Sequence[JudgeRow], currency: str) -> Block:
    """Return the table for files, with exact values."""
    price = gettext("Cost of 100 verdicts (%(currency)s)") % {"currency": currency} if currency else ""
    table = Table(
        [
            Column(gettext("Judge")),
            *people_columns(gettext("Agreement with people"), 3),
            Column(gettext("One person with the others"), 3),
            *people_columns(gettext("Bias"), 2),
            Column(price or gettext("Cost of 100 verdicts"), 4),
            Column(gettext("Seconds per verdict"), 1),
            Column(gettext("Drift")),
            Column(gettext("Canary texts")),
        ],
        [
            [
                row.panel.judge.name,
                *people_cells(row.agreement),
                row.ceiling.value if row.ceiling else None,
                *people_cells(row.bias),
                float(row.price) if row.price is not None else None,
                row.seconds,
                "" if not row.watch else gettext("changed") if row.drifted else gettext("no change found"),
                gettext("failed") if row.failed else "",
            ]
            for row in rows
        ],
    )
    return Block("judges", gettext("Judges of this study"), table=table)
