"""The computation and permanent storage of a fit of checklist weights, with the data it was computed from.

A stored fit holds its own rows, in labels, so it can be repeated to the last digit after the study has continued.
"""

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from accounts.models import Event, User
from annotation.models import Rater, Study
from annotation.monitoring.exclusion import exclusions_changed_since
from calibration.data.frames import ABOUT_RESPONSES, ScoreFrame, data_hash
from calibration.data.labels import CategoryRows, checklist_rows
from calibration.data.scores import label_frame
from calibration.fits.categories import (
    FitRefused,
    FitSettings,
    FittedCategory,
    LabelledRows,
    Progress,
    fit_categories,
    rows_to_json,
)
from calibration.models import CategoryFit, Fit, FittedWeight, fitted_kind
from calibration.statistics.weights.certificates import certificate_to_dict, pooled_to_dict
from generation.execution.code_version import code_version

RESERVED_NAMES = ("equal", "published")  # what leaderboards call weights that are no fit's own


def run_fit(
    *,
    study: Study,
    floor: float = 0.5,
    pool: bool = False,
    seed: int = 0,
    draws: int = 1000,
    skip_small: bool = False,
    user: User | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit weights to people's answers in a study and store them; nothing is stored if any category fails.

    The same data, settings and versions return the fit that is already stored, unless exclusions changed since.
    `skip_small` leaves out categories with fewer answers than items. Raises FitRefused, and NothingToRead if no person
    has answered the checklist.
    """
    settings = FitSettings(floor, pool, draws, seed)
    frame = label_frame(kinds=ABOUT_RESPONSES, study=study)
    rows = checklist_rows(frame)
    kept, skipped = _large_enough(labelled_rows(frame, rows), skip_small)
    stored = {**asdict(settings), "skipped": skipped}
    hashed = data_hash(frame)
    known = _same_fit(study, stored, hashed)
    if known is not None:
        return known
    leaves = {row.key: row.category for row in rows}
    return _store(study, fit_categories(kept, settings, progress), stored, hashed, leaves, user)


def _same_fit(study: Study, settings: Mapping[str, object], hashed: str) -> Fit | None:
    """Find a stored fit of the same data with the same settings and versions, which give the same result."""
    fits = Fit.objects.filter(study=study, data_hash=hashed, kind=fitted_kind())
    same = next((fit for fit in fits if fit.settings == settings and fit.versions == versions()), None)
    if same is not None and exclusions_changed_since(study, same.created_at):
        return None  # the newest fit is the study's, so these answers need one made after the last exclusion
    return same


def labelled_rows(frame: ScoreFrame, rows: Sequence[CategoryRows]) -> list[LabelledRows]:
    """Convert the frame's complete checklist answers to labels that mean the same in any database, by category."""
    slots = set(
        Rater.objects.filter(pk__in=np.unique(frame.rater).tolist(), kind=Rater.Kind.SLOT).values_list("pk", flat=True)
    )
    return [_in_labels(frame, row, slots) for row in rows]


def _in_labels(frame: ScoreFrame, row: CategoryRows, slots: set[int]) -> LabelledRows:
    raters = np.unique(row.rater).tolist()
    persons = not slots.intersection(raters)
    return LabelledRows(
        key=row.key,
        parent=frame.category_names.get(row.parent, ""),
        items=row.keys,
        answers=row.answers,
        overall=row.overall,
        instructions=tuple(frame.instruction_ids[pk] for pk in row.instruction.tolist()),
        raters=tuple(frame.rater_names[pk] for pk in row.rater.tolist()) if persons else (),
        models=tuple(frame.model_names[pk] for pk in row.model.tolist()) if row.model.all() else (),
        dropped_not_applicable=row.dropped_not_applicable,
        dropped_incomplete=row.dropped_incomplete,
    )


def _large_enough(rows: Sequence[LabelledRows], skip_small: bool) -> tuple[list[LabelledRows], dict[str, int]]:
    """Return the categories with at least as many answers as items, and the numbers of answers of the others."""
    small = [row for row in rows if len(row.overall) < len(row.items)]
    kept = [row for row in rows if len(row.overall) >= len(row.items)]
    if small and (not skip_small or not kept):
        counts = [(row.key, len(row.overall), len(row.items)) for row in small]
        named = ", ".join(f"{key} ({answers} answers, {items} items)" for key, answers, items in counts)
        remedy = " or leave such categories out with --skip-small" if kept else ""
        raise FitRefused(f"Fewer complete answers than items in {named}; collect more answers{remedy}.", small=counts)
    return kept, {row.key: len(row.overall) for row in small}


@transaction.atomic
def _store(
    study: Study,
    fitted: Sequence[FittedCategory],
    settings: Mapping[str, object],
    hashed: str,
    leaves: Mapping[str, int],
    user: User | None,
) -> Fit:
    fit = Fit.objects.create(
        workspace=study.workspace,
        kind=fitted_kind(),
        study=study,
        benchmark=study.benchmark,
        settings=dict(settings),
        data_hash=hashed,
        versions=versions(),
        created_by=user,
    )
    weights = []
    for position, one in enumerate(fitted):
        category = CategoryFit.objects.create(
            fit=fit,
            category_id=leaves[one.rows.key] or None,
            key=one.rows.key,
            position=position,
            n=len(one.rows.overall),
            r2=one.r2,
            mse=one.mse,
            diagnostics=_diagnostics(one),
            rows=rows_to_json(one.rows),
        )
        weights += _weight_rows(category, one)
    FittedWeight.objects.bulk_create(weights)
    Event.objects.create(
        workspace=study.workspace,
        actor=user,
        verb="fitted",
        object_type="fit",
        object_id=fit.public_id,
        after={"study": study.slug, "categories": len(fitted)},
    )
    return fit


def _weight_rows(category: CategoryFit, one: FittedCategory) -> list[FittedWeight]:
    """Build the rows of weights. The stored interval is the one over instructions; a pooled weight has none."""
    intervals = one.certificate.intervals.get("instruction") if one.pooled is None else None
    stated = intervals is not None and intervals.interval_kind != "none"
    at_floor = [raw <= one.certificate.fit.floor + 1e-9 for raw in one.raw_weights]
    return [
        FittedWeight(
            category_fit=category,
            criterion_key=key,
            position=position,
            weight=weight,
            raw_weight=raw,
            low=float(intervals.weights_low[position]) if intervals and stated else None,
            high=float(intervals.weights_high[position]) if intervals and stated else None,
            at_floor=at_floor[position],
        )
        for position, (key, weight, raw) in enumerate(zip(one.rows.items, one.weights, one.raw_weights, strict=True))
    ]


def _diagnostics(one: FittedCategory) -> dict[str, object]:
    return {
        "certificate": certificate_to_dict(one.certificate),
        "pooled": pooled_to_dict(one.pooled) if one.pooled else None,
        "dropped_not_applicable": one.rows.dropped_not_applicable,
        "dropped_incomplete": one.rows.dropped_incomplete,
    }


def versions() -> dict[str, str]:
    """Return the versions of the software that computes a fit; this program's includes its commit if that is known."""
    found = {"python": platform.python_version(), "plumbline": code_version()}
    for package in ("numpy", "scipy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "from source"
    return found


def publish_fit(*, fit: Fit, name: str, user: User | None = None) -> Fit:
    """Give a fit the name by which leaderboards refer to it, once and for good. Raises FitRefused."""
    if not re.fullmatch(r"[-\w]{1,100}", name, re.ASCII):
        raise FitRefused(
            gettext("A fit's name is 1 to 100 letters, digits, - and _; %(name)s is not.") % {"name": repr(name[:50])}
        )
    if name in RESERVED_NAMES:
        raise FitRefused(
            gettext("Leaderboards call other weights %(name)s already; choose another name.") % {"name": repr(name)}
        )
    if fit.kind == Fit.Kind.WITH_EXCLUDED:
        raise FitRefused(
            gettext(
                "This fit counts excluded answers, so it cannot be published; publish one of the answers that count."
            )
        )
    if fit.published_name and fit.published_name != name:
        raise FitRefused(
            gettext("This fit is already published as %(name)s; fit again with other settings to use another name.")
            % {"name": repr(fit.published_name)}
        )
    try:
        with transaction.atomic():
            changed = Fit.objects.filter(pk=fit.pk, published_name="").update(published_name=name)
            if changed:
                Event.objects.create(
                    workspace=fit.workspace,
                    actor=user,
                    verb="published",
                    object_type="fit",
                    object_id=fit.public_id,
                    after={"name": name},
                )
    except IntegrityError as error:
        raise FitRefused(
            gettext("Another fit of this workspace is published as %(name)s; choose another name.")
            % {"name": repr(name)}
        ) from error
    fit.refresh_from_db()
    return fit
