"""The newest run of probes of a judge that has a result."""

from collections.abc import Sequence

from annotation.models import Rater
from core.errors import UserError
from judging.models import JudgeRun
from judging.probes.results import ProbeReport, probe_report

TRIED = 5
"""The newest runs of a judge among which one with a result is looked for."""


def newest_probes(raters: Sequence[Rater]) -> dict[int, tuple[str, ProbeReport]]:
    """Return the public id and the report of each judge's newest run of probes that has a result, by pk of its rater."""
    runs = JudgeRun.objects.filter(judge__rater__in=[rater.pk for rater in raters], probes__isnull=False)
    tried: dict[int, int] = {}
    found: dict[int, tuple[str, ProbeReport]] = {}
    for run in runs.select_related("judge__rater", "study").order_by("-created_at", "-pk"):
        pk = run.judge.rater_id
        if pk in found or tried.get(pk, 0) == TRIED:
            continue
        tried[pk] = tried.get(pk, 0) + 1
        try:
            found[pk] = run.public_id, probe_report(run)
        except UserError:
            continue
    return found
