"""Files of the pages of judges, their runs, alignments and drift monitors."""

from rest_framework.request import Request

from accounts.api.lists import Unusable, asking
from accounts.permissions import workspaces_read_by
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.endpoints.pricing import currency_of
from judging.alignment.results import alignment_report
from judging.api.aligning import alignment_to_read
from judging.api.comparisons import BRIDGED, bridged
from judging.api.files.page_files import PageFiles, addresses, files_of_page
from judging.api.probing import judge_to_read
from judging.api.results import run_to_read
from judging.cards.card import judge_card
from judging.cards.table import request_missing, workspace_table
from judging.monitoring.access import monitor_read_by
from judging.monitoring.readings import readings
from judging.probes.results import probe_report
from judging.web.alignment.blocks import alignment_page
from judging.web.judges.card import card_page
from judging.web.judges.table import workspace_page
from judging.web.monitoring.blocks import watch_panel
from judging.web.probes.blocks import probe_page
from judging.web.runs.bridge import bridge_page, category_names


def _all_judges(request: Request) -> PageFiles:
    found = workspace_table(workspaces_read_by(asking(request)))
    return files_of_page(workspace_page(found, request_missing(found)), "judges")


def _card(request: Request, public_id: str) -> PageFiles:
    rater = judge_to_read(request, public_id)
    card = judge_card(rater, currency_of(rater.workspace_id))
    return files_of_page(card_page(card), card.judge.name)


def _bridge(request: Request, public_id: str) -> PageFiles:
    new, found, people = bridged(request, public_id)
    return files_of_page(bridge_page(found, category_names(new), people), f"{new.study.slug}-bridge")


def _probes(request: Request, public_id: str) -> PageFiles:
    run = run_to_read(request, public_id)
    try:
        return files_of_page(probe_page(probe_report(run)), f"{run.study.slug}-probes")
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem


def _alignment(request: Request, public_id: str) -> PageFiles:
    found = alignment_to_read(request, public_id)
    return files_of_page(alignment_page(alignment_report(found)), f"{found.study.slug}-alignment")


def _monitor(request: Request, public_id: str) -> PageFiles:
    found = monitor_read_by(asking(request), public_id)
    return files_of_page(watch_panel(found, readings(found)).page, "watch")


OF_JUDGES = [
    *addresses("judges/table/", "all_judges", "of the table of all judges", _all_judges),
    *addresses("judges/<str:public_id>/card/", "judge_card", "of the card of a judge", _card),
    *addresses(
        "runs/<str:public_id>/bridge/", "bridge", "of the bridge between two judges", _bridge, parameters=BRIDGED
    ),
    *addresses("runs/<str:public_id>/probes/", "probes", "of a run of probes", _probes),
    *addresses("alignments/<str:public_id>/", "alignment", "of an alignment", _alignment),
    *addresses("monitors/<str:public_id>/", "monitor", "of a drift monitor", _monitor),
]
