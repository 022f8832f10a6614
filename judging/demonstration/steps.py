"""The steps by which the demonstration is made: texts and ratings, weights, and a judge. Each changes nothing once done."""

import json
from datetime import UTC, datetime

from django.conf import settings
from django.db import transaction

from accounts.models import User, Workspace
from annotation.models import Study
from annotation.rubrics.library import load_rubrics
from calibration.fits.store import publish_fit
from calibration.models import Fit
from generation.library.loading import load_taxonomy
from judging.demonstration.making import (
    BENCHMARK,
    SLUG,
    load_texts,
    make_scripted_model,
    make_study,
    published_statistics,
    simulate_raters,
)

FIXTURES = settings.BASE_DIR / "fixtures"
SEED = 20_24
FIT_NAME = "demo"
RATED_FROM = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@transaction.atomic
def make_ratings(workspace: Workspace, *, lead: User) -> tuple[Study, int]:
    """Return the study with its simulated ratings, made completely or not at all, and how many were made now."""
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    known = Study.objects.filter(workspace=workspace, slug=SLUG).first()
    if known is not None:
        return known, 0
    described = json.loads((FIXTURES / "demo" / "benchmark.json").read_text(encoding="utf-8"))
    benchmark, _counts = load_taxonomy(workspace, described)
    load_rubrics(
        workspace, benchmark, json.loads((FIXTURES / "rubrics" / f"{BENCHMARK}.json").read_text(encoding="utf-8"))
    )
    load_texts(workspace, FIXTURES / "demo")
    study = make_study(benchmark, lead=lead, seed=SEED)
    answers = simulate_raters(
        study, FIXTURES / "demo", published=published_statistics(FIXTURES), seed=SEED, start=RATED_FROM
    )
    make_scripted_model(study, FIXTURES / "demo", seed=SEED)
    return study, answers


def published_fit(workspace: Workspace) -> Fit | None:
    return Fit.objects.filter(study__slug=SLUG, workspace=workspace, published_name=FIT_NAME).first()


def publish_weights(workspace: Workspace) -> None:
    """Publish the study's fitted weights, which the leaderboard uses."""
    fit = Fit.objects.filter(study__slug=SLUG, workspace=workspace, kind=Fit.Kind.FITTED).first()
    if fit is not None and not Fit.objects.filter(workspace=workspace, published_name=FIT_NAME).exists():
        publish_fit(fit=fit, name=FIT_NAME)
