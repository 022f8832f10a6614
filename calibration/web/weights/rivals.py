"""The block that compares fitted weights with ridge regression and partial least squares."""

from collections.abc import Callable, Sequence

from django.utils.translation import gettext

from calibration.figures.drawing import number
from calibration.reports.codec import Missing
from calibration.reports.weights import CategoryDepth
from calibration.statistics.weights.rivals import METHODS, RivalMethods
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.populations import gain_words
from calibration.web.messages.reasons import missing_notes, reason_of


def rivals_block(rows: Sequence[CategoryDepth], name: Callable[[str], str], of: str) -> Block:
    """Say in a line which method predicts people best and whether that is shown; the table has every category."""
    title = gettext("Which method predicts people best")
    known = [(row.key, row.rivals) for row in rows if not isinstance(row.rivals, Missing)]
    if not known:
        assert isinstance(rows[0].rivals, Missing)
        return Block("rivals", title, reason=reason_of(rows[0].rivals))
    table = Table(
        [
            Column(gettext("Category")),
            *(Column(gettext("R², held out: %(method)s") % {"method": method_words(key)}, 3) for key in METHODS),
            Column(gettext("Best")),
            Column(gettext("Gain over the next"), 3),
            Column(gettext("p, corrected"), 4, floor=0.0001),
            Column(gettext("Shown")),
        ],
        [
            [
                name(key),
                *(found.r2[method] for method in METHODS),
                method_words(found.best),
                found.gain.value,
                found.p,
                gettext("yes") if found.certain else gettext("not shown"),
            ]
            for key, found in known
        ],
    )
    notes = [
        gettext(
            "All methods predict the same held-out %(of)s in %(folds)d folds. Ridge regression and partial least squares "
            "have an intercept and are tuned on the folds they are fitted to. The p value corrects the best method's "
            "comparisons for all six pairs of methods (Holm)."
        )
        % {"of": of, "folds": known[0][1].folds},
        *missing_notes((name(row.key), row.rivals) for row in rows),
    ]
    answer = _one(known[0][1]) if len(known) == 1 else _several([found for _, found in known])
    return Block("rivals", title, answer=answer, table=table, notes=notes, folded=True)


def method_words(method: str) -> str:
    return {
        "weights": gettext("fitted weights"),
        "equal": gettext("equal weights"),
        "ridge": gettext("ridge regression"),
        "pls": gettext("partial least squares"),
    }[method]


def _one(found: RivalMethods) -> str:
    certain = gettext(
        "People are predicted best by %(best)s (R² %(r2)s); the next, %(second)s, have a mean squared error higher by "
        "%(gain)s. The difference is shown (corrected for all pairs of methods)."
    )
    unknown = gettext(
        "Which method predicts people best is not shown: %(best)s have the least error (R² %(r2)s), and the mean squared "
        "error of the next, %(second)s, is higher by %(gain)s."
    )
    said = (certain if found.certain else unknown) % {
        "best": method_words(found.best),
        "second": method_words(found.second),
        "r2": number(found.r2[found.best]),
        "gain": gain_words(found.gain),
    }
    return said[0].upper() + said[1:]


def _several(known: Sequence[RivalMethods]) -> str:
    counts: dict[str, int] = {method: sum(found.best == method for found in known) for method in METHODS}
    return gettext(
        "The least error is that of fitted weights in %(weights)d of %(all)d categories, of equal weights in %(equal)d, of "
        "ridge regression in %(ridge)d and of partial least squares in %(pls)d; the difference from every other method is "
        "shown in %(certain)d."
    ) % (counts | {"all": len(known), "certain": sum(found.certain for found in known)})
