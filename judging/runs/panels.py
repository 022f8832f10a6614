"""A panel: several judges, or one asked in both orders or several times, whose verdicts are combined into one."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.models import Workspace
from annotation.models import Rater
from core.errors import UserError
from judging.methods.combining import How
from judging.methods.registry import METHODS, needs_no_call
from judging.methods.weighted import FITTED
from judging.models import Judge

LONGEST_LABEL = 200


class PanelRefused(UserError):
    """These judges cannot form a panel; the sentence says why."""


def panel_of(jurors: Sequence[Judge], both_orders: bool, repeats: int, how: How) -> Judge:
    """Return the panel of these judges, an existing or a new one with its own rater.

    Raises PanelRefused if the judges answer different criteria, one is given twice, or one of several is a rule.
    """
    first = jurors[0]
    if len({juror.pk for juror in jurors}) != len(jurors):
        raise PanelRefused(f"Judge {first} is in this panel twice; give each model once.")
    if len({(METHODS[juror.method].role, METHODS[juror.method].task_kind) for juror in jurors}) != 1:
        raise PanelRefused("The judges of a panel must answer the same criteria with methods of the same kind.")
    if len(jurors) > 1 and (rule := next((one for one in jurors if needs_no_call(one.method)), None)):
        raise PanelRefused(f"Judge {rule} is a rule and cannot be part of a panel; use it alone.")
    parameters = {
        "jurors": [juror.pk for juror in jurors],
        "both_orders": both_orders,
        "repeats": repeats,
        "combine": str(how),
    }
    known = Judge.objects.filter(workspace=first.workspace, method=first.method, parameters=parameters).first()
    if known is not None:
        return known
    with transaction.atomic():
        rater = Rater.objects.create(
            workspace=first.workspace,
            kind=Rater.Kind.JUDGE,
            label=_free_label(first, _label(jurors, both_orders, repeats, how)),
            provenance=next((juror.rater.provenance for juror in jurors if juror.rater.provenance), ""),
        )
        panel = Judge.objects.create(
            workspace=first.workspace,
            rater=rater,
            language_model=first.language_model if len(jurors) == 1 else None,
            method=first.method,
            prompt=first.prompt,
            prompt_hash=first.prompt_hash,
            parameters=parameters,
        )
        panel.jurors.set(jurors)
    return panel


def judges_to_ask(workspace: Workspace) -> "QuerySet[Judge]":
    """Return the judges that a run can name: all but panels that a run makes of several judges, orders or repeats."""
    found = Judge.objects.filter(workspace=workspace).filter(Q(jurors=None) | Q(method__in=FITTED))
    return found.select_related("rater", "language_model__endpoint").distinct()


def _label(jurors: Sequence[Judge], both_orders: bool, repeats: int, how: How) -> str:
    """Return a name such as 'a + b (majority), both orders, 3 times'."""
    names = " + ".join(juror.rater.label for juror in jurors)
    parts = [f"{names} ({how})" if len(jurors) > 1 else names]
    if both_orders:
        parts.append("both orders")
    if repeats > 1:
        parts.append(f"{repeats} times")
    return ", ".join(parts)


def _free_label(judge: Judge, plain: str) -> str:
    plain = plain[: LONGEST_LABEL - 6]
    taken = set(
        Rater.objects.filter(workspace=judge.workspace, kind=Rater.Kind.JUDGE, label__startswith=plain).values_list(
            "label", flat=True
        )
    )
    return next(label for label in (plain, *(f"{plain} {n}" for n in range(2, 1000))) if label not in taken)
