"""A method for each operation of the API. Written by tests/client_code.py; do not change it by hand."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from plumbline.client.generated import shapes
from plumbline.client.transport import Download, Transport, address


class Operations:
    """The operations by their names in the schema; lists are read page by page."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add_checklists(self, workspace: str, body: shapes.SentChecklists) -> shapes.StoredRows:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.

        Needs a token with the scope `change`.
        """
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/checklists/", workspace), body=body, keyed=True
        )
        return answered

    def add_checks(self, workspace: str, body: shapes.SentChecks) -> shapes.StoredRows:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.

        Needs a token with the scope `change`.
        """
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/checks/", workspace), body=body, keyed=True
        )
        return answered

    def add_endpoint(self, workspace: str, body: shapes.WantedEndpoint) -> shapes.Endpoint:
        """List the endpoints of a workspace, or add one (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.Endpoint = self._transport.answer(
            "POST", address("w/{}/endpoints/", workspace), body=body, keyed=True
        )
        return answered

    def add_found_models(self, workspace: str, id: int, body: shapes.WantedFoundModels) -> list[shapes.ServedModel]:
        """Return the models that an endpoint's last test listed and nobody has added, or add some (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: list[shapes.ServedModel] = self._transport.answer(
            "POST", address("w/{}/endpoints/{}/models/", workspace, id), body=body, keyed=True
        )
        return answered

    def add_gold(self, workspace: str, body: shapes.SentGold) -> shapes.StoredRows:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.

        Needs a token with the scope `change`.
        """
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/gold/", workspace), body=body, keyed=True
        )
        return answered

    def add_instructions(self, workspace: str, body: shapes.SentInstructions) -> shapes.StoredRows:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.

        Needs a token with the scope `change`.
        """
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/instructions/", workspace), body=body, keyed=True
        )
        return answered

    def add_model(self, workspace: str, body: shapes.WantedModel) -> shapes.ServedModel:
        """Add a model to a workspace (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.ServedModel = self._transport.answer(
            "POST", address("w/{}/models/", workspace), body=body, keyed=True
        )
        return answered

    def add_preferences(self, workspace: str, body: shapes.SentPreferences) -> shapes.StoredRows:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.

        Needs a token with the scope `change`.
        """
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/preferences/", workspace), body=body, keyed=True
        )
        return answered

    def add_raters(self, workspace: str, body: shapes.SentRaters) -> shapes.StoredRows:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.

        Needs a token with the scope `change`.
        """
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/raters/", workspace), body=body, keyed=True
        )
        return answered

    def add_ratings(self, workspace: str, body: shapes.SentRatings) -> shapes.StoredRows:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.

        Needs a token with the scope `change`.
        """
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/ratings/", workspace), body=body, keyed=True
        )
        return answered

    def add_responses(self, workspace: str, body: shapes.SentResponses) -> shapes.StoredRows:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.

        Needs a token with the scope `change`.
        """
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/responses/", workspace), body=body, keyed=True
        )
        return answered

    def add_rubrics(self, workspace: str, body: shapes.SentRubrics) -> shapes.StoredRows:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.

        Needs a token with the scope `change`.
        """
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/rubrics/", workspace), body=body, keyed=True
        )
        return answered

    def add_truth(self, workspace: str, body: shapes.SentTruth) -> shapes.StoredRows:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.

        Needs a token with the scope `change`.
        """
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/truth/", workspace), body=body, keyed=True
        )
        return answered

    def add_version(self, public_id: str, body: shapes.WantedVersion) -> dict[str, Any]:
        """Add a judge as a version (201 with the report); it is asked by an ordinary run.

        Needs a token with the scope `change`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "POST", address("alignments/{}/versions/", public_id), body=body
        )
        return answered

    def add_webhook(self, workspace: str, body: shapes.WantedWebhook) -> shapes.NewWebhook:
        """List the webhooks of a workspace, or add one, whose answer alone has its secret (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.NewWebhook = self._transport.answer("POST", address("w/{}/webhooks/", workspace), body=body)
        return answered

    def adjudicate(
        self, workspace: str, slug: str, task: str, body: shapes.WantedAdjudication, *, unchanged: bool = False
    ) -> shapes.Adjudication:
        """Return your own answer to a task, or give it: it decides the task and is left out of all results.

        Needs a token with the scope `change`.
        """
        answered: shapes.Adjudication = self._transport.answer(
            "PUT",
            address("w/{}/studies/{}/tasks/{}/adjudication/", workspace, slug, task),
            body=body,
            unchanged=unchanged,
        )
        return answered

    def adjudication(self, workspace: str, slug: str, task: str) -> shapes.Adjudication:
        """Return your own answer to a task, or give it: it decides the task and is left out of all results.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.Adjudication = self._transport.answer(
            "GET", address("w/{}/studies/{}/tasks/{}/adjudication/", workspace, slug, task)
        )
        return answered

    def alignment(self, public_id: str) -> dict[str, Any]:
        """What is known of every version; of the test part, what looks found: the output of `manage.py align --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("alignments/{}/", public_id))
        return answered

    def alignment_drafts(self, public_id: str) -> dict[str, Any]:
        """The prompts that models proposed, none of which is a judge; `fault` says why it could not be one as it is.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("alignments/{}/drafts/", public_id))
        return answered

    def alignment_file(self, public_id: str, name: str) -> Download:
        """Return a figure of an alignment as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(address("alignments/{}/files/{}/", public_id, name))
        return answered

    def alignment_files(self, public_id: str) -> shapes.PageFiles:
        """List the figures and tables of an alignment, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer("GET", address("alignments/{}/files/", public_id))
        return answered

    def alignments(self, workspace: str, slug: str) -> dict[str, Any]:
        """The study's alignments, the newest first.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET", address("w/{}/studies/{}/alignments/", workspace, slug)
        )
        return answered

    def all_judges_file(self, name: str) -> Download:
        """Return a figure of the table of all judges as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or
        Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(address("judges/table/files/{}/", name))
        return answered

    def all_judges_files(self) -> shapes.PageFiles:
        """List the figures and tables of the table of all judges, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer("GET", "judges/table/files/")
        return answered

    def all_judges_table(self) -> dict[str, Any]:
        """All judges that you may read, as their studies' tables were last computed: `manage.py judge_card --all --json`.

        Judges of the studies in `without` are missing; with `being_computed` a worker computes them, so ask again in a
        moment.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", "judges/table/")
        return answered

    def all_scores(
        self,
        workspace: str,
        slug: str,
        *,
        as_: Literal["", "jsonl", "parquet"] = "",
        criterion: str = "",
        every_revision: bool = False,
        rater_kind: Literal["", "judge", "key", "person", "slot"] = "",
    ) -> Download:
        """Return every answer of a study in one stream, with the columns of its scores.

        An answer that breaks off is not complete: read it again.

        Needs a token with the scope `ratings`.
        """
        answered: Download = self._transport.download(
            address("w/{}/studies/{}/scores/all/", workspace, slug),
            {"as": as_, "criterion": criterion, "every_revision": every_revision, "rater_kind": rater_kind},
        )
        return answered

    def answer_browser(
        self, workspace: str, slug: str, id: str, verb: Literal["admit", "refuse"]
    ) -> shapes.BrowserRequest:
        """Let a browser go on as the rater, or refuse it; one that was answered so already stays so.

        Needs a token with the scope `change`.
        """
        answered: shapes.BrowserRequest = self._transport.answer(
            "POST", address("w/{}/studies/{}/browser-requests/{}/{}/", workspace, slug, id, verb)
        )
        return answered

    def apply_curation(self, workspace: str, slug: str, body: shapes.WantedRules) -> shapes.Tagged | shapes.HandedOver:
        """Give the tag to the instructions that stay and take it from the others (for owners and leads).

        A worker does so for a large benchmark; then the answer is 202.

        Needs a token with the scope `change`.
        """
        answered: shapes.Tagged | shapes.HandedOver = self._transport.answer(
            "POST", address("w/{}/benchmarks/{}/curation/apply/", workspace, slug), body=body
        )
        return answered

    def approvals(self, workspace: str, slug: str, id: int) -> list[shapes.Approval]:
        """Return a cohort's list to approve or reject, a row for each rater (for owners and leads).

        It has the ids by which the platform knows people, and each reading is logged.

        Needs a token with the scope `ratings`.
        """
        answered: list[shapes.Approval] = self._transport.answer(
            "GET", address("w/{}/studies/{}/cohorts/{}/approvals/", workspace, slug, id)
        )
        return answered

    def approve_checklist(
        self, workspace: str, slug: str, instruction: str, body: shapes.WantedOwnChecklist, *, unchanged: bool = False
    ) -> shapes.DraftedChecklist:
        """Return the drafts for an instruction, or approve questions as its own checklist (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.DraftedChecklist = self._transport.answer(
            "PUT",
            address("w/{}/benchmarks/{}/drafted-checklists/{}/", workspace, slug, instruction),
            body=body,
            unchanged=unchanged,
        )
        return answered

    def archive_study(self, workspace: str, slug: str) -> shapes.Study:
        """Archive a study that is not open, so that lists on pages leave it out; its results stay readable.

        Needs a token with the scope `change`.
        """
        answered: shapes.Study = self._transport.answer("POST", address("w/{}/studies/{}/archive/", workspace, slug))
        return answered

    def ask_difficulty(self, workspace: str, slug: str) -> shapes.QuestionsBenchmark:
        """Make the questions that ask models how difficult each instruction is (for owners and leads).

        A generation run of the benchmark with these questions has models answer them.

        Needs a token with the scope `change`.
        """
        answered: shapes.QuestionsBenchmark = self._transport.answer(
            "POST", address("w/{}/benchmarks/{}/curation/questions/", workspace, slug), keyed=True
        )
        return answered

    def ask_for_drafts(self, workspace: str, slug: str) -> shapes.QuestionsBenchmark:
        """List the instructions with drafts; or make the questions that ask models for drafts (for owners and leads).

        A generation run of the benchmark with these questions has models write the drafts.

        Needs a token with the scope `change`.
        """
        answered: shapes.QuestionsBenchmark = self._transport.answer(
            "POST", address("w/{}/benchmarks/{}/drafted-checklists/", workspace, slug), keyed=True
        )
        return answered

    def bad_rows(self, public_id: str) -> Download:
        """Return all bad rows of the last check or load as CSV: file, line, reason and remedy.

        Needs a token with the scope `change`.
        """
        answered: Download = self._transport.download(address("uploads/{}/bad-rows/", public_id))
        return answered

    def begin_alignment(self, workspace: str, slug: str, body: shapes.WantedAlignment) -> dict[str, Any]:
        """Split the study's instructions into training, validation and test (201); 400 where there are too few.

        Needs a token with the scope `change`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "POST", address("w/{}/studies/{}/alignments/begin/", workspace, slug), body=body, keyed=True
        )
        return answered

    def benchmarks(self) -> Iterator[shapes.Benchmark]:
        """Benchmarks of the workspaces whose results you may read.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Benchmark] = self._transport.rows("benchmarks/")
        return answered

    def board(
        self,
        workspace: str,
        slug: str,
        *,
        against: Sequence[str] = (),
        category: str = "",
        discredited: bool = False,
        excluded: Literal["", "shown"] = "",
        experiment: str = "",
        family: str = "",
        group_weights: str = "",
        groups: Literal["", "tags"] = "",
        judge: str,
        language: str = "",
        largest: float | None = None,
        least: int | None = None,
        margin: int | None = None,
        measure: Literal["", "points", "stars", "graded", "mean", "wins", "reward", "fulfilled"] = "",
        smallest: float | None = None,
        tag: str = "",
        weights: str = "",
    ) -> dict[str, Any]:
        """The models of a benchmark ranked by a judge's verdicts, unrounded: the output of `manage.py leaderboard --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET",
            address("w/{}/leaderboards/{}/", workspace, slug),
            query={
                "against": against,
                "category": category,
                "discredited": discredited,
                "excluded": excluded,
                "experiment": experiment,
                "family": family,
                "group_weights": group_weights,
                "groups": groups,
                "judge": judge,
                "language": language,
                "largest": largest,
                "least": least,
                "margin": margin,
                "measure": measure,
                "smallest": smallest,
                "tag": tag,
                "weights": weights,
            },
        )
        return answered

    def board_file(
        self,
        workspace: str,
        slug: str,
        name: str,
        *,
        against: Sequence[str] = (),
        category: str = "",
        discredited: bool = False,
        excluded: Literal["", "shown"] = "",
        experiment: str = "",
        family: str = "",
        group_weights: str = "",
        groups: Literal["", "tags"] = "",
        judge: str,
        language: str = "",
        largest: float | None = None,
        least: int | None = None,
        margin: int | None = None,
        measure: Literal["", "points", "stars", "graded", "mean", "wins", "reward", "fulfilled"] = "",
        smallest: float | None = None,
        tag: str = "",
        weights: str = "",
    ) -> Download:
        """Return a figure of a leaderboard as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/leaderboards/{}/files/{}/", workspace, slug, name),
            {
                "against": against,
                "category": category,
                "discredited": discredited,
                "excluded": excluded,
                "experiment": experiment,
                "family": family,
                "group_weights": group_weights,
                "groups": groups,
                "judge": judge,
                "language": language,
                "largest": largest,
                "least": least,
                "margin": margin,
                "measure": measure,
                "smallest": smallest,
                "tag": tag,
                "weights": weights,
            },
        )
        return answered

    def board_files(
        self,
        workspace: str,
        slug: str,
        *,
        against: Sequence[str] = (),
        category: str = "",
        discredited: bool = False,
        excluded: Literal["", "shown"] = "",
        experiment: str = "",
        family: str = "",
        group_weights: str = "",
        groups: Literal["", "tags"] = "",
        judge: str,
        language: str = "",
        largest: float | None = None,
        least: int | None = None,
        margin: int | None = None,
        measure: Literal["", "points", "stars", "graded", "mean", "wins", "reward", "fulfilled"] = "",
        smallest: float | None = None,
        tag: str = "",
        weights: str = "",
    ) -> shapes.PageFiles:
        """List the figures and tables of a leaderboard, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer(
            "GET",
            address("w/{}/leaderboards/{}/files/", workspace, slug),
            query={
                "against": against,
                "category": category,
                "discredited": discredited,
                "excluded": excluded,
                "experiment": experiment,
                "family": family,
                "group_weights": group_weights,
                "groups": groups,
                "judge": judge,
                "language": language,
                "largest": largest,
                "least": least,
                "margin": margin,
                "measure": measure,
                "smallest": smallest,
                "tag": tag,
                "weights": weights,
            },
        )
        return answered

    def bonus_cap(self, workspace: str, slug: str) -> shapes.Cap:
        """Return the most that a study may send as bonuses, or set it (for owners and leads).

        The operator's cap stands above it.

        Needs a token with the scope `read`.
        """
        answered: shapes.Cap = self._transport.answer("GET", address("w/{}/studies/{}/bonus-cap/", workspace, slug))
        return answered

    def bonus_list(self, workspace: str, slug: str, id: int, public_id: str) -> shapes.WholeBonusList:
        """Return a list with its bonuses (for owners and leads). It has ids of submissions, and each reading is logged.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.WholeBonusList = self._transport.answer(
            "GET", address("w/{}/studies/{}/cohorts/{}/bonuses/{}/", workspace, slug, id, public_id)
        )
        return answered

    def bonus_lists(self, workspace: str, slug: str, id: int) -> Iterator[shapes.BonusList]:
        """List the bonus lists of a cohort, or set one up at Prolific, which pays nothing (for owners and leads).

        It is sent when the owner of the token confirms it, within an hour, on the page that the answer names.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.BonusList] = self._transport.rows(
            address("w/{}/studies/{}/cohorts/{}/bonuses/", workspace, slug, id)
        )
        return answered

    def bridge(self, public_id: str, *, margin: float | None = None, old: str) -> dict[str, Any]:
        """Model means on the scale of an old judge, from this run of a new one: the output of `manage.py bridge --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET", address("runs/{}/bridge/", public_id), query={"margin": margin, "old": old}
        )
        return answered

    def bridge_file(self, public_id: str, name: str, *, margin: float | None = None, old: str) -> Download:
        """Return a figure of the bridge between two judges as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs)
        or Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("runs/{}/bridge/files/{}/", public_id, name), {"margin": margin, "old": old}
        )
        return answered

    def bridge_files(self, public_id: str, *, margin: float | None = None, old: str) -> shapes.PageFiles:
        """List the figures and tables of the bridge between two judges, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer(
            "GET", address("runs/{}/bridge/files/", public_id), query={"margin": margin, "old": old}
        )
        return answered

    def browser_requests(self, workspace: str, slug: str) -> Iterator[shapes.BrowserRequest]:
        """List the requests to go on as a rater in another browser that wait for an answer (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: Iterator[shapes.BrowserRequest] = self._transport.rows(
            address("w/{}/studies/{}/browser-requests/", workspace, slug)
        )
        return answered

    def cancel_job(self, job_id: str) -> shapes.Job:
        """Cancel a job: what is done stays where it is of use, such as the verdicts of a run. A job that is over stays.

        Needs a token with the scope `change`.
        """
        answered: shapes.Job = self._transport.answer("POST", address("jobs/{}/cancel/", job_id))
        return answered

    def causes(self, workspace: str, slug: str, *, judge: str = "") -> dict[str, Any]:
        """Why a judge and people differ: the output of `manage.py compare_judge --causes --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET", address("w/{}/studies/{}/causes/", workspace, slug), query={"judge": judge}
        )
        return answered

    def change_bonus_cap(
        self, workspace: str, slug: str, body: shapes.WantedCap, *, unchanged: bool = False
    ) -> shapes.Cap:
        """Return the most that a study may send as bonuses, or set it (for owners and leads).

        The operator's cap stands above it.

        Needs a token with the scope `run`.
        """
        answered: shapes.Cap = self._transport.answer(
            "PUT", address("w/{}/studies/{}/bonus-cap/", workspace, slug), body=body, unchanged=unchanged
        )
        return answered

    def change_cohort(
        self, workspace: str, slug: str, id: int, body: shapes.PatchedCohortChanges, *, unchanged: bool = False
    ) -> shapes.OpenCohort:
        """Return a cohort with its entry link and completion codes, or change those and who may join (for owners and
        leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.OpenCohort = self._transport.answer(
            "PATCH", address("w/{}/studies/{}/cohorts/{}/", workspace, slug, id), body=body, unchanged=unchanged
        )
        return answered

    def change_endpoint(
        self, workspace: str, id: int, body: shapes.PatchedEndpointChanges, *, unchanged: bool = False
    ) -> shapes.Endpoint:
        """Return an endpoint, change what is sent of it, or remove it where it serves no model (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.Endpoint = self._transport.answer(
            "PATCH", address("w/{}/endpoints/{}/", workspace, id), body=body, unchanged=unchanged
        )
        return answered

    def change_minimum(
        self, workspace: str, slug: str, body: shapes.Minimum, *, unchanged: bool = False
    ) -> shapes.Minimum:
        """Return the minimum for a complete participation, or set it (for owners and leads); what is left out is none.

        Needs a token with the scope `change`.
        """
        answered: shapes.Minimum = self._transport.answer(
            "PUT", address("w/{}/studies/{}/minimum/", workspace, slug), body=body, unchanged=unchanged
        )
        return answered

    def change_model(
        self, workspace: str, id: int, body: shapes.PatchedModelChanges, *, unchanged: bool = False
    ) -> shapes.ServedModel:
        """Return a model, change what is sent of it, or remove it where nothing depends on it (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.ServedModel = self._transport.answer(
            "PATCH", address("w/{}/models/{}/", workspace, id), body=body, unchanged=unchanged
        )
        return answered

    def change_monitor(
        self, public_id: str, body: shapes.PatchedTerms, *, unchanged: bool = False
    ) -> shapes.MonitorState:
        """Return a monitor with its rounds and their tests, or change its interval and budget (for owners and leads).

        Needs a token with the scope `run`.
        """
        answered: shapes.MonitorState = self._transport.answer(
            "PATCH", address("monitors/{}/", public_id), body=body, unchanged=unchanged
        )
        return answered

    def change_pay(
        self, workspace: str, slug: str, id: int, body: shapes.WantedPay, *, unchanged: bool = False
    ) -> shapes.Pay:
        """Return what the raters of a cohort are paid, or state it (for owners and leads); it pays nothing.

        Needs a token with the scope `change`.
        """
        answered: shapes.Pay = self._transport.answer(
            "PUT", address("w/{}/studies/{}/cohorts/{}/pay/", workspace, slug, id), body=body, unchanged=unchanged
        )
        return answered

    def change_role(
        self, workspace: str, public_id: str, body: shapes.PatchedRole, *, unchanged: bool = False
    ) -> shapes.Member:
        """Return a member, change the role, or end the membership; the account and all answers remain.

        For owners and leads; only an owner changes owners and leads, and the last owner stays.

        Needs a token with the scope `members`.
        """
        answered: shapes.Member = self._transport.answer(
            "PATCH", address("w/{}/members/{}/", workspace, public_id), body=body, unchanged=unchanged
        )
        return answered

    def change_study_settings(
        self, workspace: str, slug: str, body: Mapping[str, Any], *, unchanged: bool = False
    ) -> dict[str, Any]:
        """Return the settings of a study as its setup page has them, or change those that are sent.

        Those on which ratings depend are fixed at launch; the answer is 400 if they are sent with another value.

        Needs a token with the scope `change`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "PATCH", address("w/{}/studies/{}/settings/", workspace, slug), body=body, unchanged=unchanged
        )
        return answered

    def change_webhook(self, workspace: str, public_id: str, body: shapes.PatchedWebhookChanges) -> shapes.Webhook:
        """Return a webhook, change what is sent of it, or remove it with its messages (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.Webhook = self._transport.answer(
            "PATCH", address("w/{}/webhooks/{}/", workspace, public_id), body=body
        )
        return answered

    def check_file(self, public_id: str) -> shapes.TableUpload:
        """Ask a worker what loading would store, and which rows are bad. Nothing is stored.

        Needs a token with the scope `change`.
        """
        answered: shapes.TableUpload = self._transport.answer("POST", address("uploads/{}/check/", public_id))
        return answered

    def closing(self, workspace: str, slug: str) -> shapes.Closing:
        """Return what closing the study would leave unfinished, as the page says before it asks.

        Needs a token with the scope `read`.
        """
        answered: shapes.Closing = self._transport.answer("GET", address("w/{}/studies/{}/closing/", workspace, slug))
        return answered

    def cohort(self, workspace: str, slug: str, id: int) -> shapes.OpenCohort:
        """Return a cohort with its entry link and completion codes, or change those and who may join (for owners and
        leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.OpenCohort = self._transport.answer(
            "GET", address("w/{}/studies/{}/cohorts/{}/", workspace, slug, id)
        )
        return answered

    def cohort_pay(self, workspace: str, slug: str, id: int) -> shapes.Pay:
        """Return what the raters of a cohort are paid, or state it (for owners and leads); it pays nothing.

        Needs a token with the scope `read`.
        """
        answered: shapes.Pay = self._transport.answer(
            "GET", address("w/{}/studies/{}/cohorts/{}/pay/", workspace, slug, id)
        )
        return answered

    def cohorts(self, workspace: str, slug: str) -> Iterator[shapes.Cohort]:
        """List the cohorts of a study, or make one (for owners and leads), whose answer has its entry link and codes.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Cohort] = self._transport.rows(address("w/{}/studies/{}/cohorts/", workspace, slug))
        return answered

    def compare_models(
        self,
        workspace: str,
        slug: str,
        *,
        category: str = "",
        excluded: Literal["", "shown"] = "",
        experiment: str = "",
        first: str,
        judge: str,
        language: str = "",
        margin: int | None = None,
        measure: str = "",
        second: str,
        tag: str = "",
        weights: str = "",
    ) -> shapes.ComparedModels:
        """Return how far two models of a leaderboard differ on the instructions that both answered, by category too.

        Needs a token with the scope `read`.
        """
        answered: shapes.ComparedModels = self._transport.answer(
            "GET",
            address("w/{}/leaderboards/{}/compare/", workspace, slug),
            query={
                "category": category,
                "excluded": excluded,
                "experiment": experiment,
                "first": first,
                "judge": judge,
                "language": language,
                "margin": margin,
                "measure": measure,
                "second": second,
                "tag": tag,
                "weights": weights,
            },
        )
        return answered

    def compare_runs(self, public_id: str, *, with_run: str) -> shapes.ComparedRuns:
        """Return how the verdicts of two runs over one study or benchmark differ; `compare/verdicts/` has them one by one.

        Needs a token with the scope `read`.
        """
        answered: shapes.ComparedRuns = self._transport.answer(
            "GET", address("runs/{}/compare/", public_id), query={"with_run": with_run}
        )
        return answered

    def compared_instruction(
        self,
        workspace: str,
        slug: str,
        instruction: str,
        *,
        category: str = "",
        excluded: Literal["", "shown"] = "",
        experiment: str = "",
        first: str,
        judge: str,
        language: str = "",
        margin: int | None = None,
        measure: str = "",
        second: str,
        tag: str = "",
        weights: str = "",
    ) -> shapes.ComparedInstruction:
        """Return one instruction in full: both responses, the judge's verdicts and reasons, and people's means beside
        them.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.ComparedInstruction = self._transport.answer(
            "GET",
            address("w/{}/leaderboards/{}/compare/instructions/{}/", workspace, slug, instruction),
            query={
                "category": category,
                "excluded": excluded,
                "experiment": experiment,
                "first": first,
                "judge": judge,
                "language": language,
                "margin": margin,
                "measure": measure,
                "second": second,
                "tag": tag,
                "weights": weights,
            },
        )
        return answered

    def compared_instructions(
        self,
        workspace: str,
        slug: str,
        *,
        category: str = "",
        excluded: Literal["", "shown"] = "",
        experiment: str = "",
        first: str,
        judge: str,
        language: str = "",
        margin: int | None = None,
        measure: str = "",
        order: Literal["", "first", "gap", "order", "second"] = "",
        second: str,
        tag: str = "",
        weights: str = "",
    ) -> Iterator[shapes.SharedInstruction]:
        """Return the instructions that both models answered, with the value of each.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.SharedInstruction] = self._transport.rows(
            address("w/{}/leaderboards/{}/compare/instructions/", workspace, slug),
            {
                "category": category,
                "excluded": excluded,
                "experiment": experiment,
                "first": first,
                "judge": judge,
                "language": language,
                "margin": margin,
                "measure": measure,
                "order": order,
                "second": second,
                "tag": tag,
                "weights": weights,
            },
        )
        return answered

    def compared_models_file(
        self,
        workspace: str,
        slug: str,
        name: str,
        *,
        category: str = "",
        excluded: Literal["", "shown"] = "",
        experiment: str = "",
        first: str,
        judge: str,
        language: str = "",
        margin: int | None = None,
        measure: str = "",
        second: str,
        tag: str = "",
        weights: str = "",
    ) -> Download:
        """Return a figure of two models as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/leaderboards/{}/compare/files/{}/", workspace, slug, name),
            {
                "category": category,
                "excluded": excluded,
                "experiment": experiment,
                "first": first,
                "judge": judge,
                "language": language,
                "margin": margin,
                "measure": measure,
                "second": second,
                "tag": tag,
                "weights": weights,
            },
        )
        return answered

    def compared_models_files(
        self,
        workspace: str,
        slug: str,
        *,
        category: str = "",
        excluded: Literal["", "shown"] = "",
        experiment: str = "",
        first: str,
        judge: str,
        language: str = "",
        margin: int | None = None,
        measure: str = "",
        second: str,
        tag: str = "",
        weights: str = "",
    ) -> shapes.PageFiles:
        """List the figures and tables of two models, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer(
            "GET",
            address("w/{}/leaderboards/{}/compare/files/", workspace, slug),
            query={
                "category": category,
                "excluded": excluded,
                "experiment": experiment,
                "first": first,
                "judge": judge,
                "language": language,
                "margin": margin,
                "measure": measure,
                "second": second,
                "tag": tag,
                "weights": weights,
            },
        )
        return answered

    def compared_verdicts(
        self, public_id: str, *, show: Literal["", "all", "higher", "lower", "moved", "turned"] = "", with_run: str
    ) -> Iterator[shapes.MovedVerdict]:
        """Return the verdicts of two runs over one study or benchmark beside each other.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.MovedVerdict] = self._transport.rows(
            address("runs/{}/compare/verdicts/", public_id), {"show": show, "with_run": with_run}
        )
        return answered

    def curated_instructions(
        self,
        workspace: str,
        slug: str,
        *,
        difficulty: int | None = None,
        languages: str = "",
        last_of_user: bool = False,
        longest: int | None = None,
        most_turns: int | None = None,
        shortest: int | None = None,
        show: Literal[
            "", "duplicate", "easy", "language", "long", "person", "short", "stay", "tag", "text", "turns", "user"
        ] = "",
        similarity: float | None = None,
        tag: str = "",
        without_tags: str = "",
    ) -> Iterator[shapes.CuratedInstruction]:
        """List a benchmark's instructions with why each would go by the rules, and what people decided.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.CuratedInstruction] = self._transport.rows(
            address("w/{}/benchmarks/{}/curation/instructions/", workspace, slug),
            {
                "difficulty": difficulty,
                "languages": languages,
                "last_of_user": last_of_user,
                "longest": longest,
                "most_turns": most_turns,
                "shortest": shortest,
                "show": show,
                "similarity": similarity,
                "tag": tag,
                "without_tags": without_tags,
            },
        )
        return answered

    def curation(
        self,
        workspace: str,
        slug: str,
        *,
        difficulty: int | None = None,
        languages: str = "",
        last_of_user: bool = False,
        longest: int | None = None,
        most_turns: int | None = None,
        shortest: int | None = None,
        similarity: float | None = None,
        tag: str = "",
        without_tags: str = "",
    ) -> shapes.Curation:
        """Return what the rules say of a benchmark's instructions, and change nothing.

        Needs a token with the scope `read`.
        """
        answered: shapes.Curation = self._transport.answer(
            "GET",
            address("w/{}/benchmarks/{}/curation/", workspace, slug),
            query={
                "difficulty": difficulty,
                "languages": languages,
                "last_of_user": last_of_user,
                "longest": longest,
                "most_turns": most_turns,
                "shortest": shortest,
                "similarity": similarity,
                "tag": tag,
                "without_tags": without_tags,
            },
        )
        return answered

    def decide_on_instruction(self, workspace: str, slug: str, body: shapes.WantedDecision) -> shapes.Decision:
        """Decide that an instruction stays or goes whatever the rules say, or take the decision back (for owners and
        leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.Decision = self._transport.answer(
            "POST", address("w/{}/benchmarks/{}/curation/decisions/", workspace, slug), body=body
        )
        return answered

    def decide_self_naming(
        self, workspace: str, slug: str, body: shapes.WantedHandling, *, unchanged: bool = False
    ) -> shapes.SelfNaming:
        """Return what becomes of responses that say which model wrote them, or decide it.

        Needs a token with the scope `change`.
        """
        answered: shapes.SelfNaming = self._transport.answer(
            "PUT", address("w/{}/studies/{}/self-naming/", workspace, slug), body=body, unchanged=unchanged
        )
        return answered

    def delete_study(self, workspace: str, slug: str, body: shapes.WantedDeletion) -> shapes.Deleted:
        """Delete a study with everything in it, as an owner of its workspace; 400 while it is open or in use.

        GET says what that would remove, and what stands against it.

        Needs a token with the scope `change`.
        """
        answered: shapes.Deleted = self._transport.answer(
            "POST", address("w/{}/studies/{}/delete/", workspace, slug), body=body
        )
        return answered

    def deliveries(self, workspace: str, public_id: str) -> Iterator[shapes.Delivery]:
        """List the messages of a webhook, with what came of each (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: Iterator[shapes.Delivery] = self._transport.rows(
            address("w/{}/webhooks/{}/deliveries/", workspace, public_id)
        )
        return answered

    def demonstration(self, workspace: str) -> shapes.Demonstration:
        """Return how far the demonstration of a workspace is (for owners and leads), or have a worker make it (202).

        Needs a token with the scope `change`.
        """
        answered: shapes.Demonstration = self._transport.answer("GET", address("w/{}/demonstration/", workspace))
        return answered

    def disagreements(
        self, workspace: str, slug: str, *, least: float | None = None, most: int | None = None
    ) -> shapes.Disagreements:
        """List the tasks on which raters disagree, the widest spread first, as the page Disagreements does.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.Disagreements = self._transport.answer(
            "GET", address("w/{}/studies/{}/disagreements/", workspace, slug), query={"least": least, "most": most}
        )
        return answered

    def discard_archive(self, public_id: str) -> None:
        """Remove an uploaded archive that no worker reads; what was loaded from it stays.

        Needs a token with the scope `change`.
        """
        self._transport.answer("POST", address("archives/{}/discard/", public_id))

    def discard_file(self, public_id: str) -> None:
        """Remove an uploaded file that no worker reads; what was loaded from it stays.

        Needs a token with the scope `change`.
        """
        self._transport.answer("POST", address("uploads/{}/discard/", public_id))

    def draft_checklist_questions(self, public_id: str, body: shapes.WantedDrafts) -> shapes.DraftingRun:
        """Have a model draft the questions (for owners and leads); it may cost money. The state has what it wrote.

        Needs a token with the scope `run`.
        """
        answered: shapes.DraftingRun = self._transport.answer(
            "POST", address("checklists/{}/drafts/", public_id), body=body, keyed=True
        )
        return answered

    def drafted_checklist(self, workspace: str, slug: str, instruction: str) -> shapes.DraftedChecklist:
        """Return the drafts for an instruction, or approve questions as its own checklist (for owners and leads).

        Needs a token with the scope `read`.
        """
        answered: shapes.DraftedChecklist = self._transport.answer(
            "GET", address("w/{}/benchmarks/{}/drafted-checklists/{}/", workspace, slug, instruction)
        )
        return answered

    def drafted_checklists(self, workspace: str, slug: str) -> Iterator[shapes.DraftedInstruction]:
        """List the instructions with drafts; or make the questions that ask models for drafts (for owners and leads).

        A generation run of the benchmark with these questions has models write the drafts.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.DraftedInstruction] = self._transport.rows(
            address("w/{}/benchmarks/{}/drafted-checklists/", workspace, slug)
        )
        return answered

    def draw_anchors(self, public_id: str, body: shapes.WantedAnchors) -> dict[str, Any]:
        """Have another judge score anchors drawn from this run (201 with the run), or price it; 400 if no bridge could
        come.

        "JUDGE.STUDY" by their ids in place of a run's draws from a judge's verdicts in a study that came from a file.

        Needs a token with the scope `run`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "POST", address("runs/{}/anchors/", public_id), body=body, keyed=True
        )
        return answered

    def draw_checks(self, public_id: str, body: shapes.WantedChecks) -> shapes.DrawnChecks:
        """Return the studies of a run's instruction checks with people's agreement, or draw one (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.DrawnChecks = self._transport.answer(
            "POST", address("runs/{}/checks/", public_id), body=body, keyed=True
        )
        return answered

    def draw_for_people(self, workspace: str, slug: str, body: shapes.WantedDraw) -> dict[str, Any]:
        """Draw instructions for people and open their study (201 with the frozen draw), or say what would be drawn.

        Needs a token with the scope `change`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "POST", address("w/{}/studies/{}/routing/draws/", workspace, slug), body=body, keyed=True
        )
        return answered

    def drawn_checks(self, public_id: str) -> list[shapes.DrawnChecks]:
        """Return the studies of a run's instruction checks with people's agreement, or draw one (for owners and leads).

        Needs a token with the scope `read`.
        """
        answered: list[shapes.DrawnChecks] = self._transport.answer("GET", address("runs/{}/checks/", public_id))
        return answered

    def drop_self_naming(self, workspace: str, slug: str, body: shapes.WantedDrop) -> shapes.Dropped:
        """Drop tasks that the scan found from the study; those that a rater was given stay.

        Needs a token with the scope `change`.
        """
        answered: shapes.Dropped = self._transport.answer(
            "POST", address("w/{}/studies/{}/self-naming/drop/", workspace, slug), body=body
        )
        return answered

    def duplicate_study(self, workspace: str, slug: str) -> shapes.Study:
        """Make a draft with the settings, questions, selection and texts of a study, without its raters and answers.

        Needs a token with the scope `change`.
        """
        answered: shapes.Study = self._transport.answer(
            "POST", address("w/{}/studies/{}/duplicate/", workspace, slug), keyed=True
        )
        return answered

    def endpoint(self, workspace: str, id: int) -> shapes.Endpoint:
        """Return an endpoint, change what is sent of it, or remove it where it serves no model (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.Endpoint = self._transport.answer("GET", address("w/{}/endpoints/{}/", workspace, id))
        return answered

    def endpoints(self, workspace: str) -> Iterator[shapes.Endpoint]:
        """List the endpoints of a workspace, or add one (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: Iterator[shapes.Endpoint] = self._transport.rows(address("w/{}/endpoints/", workspace))
        return answered

    def erase_invited_person(self, workspace: str, slug: str, id: int, invited: int) -> None:
        """Erase the name and the address of somebody who was invited; a message that waits is not sent.

        Needs a token with the scope `change`.
        """
        self._transport.answer(
            "DELETE", address("w/{}/studies/{}/cohorts/{}/invitations/{}/", workspace, slug, id, invited)
        )

    def erase_person(self, workspace: str, slug: str, rater: str, body: shapes.WantedErasure) -> shapes.Erased:
        """Erase all personal data of a rater: identity, account link and what they wrote, or with identity_only the first
        two.

        Their ratings are kept.

        Needs a token with the scope `change`.
        """
        answered: shapes.Erased = self._transport.answer(
            "POST", address("w/{}/studies/{}/raters/{}/erase/", workspace, slug, rater), body=body
        )
        return answered

    def error_phrases(self, workspace: str) -> shapes.Phrases:
        """Return the phrases by which texts count as errors, write others, or restore the usual ones (for owners and
        leads).

        Needs a token with the scope `read`.
        """
        answered: shapes.Phrases = self._transport.answer("GET", address("w/{}/error-phrases/", workspace))
        return answered

    def exclude_rater(
        self, workspace: str, slug: str, rater: str, body: shapes.WantedExclusion
    ) -> shapes.MadeExclusion:
        """Exclude a rater's answers from results, all or from a moment on; their slots are filled by others.

        Needs a token with the scope `change`.
        """
        answered: shapes.MadeExclusion = self._transport.answer(
            "POST", address("w/{}/studies/{}/raters/{}/exclude/", workspace, slug, rater), body=body, keyed=True
        )
        return answered

    def exclusions(self, workspace: str, slug: str) -> Iterator[shapes.Exclusion]:
        """List the study's exclusions of raters' answers, also those that were lifted.

        Needs a token with the scope `ratings`.
        """
        answered: Iterator[shapes.Exclusion] = self._transport.rows(
            address("w/{}/studies/{}/exclusions/", workspace, slug)
        )
        return answered

    def export(
        self,
        workspace: str,
        slug: str,
        *,
        as_: Literal[
            "",
            "alpaca-eval",
            "alt-test",
            "arena",
            "argilla",
            "cje",
            "huggingface",
            "inspect-scores",
            "label-studio",
            "langfuse",
            "mlflow",
            "openai-batch",
            "opentelemetry",
            "preference-pairs",
        ] = "",
        criterion: str = "",
        judge: str = "",
        texts: Literal["", "1", "true"] = "",
    ) -> Download:
        """A study as one file from which `manage.py recompute` recomputes every number on its pages.

        With `as` its answers in another tool's format; with `texts` these include the raters' reasons. An archive with
        `texts` can be imported into an empty installation.

        Needs a token with the scope `ratings`.
        """
        answered: Download = self._transport.download(
            address("w/{}/studies/{}/export/", workspace, slug),
            {"as": as_, "criterion": criterion, "judge": judge, "texts": texts},
        )
        return answered

    def export_file(self, public_id: str) -> Download:
        """Return a file that has been made; the job of its export names this address.

        Needs a token with the scope `ratings`.
        """
        answered: Download = self._transport.download(address("exports/{}/file/", public_id))
        return answered

    def fit(self, public_id: str, *, rows: Literal["", "1"] = "") -> dict[str, Any]:
        """Show one fit: its weights by category, with their certificate if they were fitted here.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("fits/{}/", public_id), query={"rows": rows})
        return answered

    def fit_file(self, public_id: str, name: str) -> Download:
        """Return a figure of fitted weights as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(address("fits/{}/files/{}/", public_id, name))
        return answered

    def fit_files(self, public_id: str) -> shapes.PageFiles:
        """List the figures and tables of fitted weights, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer("GET", address("fits/{}/files/", public_id))
        return answered

    def fits(self) -> Iterator[shapes.Fit]:
        """List fitted and published weights of the workspaces whose results you may read.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Fit] = self._transport.rows("fits/")
        return answered

    def flags(self, workspace: str, slug: str, *, settled: Literal["", "1"] = "") -> Iterator[shapes.Note]:
        """List the notes and appeals of raters that wait for a lead, or with `settled=1` those that are settled.

        Needs a token with the scope `ratings`.
        """
        answered: Iterator[shapes.Note] = self._transport.rows(
            address("w/{}/studies/{}/flags/", workspace, slug), {"settled": settled}
        )
        return answered

    def found_models(self, workspace: str, id: int) -> shapes.FoundModels:
        """Return the models that an endpoint's last test listed and nobody has added, or add some (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.FoundModels = self._transport.answer(
            "GET", address("w/{}/endpoints/{}/models/", workspace, id)
        )
        return answered

    def generation_budget(self, public_id: str) -> shapes.Budget:
        """Return what a generation run may spend, or set it (for owners and leads), also while it is running.

        Needs a token with the scope `read`.
        """
        answered: shapes.Budget = self._transport.answer("GET", address("generation/{}/budget/", public_id))
        return answered

    def generation_file(self, public_id: str, name: Literal["manifest.json", "report.json"]) -> dict[str, Any]:
        """Return a file of a generation run: its manifest, or its counts with the metrics of its texts.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("generation/{}/files/{}/", public_id, name))
        return answered

    def generation_run(self, public_id: str) -> shapes.GenerationProgress:
        """Return a generation run with its counts by model, tokens and cost.

        Needs a token with the scope `read`.
        """
        answered: shapes.GenerationProgress = self._transport.answer("GET", address("generation/{}/", public_id))
        return answered

    def generation_runs(self) -> Iterator[shapes.GenerationRun]:
        """List the generation runs of the workspaces whose results you may read.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.GenerationRun] = self._transport.rows("generation/")
        return answered

    def guideline(self, workspace: str, slug: str) -> shapes.Guideline:
        """Return the guideline that raters of a study read, or save another text, which is its next version.

        Needs a token with the scope `read`.
        """
        answered: shapes.Guideline = self._transport.answer(
            "GET", address("w/{}/studies/{}/guideline/", workspace, slug)
        )
        return answered

    def guidelines(self, *, key: str = "") -> Iterator[shapes.LibraryGuideline]:
        """List all versions of the guidelines of the workspaces whose results you may read, with their texts.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.LibraryGuideline] = self._transport.rows("guidelines/", {"key": key})
        return answered

    def history(self, workspace: str, slug: str) -> Iterator[shapes.EventLine]:
        """List who did what in a study, the first event first (for owners and leads).

        Needs a token with the scope `ratings`.
        """
        answered: Iterator[shapes.EventLine] = self._transport.rows(
            address("w/{}/studies/{}/history/", workspace, slug)
        )
        return answered

    def imports(self) -> Iterator[shapes.Import]:
        """List what was imported into the workspaces that you lead.

        Needs a token with the scope `change`.
        """
        answered: Iterator[shapes.Import] = self._transport.rows("imports/")
        return answered

    def include_rater(self, workspace: str, slug: str, rater: str) -> shapes.CountedAgain:
        """Lift the exclusion of a rater's answers, so that they count again; 400 if they are not excluded.

        Needs a token with the scope `change`.
        """
        answered: shapes.CountedAgain = self._transport.answer(
            "POST", address("w/{}/studies/{}/raters/{}/include/", workspace, slug, rater)
        )
        return answered

    def instructions(
        self, workspace: str, slug: str, *, category: str = "", language: str = "", q: str = "", tag: str = ""
    ) -> Iterator[shapes.Instruction]:
        """The instructions of a benchmark.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Instruction] = self._transport.rows(
            address("w/{}/benchmarks/{}/instructions/", workspace, slug),
            {"category": category, "language": language, "q": q, "tag": tag},
        )
        return answered

    def invitations(self, workspace: str) -> Iterator[shapes.Invitation]:
        """List the invitations that can still be accepted, or invite one person, whose answer alone has the link.

        For owners and leads. An invitation made with a token ends with the token, when it expires or is revoked.

        Needs a token with the scope `members`.
        """
        answered: Iterator[shapes.Invitation] = self._transport.rows(address("w/{}/invitations/", workspace))
        return answered

    def invite(self, workspace: str, body: shapes.WantedInvitation) -> shapes.NewInvitation:
        """List the invitations that can still be accepted, or invite one person, whose answer alone has the link.

        For owners and leads. An invitation made with a token ends with the token, when it expires or is revoked.

        Needs a token with the scope `members`.
        """
        answered: shapes.NewInvitation = self._transport.answer(
            "POST", address("w/{}/invitations/", workspace), body=body
        )
        return answered

    def invite_by_mail(self, workspace: str, slug: str, id: int, body: shapes.WantedPeople) -> shapes.Invited:
        """List who was invited to a cohort one by one, each with a link, or invite people by e-mail (for owners and
        leads).

        The messages are in the language that the header Accept-Language names. Each reading of names is logged.

        Needs a token with the scope `change`.
        """
        answered: shapes.Invited = self._transport.answer(
            "POST", address("w/{}/studies/{}/cohorts/{}/invitations/", workspace, slug, id), body=body, keyed=True
        )
        return answered

    def invited_people(
        self,
        workspace: str,
        slug: str,
        id: int,
        *,
        state: Literal["", "failed", "held", "sending", "sent", "waiting"] = "",
    ) -> Iterator[shapes.InvitedPerson]:
        """List who was invited to a cohort one by one, each with a link, or invite people by e-mail (for owners and
        leads).

        The messages are in the language that the header Accept-Language names. Each reading of names is logged.

        Needs a token with the scope `change`.
        """
        answered: Iterator[shapes.InvitedPerson] = self._transport.rows(
            address("w/{}/studies/{}/cohorts/{}/invitations/", workspace, slug, id), {"state": state}
        )
        return answered

    def job(self, job_id: str) -> shapes.Job:
        """Return how far a job is, and what came of it.

        Needs a token with the scope `read`.
        """
        answered: shapes.Job = self._transport.answer("GET", address("jobs/{}/", job_id))
        return answered

    def jobs(
        self,
        *,
        kind: Literal["", "export", "fit", "generation", "import", "run"] = "",
        state: Literal["", "cancelled", "done", "failed", "paused", "running", "waiting"] = "",
    ) -> shapes.Jobs:
        """List the newest hundred jobs of each kind: runs, generation, imports and exports of files, and fits.

        Imports are those of the workspaces that you lead; files are kept for a day.

        Needs a token with the scope `read`.
        """
        answered: shapes.Jobs = self._transport.answer("GET", "jobs/", query={"kind": kind, "state": state})
        return answered

    def judge_card(self, public_id: str) -> dict[str, Any]:
        """A judge's card: what it is, its agreement with people, biases, probes and costs; `manage.py judge_card --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("judges/{}/card/", public_id))
        return answered

    def judge_card_file(self, public_id: str, name: str) -> Download:
        """Return a figure of the card of a judge as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or
        Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(address("judges/{}/card/files/{}/", public_id, name))
        return answered

    def judge_card_files(self, public_id: str) -> shapes.PageFiles:
        """List the figures and tables of the card of a judge, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer("GET", address("judges/{}/card/files/", public_id))
        return answered

    def judge_prompt(
        self, public_id: str, *, benchmark: str = "", number: int | None = None, study: str = ""
    ) -> shapes.NumberedPrompt:
        """Return what a judge would ask its model about an answer of a study or of a benchmark.

        Needs a token with the scope `read`.
        """
        answered: shapes.NumberedPrompt = self._transport.answer(
            "GET",
            address("judges/{}/prompt/", public_id),
            query={"benchmark": benchmark, "number": number, "study": study},
        )
        return answered

    def judge_table(self, workspace: str, slug: str) -> dict[str, Any]:
        """All that was measured of a study's judges, a row for each: `manage.py judge_card --study STUDY --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("w/{}/studies/{}/judges/", workspace, slug))
        return answered

    def judges(self) -> Iterator[shapes.Judge]:
        """The judges of the workspaces whose results you may read.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Judge] = self._transport.rows("judges/")
        return answered

    def keep_criteria(self, public_id: str, body: shapes.WantedChoice) -> shapes.ChecklistState:
        """Confirm which criteria stay after the vote, and choose among those that tie (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.ChecklistState = self._transport.answer(
            "POST", address("checklists/{}/choice/", public_id), body=body
        )
        return answered

    def known_answer(self, workspace: str, slug: str, task: str) -> shapes.Task:
        """Return a task, or give it a known answer, or take that from it; only while no rater was given the task.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.Task = self._transport.answer(
            "GET", address("w/{}/studies/{}/tasks/{}/", workspace, slug, task)
        )
        return answered

    def label_run(self, public_id: str, body: shapes.WantedLabel) -> shapes.Run:
        """Give a run a name of your own (for owners and leads), or take it away.

        Needs a token with the scope `change`.
        """
        answered: shapes.Run = self._transport.answer(
            "POST", address("runs/{}/label/", public_id), body=body, keyed=True
        )
        return answered

    def lengths(self, workspace: str, slug: str, *, judge: str, weights: str = "") -> dict[str, Any]:
        """Each model's score by requested length: the output of `manage.py length_scores --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET", address("w/{}/leaderboards/{}/lengths/", workspace, slug), query={"judge": judge, "weights": weights}
        )
        return answered

    def lengths_file(self, workspace: str, slug: str, name: str, *, judge: str, weights: str = "") -> Download:
        """Return a figure of scores by requested length as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or
        Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/leaderboards/{}/lengths/files/{}/", workspace, slug, name),
            {"judge": judge, "weights": weights},
        )
        return answered

    def lengths_files(self, workspace: str, slug: str, *, judge: str, weights: str = "") -> shapes.PageFiles:
        """List the figures and tables of scores by requested length, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer(
            "GET",
            address("w/{}/leaderboards/{}/lengths/files/", workspace, slug),
            query={"judge": judge, "weights": weights},
        )
        return answered

    def load_archive(self, public_id: str) -> shapes.StudyArchive:
        """Ask a worker to load an archive that has been checked: all of it or nothing.

        Needs a token with the scope `change`.
        """
        answered: shapes.StudyArchive = self._transport.answer("POST", address("archives/{}/load/", public_id))
        return answered

    def load_file(self, public_id: str, body: shapes.Loading) -> shapes.TableUpload:
        """Ask a worker to load the table: all of it or nothing, or with leave_out_bad_rows what is not bad.

        Needs a token with the scope `change`.
        """
        answered: shapes.TableUpload = self._transport.answer("POST", address("uploads/{}/load/", public_id), body=body)
        return answered

    def load_library(self, workspace: str) -> shapes.LoadedLibrary:
        """Load the rubrics, guidelines and categories that come with the program (for owners and leads).

        What is there already is not loaded again.

        Needs a token with the scope `change`.
        """
        answered: shapes.LoadedLibrary = self._transport.answer("POST", address("w/{}/library/", workspace))
        return answered

    def loaded_verdicts(self, workspace: str, slug: str) -> list[shapes.LoadedVerdicts]:
        """Return the judges' verdicts from files on the responses of a study or of its benchmark, which no run of ours
        gave.

        Needs a token with the scope `read`.
        """
        answered: list[shapes.LoadedVerdicts] = self._transport.answer(
            "GET", address("w/{}/studies/{}/loaded-verdicts/", workspace, slug)
        )
        return answered

    def make_accounts(self, workspace: str, body: shapes.WantedAccounts) -> shapes.MadeAccounts:
        """List the members of a workspace, or make accounts in it, whose answer alone has their passwords.

        For owners and leads. Owners and leads themselves choose their own passwords: invite them.

        Needs a token with the scope `members`.
        """
        answered: shapes.MadeAccounts = self._transport.answer("POST", address("w/{}/members/", workspace), body=body)
        return answered

    def make_cohort(self, workspace: str, slug: str, body: shapes.WantedCohort) -> shapes.OpenCohort:
        """List the cohorts of a study, or make one (for owners and leads), whose answer has its entry link and codes.

        Needs a token with the scope `change`.
        """
        answered: shapes.OpenCohort = self._transport.answer(
            "POST", address("w/{}/studies/{}/cohorts/", workspace, slug), body=body, keyed=True
        )
        return answered

    def make_demonstration(self, workspace: str) -> shapes.Demonstration:
        """Return how far the demonstration of a workspace is (for owners and leads), or have a worker make it (202).

        Needs a token with the scope `change`.
        """
        answered: shapes.Demonstration = self._transport.answer("POST", address("w/{}/demonstration/", workspace))
        return answered

    def make_export(self, workspace: str, slug: str, body: shapes.WantedExport) -> shapes.Job:
        """Ask a worker for a file of a study's data; the job says when it is there. One that is being made is not made
        twice.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.Job = self._transport.answer(
            "POST", address("w/{}/studies/{}/exports/", workspace, slug), body=body
        )
        return answered

    def make_fit(self, workspace: str, slug: str, body: shapes.WantedFit) -> shapes.Fit | shapes.AskedFit:
        """Fit weights to the answers of a study: at once, or by a worker where that takes longer (202, with a job).

        Needs a token with the scope `change`.
        """
        answered: shapes.Fit | shapes.AskedFit = self._transport.answer(
            "POST", address("w/{}/studies/{}/fits/", workspace, slug), body=body, keyed=True
        )
        return answered

    def make_judge(self, workspace: str, body: shapes.WantedJudge) -> shapes.Judge:
        """Make a judge of a model, a method, a prompt and parameters (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.Judge = self._transport.answer(
            "POST", address("w/{}/judges/", workspace), body=body, keyed=True
        )
        return answered

    def make_monitor(self, workspace: str, body: shapes.WantedMonitor) -> shapes.Monitor:
        """Make a drift monitor (for owners and leads); workers start its first round at once, which may cost money.

        Needs a token with the scope `run`.
        """
        answered: shapes.Monitor = self._transport.answer(
            "POST", address("w/{}/monitors/", workspace), body=body, keyed=True
        )
        return answered

    def make_panel(self, workspace: str, slug: str, body: shapes.WantedPanel) -> dict[str, Any]:
        """Make a judge of the study's fitted panel (for owners and leads), and begin the run of its verdicts, without
        calls.

        Needs a token with the scope `change`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "POST", address("w/{}/studies/{}/panel/judge/", workspace, slug), body=body, keyed=True
        )
        return answered

    def make_study(self, workspace: str, body: shapes.WantedStudy) -> shapes.MadeStudy:
        """Make a study of a benchmark's responses, and launch it if asked; 400 with a sentence if it cannot be made.

        Needs a token with the scope `change`.
        """
        answered: shapes.MadeStudy = self._transport.answer(
            "POST", address("w/{}/studies/", workspace), body=body, keyed=True
        )
        return answered

    def map_file(self, public_id: str, body: shapes.Mapping) -> shapes.TableUpload:
        """Say what the columns of an uploaded table hold, how the file is read and into what it is loaded.

        Needs a token with the scope `change`.
        """
        answered: shapes.TableUpload = self._transport.answer(
            "POST", address("uploads/{}/mapping/", public_id), body=body
        )
        return answered

    def mark_task(
        self, workspace: str, slug: str, task: str, body: shapes.KnownAnswer, *, unchanged: bool = False
    ) -> shapes.Task:
        """Return a task, or give it a known answer, or take that from it; only while no rater was given the task.

        Needs a token with the scope `change`.
        """
        answered: shapes.Task = self._transport.answer(
            "PUT", address("w/{}/studies/{}/tasks/{}/", workspace, slug, task), body=body, unchanged=unchanged
        )
        return answered

    def member(self, workspace: str, public_id: str) -> shapes.Member:
        """Return a member, change the role, or end the membership; the account and all answers remain.

        For owners and leads; only an owner changes owners and leads, and the last owner stays.

        Needs a token with the scope `members`.
        """
        answered: shapes.Member = self._transport.answer("GET", address("w/{}/members/{}/", workspace, public_id))
        return answered

    def members(self, workspace: str) -> Iterator[shapes.Member]:
        """List the members of a workspace, or make accounts in it, whose answer alone has their passwords.

        For owners and leads. Owners and leads themselves choose their own passwords: invite them.

        Needs a token with the scope `members`.
        """
        answered: Iterator[shapes.Member] = self._transport.rows(address("w/{}/members/", workspace))
        return answered

    def merge_criteria(
        self, public_id: str, body: shapes.WantedGroups, *, unchanged: bool = False
    ) -> shapes.ChecklistState:
        """Say which proposals are one criterion, and its wording (for owners and leads). A criterion without proposals
        goes.

        Needs a token with the scope `change`.
        """
        answered: shapes.ChecklistState = self._transport.answer(
            "PUT", address("checklists/{}/groups/", public_id), body=body, unchanged=unchanged
        )
        return answered

    def message_rater(self, workspace: str, slug: str, rater: str, body: shapes.WantedNote) -> shapes.NoteToRater:
        """Write to one rater, whose pages show the text until they confirm it; it replaces one that is not confirmed yet.

        Needs a token with the scope `change`.
        """
        answered: shapes.NoteToRater = self._transport.answer(
            "POST", address("w/{}/studies/{}/raters/{}/message/", workspace, slug, rater), body=body, keyed=True
        )
        return answered

    def minimum(self, workspace: str, slug: str) -> shapes.Minimum:
        """Return the minimum for a complete participation, or set it (for owners and leads); what is left out is none.

        Needs a token with the scope `read`.
        """
        answered: shapes.Minimum = self._transport.answer("GET", address("w/{}/studies/{}/minimum/", workspace, slug))
        return answered

    def model(self, workspace: str, id: int) -> shapes.ServedModel:
        """Return a model, change what is sent of it, or remove it where nothing depends on it (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.ServedModel = self._transport.answer("GET", address("w/{}/models/{}/", workspace, id))
        return answered

    def models(self) -> Iterator[shapes.Model]:
        """Models of the workspaces whose results you may read.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Model] = self._transport.rows("models/")
        return answered

    def monitor(self, public_id: str) -> shapes.MonitorState:
        """Return a monitor with its rounds and their tests, or change its interval and budget (for owners and leads).

        Needs a token with the scope `read`.
        """
        answered: shapes.MonitorState = self._transport.answer("GET", address("monitors/{}/", public_id))
        return answered

    def monitor_file(self, public_id: str, name: str) -> Download:
        """Return a figure of a drift monitor as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(address("monitors/{}/files/{}/", public_id, name))
        return answered

    def monitor_files(self, public_id: str) -> shapes.PageFiles:
        """List the figures and tables of a drift monitor, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer("GET", address("monitors/{}/files/", public_id))
        return answered

    def monitored_verdicts(self, public_id: str) -> Iterator[shapes.MonitoredVerdict]:
        """Return the answers that moved between the latest round that changed and its baseline, the largest first.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.MonitoredVerdict] = self._transport.rows(address("monitors/{}/moved/", public_id))
        return answered

    def monitors(self) -> Iterator[shapes.Monitor]:
        """Return the drift monitors of the workspaces whose results you may read.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Monitor] = self._transport.rows("monitors/")
        return answered

    def own_data(self) -> dict[str, Any]:
        """Return everything that your account holds about you: the account, its tokens and events, and your own answers.

        Needs a token with the scope `ratings`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", "account/data/")
        return answered

    def panel(self, workspace: str, slug: str, *, judge: Sequence[str] = ()) -> dict[str, Any]:
        """What several judges together predict of people's differences: the output of `manage.py panel --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET", address("w/{}/studies/{}/panel/", workspace, slug), query={"judge": judge}
        )
        return answered

    def paper_table(self, workspace: str, slug: str, number: str) -> dict[str, Any]:
        """One of them printed beside recomputed, cell by cell: `manage.py published_table BENCHMARK NUMBER --json`.

        202 while it is being computed for the first time.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET", address("w/{}/benchmarks/{}/tables/{}/", workspace, slug, number)
        )
        return answered

    def paper_table_file(self, workspace: str, slug: str, number: str, name: str) -> Download:
        """Return a figure of a table of a benchmark's paper as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs)
        or Markdown.

        202 while a worker computes what they show for the first time.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/benchmarks/{}/tables/{}/files/{}/", workspace, slug, number, name)
        )
        return answered

    def paper_table_files(self, workspace: str, slug: str, number: str) -> shapes.PageFiles | dict[str, Any]:
        """List the figures and tables of a table of a benchmark's paper, which are served as files.

        202 while a worker computes what they show for the first time.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles | dict[str, Any] = self._transport.answer(
            "GET", address("w/{}/benchmarks/{}/tables/{}/files/", workspace, slug, number)
        )
        return answered

    def paper_tables(self, workspace: str, slug: str) -> dict[str, Any]:
        """The tables of a benchmark's paper with their numbers of cells: `manage.py published_table BENCHMARK --json`.

        Counts of a table that is still being computed are null.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("w/{}/benchmarks/{}/tables/", workspace, slug))
        return answered

    def paper_tables_file(self, workspace: str, slug: str, name: str) -> Download:
        """Return a figure of the tables of a benchmark's paper as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX
        (booktabs) or Markdown.

        202 while a worker computes what they show for the first time.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/benchmarks/{}/tables/files/{}/", workspace, slug, name)
        )
        return answered

    def paper_tables_files(self, workspace: str, slug: str) -> shapes.PageFiles | dict[str, Any]:
        """List the figures and tables of the tables of a benchmark's paper, which are served as files.

        202 while a worker computes what they show for the first time.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles | dict[str, Any] = self._transport.answer(
            "GET", address("w/{}/benchmarks/{}/tables/files/", workspace, slug)
        )
        return answered

    def payments(self, workspace: str, slug: str) -> list[shapes.CohortPayment]:
        """Return hours and money owed, for each cohort and each of its raters under their pseudonyms.

        Needs a token with the scope `ratings`.
        """
        answered: list[shapes.CohortPayment] = self._transport.answer(
            "GET", address("w/{}/studies/{}/payments/", workspace, slug)
        )
        return answered

    def plan(
        self,
        workspace: str,
        slug: str,
        *,
        agreement: str = "",
        difference: str = "",
        error: str = "",
        excluded: Literal["", "shown"] = "",
        hourly_pay: str = "",
        instructions: str = "",
        items: str = "",
        judge_correlation: str = "",
        judged: str = "",
        models: str = "",
        overlap: str = "",
        raters: str = "",
        repeat_agreement: str = "",
        repeat_share: str = "",
        seconds_per_answer: str = "",
        severity: str = "",
        taste: str = "",
        words_per_instruction: str = "",
        words_per_response: str = "",
    ) -> dict[str, Any]:
        """Return the precision, hours and cost to expect of a study of some size; what is left out is as the study is now.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET",
            address("w/{}/studies/{}/plan/", workspace, slug),
            query={
                "agreement": agreement,
                "difference": difference,
                "error": error,
                "excluded": excluded,
                "hourly_pay": hourly_pay,
                "instructions": instructions,
                "items": items,
                "judge_correlation": judge_correlation,
                "judged": judged,
                "models": models,
                "overlap": overlap,
                "raters": raters,
                "repeat_agreement": repeat_agreement,
                "repeat_share": repeat_share,
                "seconds_per_answer": seconds_per_answer,
                "severity": severity,
                "taste": taste,
                "words_per_instruction": words_per_instruction,
                "words_per_response": words_per_response,
            },
        )
        return answered

    def plan_file(
        self,
        workspace: str,
        slug: str,
        name: str,
        *,
        agreement: str = "",
        difference: str = "",
        error: str = "",
        excluded: Literal["", "shown"] = "",
        hourly_pay: str = "",
        instructions: str = "",
        items: str = "",
        judge_correlation: str = "",
        judged: str = "",
        models: str = "",
        overlap: str = "",
        raters: str = "",
        repeat_agreement: str = "",
        repeat_share: str = "",
        seconds_per_answer: str = "",
        severity: str = "",
        taste: str = "",
        words_per_instruction: str = "",
        words_per_response: str = "",
    ) -> Download:
        """Return a figure of the plan of a study as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or
        Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/studies/{}/plan/files/{}/", workspace, slug, name),
            {
                "agreement": agreement,
                "difference": difference,
                "error": error,
                "excluded": excluded,
                "hourly_pay": hourly_pay,
                "instructions": instructions,
                "items": items,
                "judge_correlation": judge_correlation,
                "judged": judged,
                "models": models,
                "overlap": overlap,
                "raters": raters,
                "repeat_agreement": repeat_agreement,
                "repeat_share": repeat_share,
                "seconds_per_answer": seconds_per_answer,
                "severity": severity,
                "taste": taste,
                "words_per_instruction": words_per_instruction,
                "words_per_response": words_per_response,
            },
        )
        return answered

    def plan_files(
        self,
        workspace: str,
        slug: str,
        *,
        agreement: str = "",
        difference: str = "",
        error: str = "",
        excluded: Literal["", "shown"] = "",
        hourly_pay: str = "",
        instructions: str = "",
        items: str = "",
        judge_correlation: str = "",
        judged: str = "",
        models: str = "",
        overlap: str = "",
        raters: str = "",
        repeat_agreement: str = "",
        repeat_share: str = "",
        seconds_per_answer: str = "",
        severity: str = "",
        taste: str = "",
        words_per_instruction: str = "",
        words_per_response: str = "",
    ) -> shapes.PageFiles:
        """List the figures and tables of the plan of a study, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer(
            "GET",
            address("w/{}/studies/{}/plan/files/", workspace, slug),
            query={
                "agreement": agreement,
                "difference": difference,
                "error": error,
                "excluded": excluded,
                "hourly_pay": hourly_pay,
                "instructions": instructions,
                "items": items,
                "judge_correlation": judge_correlation,
                "judged": judged,
                "models": models,
                "overlap": overlap,
                "raters": raters,
                "repeat_agreement": repeat_agreement,
                "repeat_share": repeat_share,
                "seconds_per_answer": seconds_per_answer,
                "severity": severity,
                "taste": taste,
                "words_per_instruction": words_per_instruction,
                "words_per_response": words_per_response,
            },
        )
        return answered

    def platform_values(self, workspace: str, slug: str, id: int) -> shapes.PlatformValues:
        """Return what a lead enters at Prolific or MTurk for a crowd cohort: the link, the codes, the time and the pay.

        Needs a token with the scope `change`.
        """
        answered: shapes.PlatformValues = self._transport.answer(
            "GET", address("w/{}/studies/{}/cohorts/{}/platform-values/", workspace, slug, id)
        )
        return answered

    def prepare_bonuses(self, workspace: str, slug: str, id: int, body: shapes.PreparedBonuses) -> shapes.BonusList:
        """List the bonus lists of a cohort, or set one up at Prolific, which pays nothing (for owners and leads).

        It is sent when the owner of the token confirms it, within an hour, on the page that the answer names.

        Needs a token with the scope `run`.
        """
        answered: shapes.BonusList = self._transport.answer(
            "POST", address("w/{}/studies/{}/cohorts/{}/bonuses/", workspace, slug, id), body=body
        )
        return answered

    def preview_prompt(self, workspace: str, body: shapes.WantedPrompt) -> shapes.NumberedPrompt:
        """Return what a version of a prompt would ask a model about an answer, before any judge is made of it.

        Needs a token with the scope `read`.
        """
        answered: shapes.NumberedPrompt = self._transport.answer(
            "POST", address("w/{}/prompts/preview/", workspace), body=body
        )
        return answered

    def probe_judge(self, public_id: str, body: shapes.WantedProbes) -> dict[str, Any]:
        """Start a run of probes of a judge (201 with the run), or price it; 400 with a sentence if it cannot be probed.

        Needs a token with the scope `run`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "POST", address("judges/{}/probes/", public_id), body=body, keyed=True
        )
        return answered

    def probes_file(self, public_id: str, name: str) -> Download:
        """Return a figure of a run of probes as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(address("runs/{}/probes/files/{}/", public_id, name))
        return answered

    def probes_files(self, public_id: str) -> shapes.PageFiles:
        """List the figures and tables of a run of probes, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer("GET", address("runs/{}/probes/files/", public_id))
        return answered

    def prolific_study(self, workspace: str, slug: str, id: int) -> shapes.ProlificStudy:
        """Return the cohort's study at Prolific, draft one for `places` participants, or attach that of `study_id`.

        For owners and leads. A cohort has at most one. A draft is published at Prolific, by a person.

        Needs a token with the scope `read`.
        """
        answered: shapes.ProlificStudy = self._transport.answer(
            "GET", address("w/{}/studies/{}/cohorts/{}/prolific/", workspace, slug, id)
        )
        return answered

    def propose_bonuses(self, workspace: str, slug: str, id: int, body: shapes.WantedBonuses) -> shapes.BonusProposal:
        """Return who would get how much and why, as things stand at Prolific; nothing is stored or paid.

        For owners and leads. The answer has ids of submissions, and each reading is logged.

        Needs a token with the scope `run`.
        """
        answered: shapes.BonusProposal = self._transport.answer(
            "POST", address("w/{}/studies/{}/cohorts/{}/bonuses/propose/", workspace, slug, id), body=body
        )
        return answered

    def propose_criterion(self, public_id: str, body: shapes.WantedCriterion) -> shapes.MadeProposal:
        """Propose a criterion; others do not see it before the vote.

        Needs a token with the scope `change`.
        """
        answered: shapes.MadeProposal = self._transport.answer(
            "POST", address("checklists/{}/proposals/", public_id), body=body, keyed=True
        )
        return answered

    def propose_prompt(self, public_id: str, body: shapes.WantedProposal) -> dict[str, Any]:
        """Ask a model, once, to rewrite a prompt (201 with the generation run), or price the call; its reply is a draft.

        Needs a token with the scope `run`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "POST", address("alignments/{}/propose/", public_id), body=body, keyed=True
        )
        return answered

    def publish_fit(self, public_id: str, body: shapes.WantedName) -> shapes.Fit:
        """Give a fit the name by which leaderboards and judges refer to it, once and for good.

        Needs a token with the scope `change`.
        """
        answered: shapes.Fit = self._transport.answer("POST", address("fits/{}/publish/", public_id), body=body)
        return answered

    def questionnaire(
        self, workspace: str, slug: str, moment: Literal["after", "before"], *, version: int | None = None
    ) -> shapes.Questionnaire:
        """Return a questionnaire of a study, or write its next version, which later raters answer.

        Needs a token with the scope `read`.
        """
        answered: shapes.Questionnaire = self._transport.answer(
            "GET", address("w/{}/studies/{}/questionnaires/{}/", workspace, slug, moment), query={"version": version}
        )
        return answered

    def questionnaire_answers(
        self, workspace: str, slug: str, *, moment: Literal["", "after", "before"] = ""
    ) -> Iterator[shapes.GivenAnswers]:
        """List what raters answered in the questionnaires of a study, under their pseudonyms.

        Needs a token with the scope `ratings`.
        """
        answered: Iterator[shapes.GivenAnswers] = self._transport.rows(
            address("w/{}/studies/{}/questionnaire-answers/", workspace, slug), {"moment": moment}
        )
        return answered

    def questionnaire_file(self, workspace: str, slug: str, name: str) -> Download:
        """Return a figure of raters' answers to the questionnaires of a study as SVG, PNG or PDF, or a table as CSV, JSON,
        LaTeX (booktabs) or Markdown.

        Needs a token with the scope `ratings`.
        """
        answered: Download = self._transport.download(
            address("w/{}/studies/{}/questionnaire-answers/files/{}/", workspace, slug, name)
        )
        return answered

    def questionnaire_files(self, workspace: str, slug: str) -> shapes.PageFiles:
        """List the figures and tables of raters' answers to the questionnaires of a study, which are served as files.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.PageFiles = self._transport.answer(
            "GET", address("w/{}/studies/{}/questionnaire-answers/files/", workspace, slug)
        )
        return answered

    def questionnaire_preview(
        self, workspace: str, slug: str, moment: Literal["after", "before"]
    ) -> shapes.QuestionnairePreview:
        """Return what raters are asked about themselves at a moment, as they see it.

        Needs a token with the scope `read`.
        """
        answered: shapes.QuestionnairePreview = self._transport.answer(
            "GET", address("w/{}/studies/{}/preview/questionnaires/{}/", workspace, slug, moment)
        )
        return answered

    def rankings(
        self,
        workspace: str,
        slug: str,
        *,
        experiment: str = "",
        judge: str,
        margin: int | None = None,
        measure: str = "",
        scores: str = "",
        tag: str = "",
        top: int | None = None,
        weights: str = "",
        with_benchmark: str = "",
        with_judge: str = "",
        with_measure: str = "",
    ) -> dict[str, Any]:
        """A board's ranking beside another board's, or beside scores: `manage.py compare_rankings --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET",
            address("w/{}/leaderboards/{}/rankings/", workspace, slug),
            query={
                "experiment": experiment,
                "judge": judge,
                "margin": margin,
                "measure": measure,
                "scores": scores,
                "tag": tag,
                "top": top,
                "weights": weights,
                "with_benchmark": with_benchmark,
                "with_judge": with_judge,
                "with_measure": with_measure,
            },
        )
        return answered

    def rankings_file(
        self,
        workspace: str,
        slug: str,
        name: str,
        *,
        experiment: str = "",
        judge: str,
        margin: int | None = None,
        measure: str = "",
        scores: str = "",
        tag: str = "",
        top: int | None = None,
        weights: str = "",
        with_benchmark: str = "",
        with_judge: str = "",
        with_measure: str = "",
    ) -> Download:
        """Return a figure of two rankings beside each other as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs)
        or Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/leaderboards/{}/rankings/files/{}/", workspace, slug, name),
            {
                "experiment": experiment,
                "judge": judge,
                "margin": margin,
                "measure": measure,
                "scores": scores,
                "tag": tag,
                "top": top,
                "weights": weights,
                "with_benchmark": with_benchmark,
                "with_judge": with_judge,
                "with_measure": with_measure,
            },
        )
        return answered

    def rankings_files(
        self,
        workspace: str,
        slug: str,
        *,
        experiment: str = "",
        judge: str,
        margin: int | None = None,
        measure: str = "",
        scores: str = "",
        tag: str = "",
        top: int | None = None,
        weights: str = "",
        with_benchmark: str = "",
        with_judge: str = "",
        with_measure: str = "",
    ) -> shapes.PageFiles:
        """List the figures and tables of two rankings beside each other, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer(
            "GET",
            address("w/{}/leaderboards/{}/rankings/files/", workspace, slug),
            query={
                "experiment": experiment,
                "judge": judge,
                "margin": margin,
                "measure": measure,
                "scores": scores,
                "tag": tag,
                "top": top,
                "weights": weights,
                "with_benchmark": with_benchmark,
                "with_judge": with_judge,
                "with_measure": with_measure,
            },
        )
        return answered

    def raters(self, workspace: str, slug: str) -> Iterator[shapes.Rater]:
        """List the raters of a study under their pseudonyms, with their state and the number of their answers.

        Needs a token with the scope `ratings`.
        """
        answered: Iterator[shapes.Rater] = self._transport.rows(address("w/{}/studies/{}/raters/", workspace, slug))
        return answered

    def rating_screen(self, workspace: str, slug: str, number: int) -> shapes.RatingScreen:
        """Return a task of a study, or of its plan before the launch, as a rater would see it.

        Needs a token with the scope `read`.
        """
        answered: shapes.RatingScreen = self._transport.answer(
            "GET", address("w/{}/studies/{}/preview/tasks/{}/", workspace, slug, number)
        )
        return answered

    def release_rater(self, workspace: str, slug: str, rater: str) -> shapes.Released:
        """Take back all tasks that a rater has open, so that others get them.

        Needs a token with the scope `change`.
        """
        answered: shapes.Released = self._transport.answer(
            "POST", address("w/{}/studies/{}/raters/{}/release/", workspace, slug, rater)
        )
        return answered

    def release_task(self, workspace: str, slug: str, task: str) -> shapes.Released:
        """Take a task back from raters who have it open, so that others get it.

        Needs a token with the scope `change`.
        """
        answered: shapes.Released = self._transport.answer(
            "POST", address("w/{}/studies/{}/tasks/{}/release/", workspace, slug, task)
        )
        return answered

    def remove_endpoint(self, workspace: str, id: int, *, unchanged: bool = False) -> None:
        """Return an endpoint, change what is sent of it, or remove it where it serves no model (for owners and leads).

        Needs a token with the scope `change`.
        """
        self._transport.answer("DELETE", address("w/{}/endpoints/{}/", workspace, id), unchanged=unchanged)

    def remove_mapping(self, workspace: str, id: int) -> None:
        """Remove a saved mapping (for owners and leads); files that were read by it stay as they are.

        Needs a token with the scope `change`.
        """
        self._transport.answer("DELETE", address("w/{}/mappings/{}/", workspace, id))

    def remove_member(self, workspace: str, public_id: str, *, unchanged: bool = False) -> None:
        """Return a member, change the role, or end the membership; the account and all answers remain.

        For owners and leads; only an owner changes owners and leads, and the last owner stays.

        Needs a token with the scope `members`.
        """
        self._transport.answer("DELETE", address("w/{}/members/{}/", workspace, public_id), unchanged=unchanged)

    def remove_model(self, workspace: str, id: int, *, unchanged: bool = False) -> None:
        """Return a model, change what is sent of it, or remove it where nothing depends on it (for owners and leads).

        Needs a token with the scope `change`.
        """
        self._transport.answer("DELETE", address("w/{}/models/{}/", workspace, id), unchanged=unchanged)

    def remove_webhook(self, workspace: str, public_id: str) -> None:
        """Return a webhook, change what is sent of it, or remove it with its messages (for owners and leads).

        Needs a token with the scope `change`.
        """
        self._transport.answer("DELETE", address("w/{}/webhooks/{}/", workspace, public_id))

    def render_markdown(self, workspace: str, body: shapes.WantedText) -> shapes.RenderedText:
        """Return a text in Markdown as pages would show it, such as a guideline before it is saved.

        Needs a token with the scope `read`.
        """
        answered: shapes.RenderedText = self._transport.answer("POST", address("w/{}/markdown/", workspace), body=body)
        return answered

    def reports(self, workspace: str, slug: str) -> list[shapes.Report]:
        """List the newest stored report of each kind and settings of a study, as its pages show them while people rate.

        Needs a token with the scope `read`.
        """
        answered: list[shapes.Report] = self._transport.answer(
            "GET", address("w/{}/studies/{}/reports/", workspace, slug)
        )
        return answered

    def request_ratings(self, workspace: str, slug: str, body: shapes.WantedRatings) -> shapes.Requested:
        """Request more ratings of one task, or of every undecided task above a spread; they are assigned next.

        Needs a token with the scope `change`.
        """
        answered: shapes.Requested = self._transport.answer(
            "POST", address("w/{}/studies/{}/disagreements/ratings/", workspace, slug), body=body, keyed=True
        )
        return answered

    def resend_delivery(self, workspace: str, public_id: str, delivery: str) -> shapes.Delivery:
        """Have a message sent again, with the same event id.

        Needs a token with the scope `change`.
        """
        answered: shapes.Delivery = self._transport.answer(
            "POST", address("w/{}/webhooks/{}/deliveries/{}/resend/", workspace, public_id, delivery)
        )
        return answered

    def resend_failed(self, workspace: str, slug: str, id: int) -> shapes.Sent:
        """Send the messages that failed once more, with the same links.

        Needs a token with the scope `change`.
        """
        answered: shapes.Sent = self._transport.answer(
            "POST", address("w/{}/studies/{}/cohorts/{}/invitations/resend/", workspace, slug, id), keyed=True
        )
        return answered

    def responses(
        self, workspace: str, slug: str, *, instruction: str = "", model: str = "", run: str = ""
    ) -> Iterator[shapes.Response]:
        """What models answered to a benchmark's instructions, with human references and degraded controls.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Response] = self._transport.rows(
            address("w/{}/benchmarks/{}/responses/", workspace, slug),
            {"instruction": instruction, "model": model, "run": run},
        )
        return answered

    def restore_error_phrases(self, workspace: str, *, unchanged: bool = False) -> None:
        """Return the phrases by which texts count as errors, write others, or restore the usual ones (for owners and
        leads).

        Needs a token with the scope `change`.
        """
        self._transport.answer("DELETE", address("w/{}/error-phrases/", workspace), unchanged=unchanged)

    def restore_study(self, workspace: str, slug: str) -> shapes.Study:
        """Show an archived study in lists again.

        Needs a token with the scope `change`.
        """
        answered: shapes.Study = self._transport.answer("POST", address("w/{}/studies/{}/restore/", workspace, slug))
        return answered

    def result_page(
        self,
        workspace: str,
        slug: str,
        page: Literal[
            "agreement",
            "agreement-detail",
            "causes",
            "dashboard",
            "judge-table",
            "judges",
            "judges-depth",
            "judges-methods",
            "judges-metrics",
            "panel",
            "rankings",
            "raters",
            "weights-depth",
        ],
        *,
        against: str = "",
        by: str = "",
        criterion: str = "",
        excluded: Literal["", "shown"] = "",
        fit: str = "",
        judge: str = "",
        one: str = "",
        other: str = "",
        with_fit: str = "",
    ) -> dict[str, Any]:
        """Return what a result page of a study says: its answer, and each block with the exact values of its table.

        It is computed now where that is quick; else a worker computes it, and the answer is the one before with the
        number of answers since, or 202 where there is none yet. `dashboard` has the pace of a study and when it may
        stop.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET",
            address("w/{}/studies/{}/results/{}/", workspace, slug, page),
            query={
                "against": against,
                "by": by,
                "criterion": criterion,
                "excluded": excluded,
                "fit": fit,
                "judge": judge,
                "one": one,
                "other": other,
                "with_fit": with_fit,
            },
        )
        return answered

    def result_page_file(
        self,
        workspace: str,
        slug: str,
        page: Literal[
            "agreement",
            "agreement-detail",
            "causes",
            "dashboard",
            "judge-table",
            "judges",
            "judges-depth",
            "judges-methods",
            "judges-metrics",
            "panel",
            "rankings",
            "raters",
            "weights-depth",
        ],
        name: str,
        *,
        against: str = "",
        by: str = "",
        criterion: str = "",
        excluded: Literal["", "shown"] = "",
        fit: str = "",
        judge: str = "",
        one: str = "",
        other: str = "",
        with_fit: str = "",
    ) -> Download:
        """Return a figure of a result page of a study as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or
        Markdown.

        202 while a worker computes what they show for the first time.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/studies/{}/results/{}/files/{}/", workspace, slug, page, name),
            {
                "against": against,
                "by": by,
                "criterion": criterion,
                "excluded": excluded,
                "fit": fit,
                "judge": judge,
                "one": one,
                "other": other,
                "with_fit": with_fit,
            },
        )
        return answered

    def result_page_files(
        self,
        workspace: str,
        slug: str,
        page: Literal[
            "agreement",
            "agreement-detail",
            "causes",
            "dashboard",
            "judge-table",
            "judges",
            "judges-depth",
            "judges-methods",
            "judges-metrics",
            "panel",
            "rankings",
            "raters",
            "weights-depth",
        ],
        *,
        against: str = "",
        by: str = "",
        criterion: str = "",
        excluded: Literal["", "shown"] = "",
        fit: str = "",
        judge: str = "",
        one: str = "",
        other: str = "",
        with_fit: str = "",
    ) -> shapes.PageFiles | dict[str, Any]:
        """List the figures and tables of a result page of a study, which are served as files.

        202 while a worker computes what they show for the first time.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles | dict[str, Any] = self._transport.answer(
            "GET",
            address("w/{}/studies/{}/results/{}/files/", workspace, slug, page),
            query={
                "against": against,
                "by": by,
                "criterion": criterion,
                "excluded": excluded,
                "fit": fit,
                "judge": judge,
                "one": one,
                "other": other,
                "with_fit": with_fit,
            },
        )
        return answered

    def review_questions(self, public_id: str, body: shapes.WantedReviews) -> shapes.ChecklistState:
        """Say of questions of others whether they are sound, or what should change. Your newest review of each counts.

        Needs a token with the scope `change`.
        """
        answered: shapes.ChecklistState = self._transport.answer(
            "POST", address("checklists/{}/reviews/", public_id), body=body
        )
        return answered

    def review_run(self, public_id: str, body: shapes.WantedReview) -> shapes.Study:
        """Return the studies that review a run's verdicts, or make and open one (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.Study = self._transport.answer(
            "POST", address("runs/{}/reviews/", public_id), body=body, keyed=True
        )
        return answered

    def review_submissions(
        self, workspace: str, slug: str, id: str, verb: Literal["approve", "reject"], body: shapes.WantedApproval
    ) -> shapes.Reviewed:
        """Approve submissions, which pays them, or reject them (for owners and leads).

        Only those that still await review are; so the same request again does nothing.

        Needs a token with the scope `change`, or `run` to approve.
        """
        answered: shapes.Reviewed = self._transport.answer(
            "POST", address("w/{}/studies/{}/cohorts/{}/prolific/{}/", workspace, slug, id, verb), body=body
        )
        return answered

    def reviews(self, public_id: str) -> list[shapes.Study]:
        """Return the studies that review a run's verdicts, or make and open one (for owners and leads).

        Needs a token with the scope `read`.
        """
        answered: list[shapes.Study] = self._transport.answer("GET", address("runs/{}/reviews/", public_id))
        return answered

    def routing(self, workspace: str, slug: str) -> dict[str, Any]:
        """The draws of a study and people's means from them: the output of `manage.py review --estimate --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("w/{}/studies/{}/routing/", workspace, slug))
        return answered

    def routing_file(self, workspace: str, slug: str, name: str) -> Download:
        """Return a figure of the draws where a judge is unsure as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX
        (booktabs) or Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/studies/{}/routing/files/{}/", workspace, slug, name)
        )
        return answered

    def routing_files(self, workspace: str, slug: str) -> shapes.PageFiles:
        """List the figures and tables of the draws where a judge is unsure, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer(
            "GET", address("w/{}/studies/{}/routing/files/", workspace, slug)
        )
        return answered

    def rubrics(self, *, benchmark: str = "", key: str = "") -> Iterator[shapes.Rubric]:
        """List all versions of the rubrics of the workspaces whose results you may read, with their criteria.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Rubric] = self._transport.rows("rubrics/", {"benchmark": benchmark, "key": key})
        return answered

    def run(self, public_id: str) -> shapes.RunState:
        """One run: its progress, its cost and its parts.

        Needs a token with the scope `read`.
        """
        answered: shapes.RunState = self._transport.answer("GET", address("runs/{}/", public_id))
        return answered

    def run_budget(self, public_id: str) -> shapes.Budget:
        """Return what a run may spend, or set it (for owners and leads), also while it is running.

        Needs a token with the scope `read`.
        """
        answered: shapes.Budget = self._transport.answer("GET", address("runs/{}/budget/", public_id))
        return answered

    def run_file(self, public_id: str, name: Literal["manifest.json", "report.json"]) -> dict[str, Any]:
        """Return a file of a run: its manifest with its prompts, or its counts, which add up.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("runs/{}/files/{}/", public_id, name))
        return answered

    def run_items(self, public_id: str, *, raw: bool = False) -> Download:
        """Return every item of a run with its verdict, tokens and cost, as a table (CSV).

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(address("runs/{}/items/", public_id), {"raw": raw})
        return answered

    def run_on_benchmark(self, workspace: str, slug: str, body: shapes.WantedRun) -> shapes.RunPrice | shapes.Run:
        """Start a run of judges over all responses of a benchmark (for owners and leads; 201), or price it (200).

        Needs a token with the scope `run`.
        """
        answered: shapes.RunPrice | shapes.Run = self._transport.answer(
            "POST", address("w/{}/benchmarks/{}/runs/", workspace, slug), body=body, keyed=True
        )
        return answered

    def run_on_study(self, workspace: str, slug: str, body: shapes.WantedRun) -> shapes.RunPrice | shapes.Run:
        """Start a run of judges over the tasks of a study (for owners and leads; 201), or price it (200).

        Needs a token with the scope `run`.
        """
        answered: shapes.RunPrice | shapes.Run = self._transport.answer(
            "POST", address("w/{}/studies/{}/runs/", workspace, slug), body=body, keyed=True
        )
        return answered

    def run_probes(self, public_id: str) -> dict[str, Any]:
        """What a run of probes found so far: the output of `manage.py probe_judge --show RUN --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("runs/{}/probes/", public_id))
        return answered

    def run_prompt(self, public_id: str, item: int) -> shapes.Prompt:
        """Return what a run asks, or asked, its model for the verdict of this number; a correction of a reply is not in
        it.

        Needs a token with the scope `read`.
        """
        answered: shapes.Prompt = self._transport.answer("GET", address("runs/{}/verdicts/{}/prompt/", public_id, item))
        return answered

    def runs(self) -> Iterator[shapes.Run]:
        """The judge runs, in the order in which they were created.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Run] = self._transport.rows("runs/")
        return answered

    def save_mapping(self, workspace: str, body: shapes.WantedSavedMapping) -> shapes.SavedMapping:
        """List the saved mappings of a workspace (for owners and leads), or save how an uploaded table is read.

        The next file with the same columns is read by it.

        Needs a token with the scope `change`.
        """
        answered: shapes.SavedMapping = self._transport.answer("POST", address("w/{}/mappings/", workspace), body=body)
        return answered

    def saved_mappings(self, workspace: str) -> Iterator[shapes.SavedMapping]:
        """List the saved mappings of a workspace (for owners and leads), or save how an uploaded table is read.

        The next file with the same columns is read by it.

        Needs a token with the scope `change`.
        """
        answered: Iterator[shapes.SavedMapping] = self._transport.rows(address("w/{}/mappings/", workspace))
        return answered

    def scan_self_naming(self, workspace: str, slug: str) -> shapes.Scanned:
        """Look through the texts of a study for responses that say which model wrote them; 202 where a worker does.

        Needs a token with the scope `change`.
        """
        answered: shapes.Scanned = self._transport.answer(
            "POST", address("w/{}/studies/{}/self-naming/scan/", workspace, slug)
        )
        return answered

    def scores(
        self,
        workspace: str,
        slug: str,
        *,
        criterion: str = "",
        every_revision: bool = False,
        rater_kind: Literal["", "judge", "key", "person", "slot"] = "",
    ) -> Iterator[shapes.Score]:
        """Return every answer of a study. Raters have opaque ids; of a changed answer only the last version is returned.

        Pair scores are canonical: positive means that response_a is better, whichever was shown first.

        Needs a token with the scope `ratings`.
        """
        answered: Iterator[shapes.Score] = self._transport.rows(
            address("w/{}/studies/{}/scores/", workspace, slug),
            {"criterion": criterion, "every_revision": every_revision, "rater_kind": rater_kind},
        )
        return answered

    def self_naming(self, workspace: str, slug: str) -> shapes.SelfNaming:
        """Return what becomes of responses that say which model wrote them, or decide it.

        Needs a token with the scope `read`.
        """
        answered: shapes.SelfNaming = self._transport.answer(
            "GET", address("w/{}/studies/{}/self-naming/", workspace, slug)
        )
        return answered

    def self_naming_tasks(self, workspace: str, slug: str) -> Iterator[shapes.FoundTask]:
        """List the tasks that the last scan found, with the words that name a model.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.FoundTask] = self._transport.rows(
            address("w/{}/studies/{}/self-naming/tasks/", workspace, slug)
        )
        return answered

    def send_to_listed(self, workspace: str, slug: str, id: int, body: shapes.Sending) -> shapes.Sent:
        """Send a message to each person of an uploaded list who has an address and none yet: in the list, the state
        `held`.

        `people` says how many you found; if the list has changed since, nothing is sent.

        Needs a token with the scope `change`.
        """
        answered: shapes.Sent = self._transport.answer(
            "POST", address("w/{}/studies/{}/cohorts/{}/invitations/send/", workspace, slug, id), body=body, keyed=True
        )
        return answered

    def set_baseline(self, public_id: str, body: shapes.WantedBaseline) -> shapes.MonitorState:
        """Compare later rounds with the latest one, whose check found a change (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.MonitorState = self._transport.answer(
            "POST", address("monitors/{}/baseline/", public_id), body=body
        )
        return answered

    def set_generation_budget(self, public_id: str, body: shapes.Budget, *, unchanged: bool = False) -> shapes.Budget:
        """Return what a generation run may spend, or set it (for owners and leads), also while it is running.

        Needs a token with the scope `run`.
        """
        answered: shapes.Budget = self._transport.answer(
            "PUT", address("generation/{}/budget/", public_id), body=body, unchanged=unchanged
        )
        return answered

    def set_run_budget(self, public_id: str, body: shapes.Budget, *, unchanged: bool = False) -> shapes.Budget:
        """Return what a run may spend, or set it (for owners and leads), also while it is running.

        Needs a token with the scope `run`.
        """
        answered: shapes.Budget = self._transport.answer(
            "PUT", address("runs/{}/budget/", public_id), body=body, unchanged=unchanged
        )
        return answered

    def set_spending_limit(
        self, workspace: str, body: shapes.WantedLimit, *, unchanged: bool = False
    ) -> shapes.Spending:
        """Return what a workspace has spent this month and its limit, or set the limit, as an owner of it.

        Needs a token with the scope `run`.
        """
        answered: shapes.Spending = self._transport.answer(
            "PUT", address("w/{}/spending/", workspace), body=body, unchanged=unchanged
        )
        return answered

    def set_task_aside(self, workspace: str, slug: str, task: str) -> shapes.SetAside:
        """Take a task that nobody could rate out of the study: its free slots are removed, its skips are kept.

        Needs a token with the scope `change`.
        """
        answered: shapes.SetAside = self._transport.answer(
            "POST", address("w/{}/studies/{}/tasks/{}/set-aside/", workspace, slug, task)
        )
        return answered

    def settle_flag(self, workspace: str, slug: str, id: int) -> shapes.Note:
        """Mark a note or an appeal as resolved; one that is so already stays so.

        Needs a token with the scope `change`.
        """
        answered: shapes.Note = self._transport.answer(
            "POST", address("w/{}/studies/{}/flags/{}/settle/", workspace, slug, id)
        )
        return answered

    def shared_checklist(self, public_id: str) -> shapes.ChecklistState:
        """Return a checklist with what you may see of its present stage: not what others propose or choose.

        Needs a token with the scope `read`.
        """
        answered: shapes.ChecklistState = self._transport.answer("GET", address("checklists/{}/", public_id))
        return answered

    def shared_checklists(
        self, *, stage: Literal["", "choose", "done", "merge", "propose", "questions", "review", "vote"] = ""
    ) -> Iterator[shapes.Checklist]:
        """List the checklists that the members of your workspaces write together.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Checklist] = self._transport.rows("checklists/", {"stage": stage})
        return answered

    def shown_differences(self, workspace: str, slug: str, number: int) -> shapes.Differences:
        """Return where the two responses of a task differ, as a rater can have it shown; 400 unless they are nearly the
        same.

        Needs a token with the scope `read`.
        """
        answered: shapes.Differences = self._transport.answer(
            "GET", address("w/{}/studies/{}/preview/tasks/{}/differences/", workspace, slug, number)
        )
        return answered

    def skipped_tasks(self, workspace: str, slug: str) -> shapes.SkippedTasks:
        """List the tasks that every rater who was given them skipped, most skipped first.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.SkippedTasks = self._transport.answer(
            "GET", address("w/{}/studies/{}/skipped-tasks/", workspace, slug)
        )
        return answered

    def spending(self, workspace: str) -> shapes.Spending:
        """Return what a workspace has spent this month and its limit, or set the limit, as an owner of it.

        Needs a token with the scope `read`.
        """
        answered: shapes.Spending = self._transport.answer("GET", address("w/{}/spending/", workspace))
        return answered

    def start_checklist(self, workspace: str, body: shapes.WantedChecklist) -> shapes.ChecklistState:
        """Start a checklist (for owners and leads), for which the members of the workspace can then propose criteria.

        Needs a token with the scope `change`.
        """
        answered: shapes.ChecklistState = self._transport.answer(
            "POST", address("w/{}/checklists/start/", workspace), body=body, keyed=True
        )
        return answered

    def start_generation(
        self, workspace: str, slug: str, body: shapes.WantedGeneration
    ) -> shapes.GenerationPrice | shapes.GenerationRun:
        """Have models respond to a benchmark's instructions (for owners and leads; 201), or price it (200).

        Needs a token with the scope `run`.
        """
        answered: shapes.GenerationPrice | shapes.GenerationRun = self._transport.answer(
            "POST", address("w/{}/benchmarks/{}/generation/", workspace, slug), body=body, keyed=True
        )
        return answered

    def start_trial(self, workspace: str, body: shapes.WantedTrial) -> dict[str, Any] | shapes.Trial:
        """Try a version of a prompt on real answers (for owners and leads; 201), or price it: each answer is asked about
        once.

        Nothing of a trial is a result, and it is deleted after 90 days.

        Needs a token with the scope `run`.
        """
        answered: dict[str, Any] | shapes.Trial = self._transport.answer(
            "POST", address("w/{}/trials/", workspace), body=body, keyed=True
        )
        return answered

    def steer_bonuses(
        self, workspace: str, slug: str, id: str, public_id: str, verb: Literal["drop", "look"]
    ) -> shapes.BonusList:
        """Drop a list that waits for its confirmation, or ask Prolific what became of an uncertain one.

        For owners and leads.

        Needs a token with the scope `run`.
        """
        answered: shapes.BonusList = self._transport.answer(
            "POST", address("w/{}/studies/{}/cohorts/{}/bonuses/{}/{}/", workspace, slug, id, public_id, verb)
        )
        return answered

    def steer_checklist(
        self, public_id: str, verb: Literal["close-proposals", "close-vote", "finish", "open-vote", "start-review"]
    ) -> shapes.ChecklistState:
        """Move a checklist on (for owners and leads): end the proposals, open or close the vote, ask for reviews, finish.

        The rubric that it becomes is in the workspace's library. A checklist that has moved on already is answered with
        409.

        Needs a token with the scope `change`.
        """
        answered: shapes.ChecklistState = self._transport.answer("POST", address("checklists/{}/{}/", public_id, verb))
        return answered

    def steer_cohort(
        self, workspace: str, slug: str, id: str, verb: Literal["renew", "revoke"], body: shapes.Days
    ) -> shapes.OpenCohort:
        """Revoke the entry link of a cohort, or renew it: the old one stops working. Raters who have joined stay.

        Needs a token with the scope `change`.
        """
        answered: shapes.OpenCohort = self._transport.answer(
            "POST", address("w/{}/studies/{}/cohorts/{}/{}/", workspace, slug, id, verb), body=body
        )
        return answered

    def steer_generation(
        self, public_id: str, verb: Literal["cancel", "pause", "retry", "start"]
    ) -> shapes.GenerationRun:
        """Start (or resume), pause or cancel a generation run, or ask again for what failed; 400 if its state forbids it.

        Needs a token with the scope `change`, or `run` to start, or `run` to retry.
        """
        answered: shapes.GenerationRun = self._transport.answer("POST", address("generation/{}/{}/", public_id, verb))
        return answered

    def steer_monitor(self, public_id: str, verb: Literal["pause", "resume", "run"]) -> shapes.MonitorState:
        """Pause a monitor, resume it, or run a round now; 400 while one is running. Rounds may cost money.

        Needs a token with the scope `change`, or `run` to resume, or `run` to run.
        """
        answered: shapes.MonitorState = self._transport.answer(
            "POST", address("monitors/{}/{}/", public_id, verb), keyed=True
        )
        return answered

    def steer_rater(
        self, workspace: str, slug: str, rater: str, verb: Literal["pause", "resume"], body: shapes.Message
    ) -> shapes.RaterState:
        """Pause a rater with a message for them, or let a stopped one go on; one who is so already stays so.

        Needs a token with the scope `change`.
        """
        answered: shapes.RaterState = self._transport.answer(
            "POST", address("w/{}/studies/{}/raters/{}/{}/", workspace, slug, rater, verb), body=body
        )
        return answered

    def steer_run(self, public_id: str, verb: Literal["cancel", "pause", "retry", "start"]) -> shapes.RunState:
        """Start (or resume), pause or cancel a run, or ask again for unusable verdicts; 400 if its state does not allow
        it.

        Needs a token with the scope `change`, or `run` to start, or `run` to retry.
        """
        answered: shapes.RunState = self._transport.answer("POST", address("runs/{}/{}/", public_id, verb))
        return answered

    def steer_study(self, workspace: str, slug: str, verb: Literal["close", "launch", "open", "pause"]) -> shapes.Study:
        """Launch a draft, or open, pause or close a launched study; a study that is so already stays so.

        A large study is launched by a worker, and is a draft until then.

        Needs a token with the scope `change`.
        """
        answered: shapes.Study = self._transport.answer("POST", address("w/{}/studies/{}/{}/", workspace, slug, verb))
        return answered

    def stop_trial(self, public_id: str) -> shapes.Trial:
        """End a trial (for owners and leads); a call that is under way still comes back. One that has ended stays so.

        Needs a token with the scope `change`.
        """
        answered: shapes.Trial = self._transport.answer("POST", address("trials/{}/stop/", public_id))
        return answered

    def studies(self) -> Iterator[shapes.Study]:
        """List the studies of the workspaces whose results you may read.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Study] = self._transport.rows("studies/")
        return answered

    def study(self, workspace: str, slug: str) -> shapes.StudyState:
        """Return one study and its progress, counted from its rows.

        Needs a token with the scope `read`.
        """
        answered: shapes.StudyState = self._transport.answer("GET", address("w/{}/studies/{}/", workspace, slug))
        return answered

    def study_preview(self, workspace: str, slug: str) -> shapes.StudyPreview:
        """Return what a rater of a study reads before the first task, and how many tasks its choices give now.

        Needs a token with the scope `read`.
        """
        answered: shapes.StudyPreview = self._transport.answer(
            "GET", address("w/{}/studies/{}/preview/", workspace, slug)
        )
        return answered

    def study_progress(self, workspace: str, slug: str) -> shapes.Progress:
        """Return the progress of a study by category, cohort and rater, as its dashboard shows it.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.Progress = self._transport.answer("GET", address("w/{}/studies/{}/progress/", workspace, slug))
        return answered

    def study_rubric(self, workspace: str, slug: str) -> shapes.StudyRubric:
        """Return the questions of a study, or write those of a draft: changed ones are its next version of its own rubric.

        Needs a token with the scope `read`.
        """
        answered: shapes.StudyRubric = self._transport.answer(
            "GET", address("w/{}/studies/{}/rubric/", workspace, slug)
        )
        return answered

    def study_settings(self, workspace: str, slug: str) -> dict[str, Any]:
        """Return the settings of a study as its setup page has them, or change those that are sent.

        Those on which ratings depend are fixed at launch; the answer is 400 if they are sent with another value.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer("GET", address("w/{}/studies/{}/settings/", workspace, slug))
        return answered

    def submissions(self, workspace: str, slug: str, id: int) -> list[shapes.Submission]:
        """Return the submissions of the cohort's study, which Prolific is asked for (for owners and leads).

        They have the ids of participants, and each reading is logged.

        Needs a token with the scope `ratings`.
        """
        answered: list[shapes.Submission] = self._transport.answer(
            "GET", address("w/{}/studies/{}/cohorts/{}/prolific/submissions/", workspace, slug, id)
        )
        return answered

    def take_look(self, public_id: str, body: shapes.WantedLook) -> dict[str, Any]:
        """Measure a version once on the test part (201 with the report); the look is counted and cannot be undone.

        Needs a token with the scope `change`.
        """
        answered: dict[str, Any] = self._transport.answer("POST", address("alignments/{}/looks/", public_id), body=body)
        return answered

    def take_up_prolific_study(
        self, workspace: str, slug: str, id: int, body: shapes.WantedProlificStudy
    ) -> shapes.ProlificStudy:
        """Return the cohort's study at Prolific, draft one for `places` participants, or attach that of `study_id`.

        For owners and leads. A cohort has at most one. A draft is published at Prolific, by a person.

        Needs a token with the scope `change`.
        """
        answered: shapes.ProlificStudy = self._transport.answer(
            "POST", address("w/{}/studies/{}/cohorts/{}/prolific/", workspace, slug, id), body=body
        )
        return answered

    def task_answers(self, workspace: str, slug: str, task: str) -> shapes.TaskAnswers:
        """Return all current answers to a task with their reasons, and the notes of its raters.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.TaskAnswers = self._transport.answer(
            "GET", address("w/{}/studies/{}/tasks/{}/answers/", workspace, slug, task)
        )
        return answered

    def tasks(
        self, workspace: str, slug: str, *, instruction: str = "", known: Literal["", "1"] = ""
    ) -> Iterator[shapes.Task]:
        """List the tasks of a study with their responses and known answers.

        Needs a token with the scope `ratings`.
        """
        answered: Iterator[shapes.Task] = self._transport.rows(
            address("w/{}/studies/{}/tasks/", workspace, slug), {"instruction": instruction, "known": known}
        )
        return answered

    def test_endpoint(self, workspace: str, id: int) -> shapes.Endpoint:
        """Find out what an endpoint can do by up to ten short calls, which may cost money (for owners and leads).

        Needs a token with the scope `run`.
        """
        answered: shapes.Endpoint = self._transport.answer("POST", address("w/{}/endpoints/{}/test/", workspace, id))
        return answered

    def test_webhook(self, workspace: str, public_id: str) -> shapes.Delivery:
        """Have a message sent that tells of nothing; what came of it is read at its deliveries.

        Needs a token with the scope `change`.
        """
        answered: shapes.Delivery = self._transport.answer(
            "POST", address("w/{}/webhooks/{}/test/", workspace, public_id)
        )
        return answered

    def text_statistics(
        self, workspace: str, slug: str, *, each: int | None = None, experiment: str = ""
    ) -> shapes.TextStatistics:
        """Return lengths, repetition and overlap of a benchmark's responses by model, and how often they go wrong.

        Needs a token with the scope `read`.
        """
        answered: shapes.TextStatistics = self._transport.answer(
            "GET", address("w/{}/benchmarks/{}/texts/", workspace, slug), query={"each": each, "experiment": experiment}
        )
        return answered

    def text_statistics_file(
        self, workspace: str, slug: str, name: str, *, each: int | None = None, experiment: str = ""
    ) -> Download:
        """Return a figure of the statistics of texts as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or
        Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/benchmarks/{}/texts/files/{}/", workspace, slug, name),
            {"each": each, "experiment": experiment},
        )
        return answered

    def text_statistics_files(
        self, workspace: str, slug: str, *, each: int | None = None, experiment: str = ""
    ) -> shapes.PageFiles:
        """List the figures and tables of the statistics of texts, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer(
            "GET",
            address("w/{}/benchmarks/{}/texts/files/", workspace, slug),
            query={"each": each, "experiment": experiment},
        )
        return answered

    def transport(
        self,
        workspace: str,
        slug: str,
        *,
        judge: str,
        margin: float | None = None,
        shape: Literal["", "linear", "means", "monotone"] = "",
    ) -> dict[str, Any]:
        """People's mean of models that nobody rated: the output of `manage.py transport --json`.

        Needs a token with the scope `read`.
        """
        answered: dict[str, Any] = self._transport.answer(
            "GET",
            address("w/{}/studies/{}/transport/", workspace, slug),
            query={"judge": judge, "margin": margin, "shape": shape},
        )
        return answered

    def transport_file(
        self,
        workspace: str,
        slug: str,
        name: str,
        *,
        judge: str,
        margin: float | None = None,
        shape: Literal["", "linear", "means", "monotone"] = "",
    ) -> Download:
        """Return a figure of models that nobody rated as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or
        Markdown.

        Needs a token with the scope `read`.
        """
        answered: Download = self._transport.download(
            address("w/{}/studies/{}/transport/files/{}/", workspace, slug, name),
            {"judge": judge, "margin": margin, "shape": shape},
        )
        return answered

    def transport_files(
        self,
        workspace: str,
        slug: str,
        *,
        judge: str,
        margin: float | None = None,
        shape: Literal["", "linear", "means", "monotone"] = "",
    ) -> shapes.PageFiles:
        """List the figures and tables of models that nobody rated, which are served as files.

        Needs a token with the scope `read`.
        """
        answered: shapes.PageFiles = self._transport.answer(
            "GET",
            address("w/{}/studies/{}/transport/files/", workspace, slug),
            query={"judge": judge, "margin": margin, "shape": shape},
        )
        return answered

    def trial(self, public_id: str) -> shapes.Trial:
        """Return a trial: its state, its cost, and how many answers came back.

        Needs a token with the scope `read`.
        """
        answered: shapes.Trial = self._transport.answer("GET", address("trials/{}/", public_id))
        return answered

    def tried_answers(self, public_id: str) -> list[shapes.TriedAnswer]:
        """Return what came back of a trial, answer by answer, beside the means of people's answers about the same.

        Needs a token with the scope `ratings`.
        """
        answered: list[shapes.TriedAnswer] = self._transport.answer("GET", address("trials/{}/answers/", public_id))
        return answered

    def try_questionnaire(
        self, workspace: str, slug: str, moment: Literal["after", "before"], body: shapes.TriedAnswers
    ) -> shapes.TriedQuestionnaire:
        """Check answers to a questionnaire as a rater's would be; nothing is stored.

        Needs a token with the scope `read`.
        """
        answered: shapes.TriedQuestionnaire = self._transport.answer(
            "POST", address("w/{}/studies/{}/preview/questionnaires/{}/answers/", workspace, slug, moment), body=body
        )
        return answered

    def undo_loading(self, id: int) -> shapes.Undone:
        """Undo an import, all or nothing; 400 with what depends on it where it cannot be undone any more.

        GET says what that would do.

        Needs a token with the scope `change`.
        """
        answered: shapes.Undone = self._transport.answer("POST", address("imports/{}/undo/", id))
        return answered

    def unmark_task(self, workspace: str, slug: str, task: str, *, unchanged: bool = False) -> shapes.Task:
        """Return a task, or give it a known answer, or take that from it; only while no rater was given the task.

        Needs a token with the scope `change`.
        """
        answered: shapes.Task = self._transport.answer(
            "DELETE", address("w/{}/studies/{}/tasks/{}/", workspace, slug, task), unchanged=unchanged
        )
        return answered

    def upload_archive(self, workspace: str, body: bytes, *, name: str) -> shapes.StudyArchive:
        """Upload an archive of a study, whose bytes are the body; a worker says what loading would store.

        Needs a token with the scope `change`.
        """
        answered: shapes.StudyArchive = self._transport.answer(
            "POST", address("w/{}/archives/", workspace), query={"name": name}, body=body
        )
        return answered

    def upload_benchmark_files(
        self,
        workspace: str,
        body: bytes,
        *,
        benchmark: Literal["hellobench", "href", "llmeval1", "llmeval2", "longgenbench", "wildbench"],
        leave_out_bad_rows: bool = False,
        name: str,
        tasks: str = "",
    ) -> shapes.BenchmarkFiles:
        """Upload an archive of a benchmark's own files, whose bytes are the body (for owners and leads); a worker loads
        it.

        Needs a token with the scope `change`.
        """
        answered: shapes.BenchmarkFiles = self._transport.answer(
            "POST",
            address("w/{}/benchmark-files/", workspace),
            query={"benchmark": benchmark, "leave_out_bad_rows": leave_out_bad_rows, "name": name, "tasks": tasks},
            body=body,
        )
        return answered

    def upload_file(self, workspace: str, body: bytes, *, name: str) -> shapes.TableUpload:
        """Upload a table, whose bytes are the body, and return what its columns probably hold. Nothing is stored yet.

        Needs a token with the scope `change`.
        """
        answered: shapes.TableUpload = self._transport.answer(
            "POST", address("w/{}/uploads/", workspace), query={"name": name}, body=body
        )
        return answered

    def uploaded_archive(self, public_id: str) -> shapes.StudyArchive:
        """Return how far the check or the loading of an archive is, and what came of it.

        Needs a token with the scope `change`.
        """
        answered: shapes.StudyArchive = self._transport.answer("GET", address("archives/{}/", public_id))
        return answered

    def uploaded_benchmark_files(self, public_id: str) -> shapes.BenchmarkFiles:
        """Return how far the loading of an archive is, and what came of it.

        Needs a token with the scope `change`.
        """
        answered: shapes.BenchmarkFiles = self._transport.answer("GET", address("benchmark-files/{}/", public_id))
        return answered

    def uploaded_file(self, public_id: str) -> shapes.TableUpload:
        """Return how an uploaded table is read, how far a check or its loading is, and what came of it.

        Needs a token with the scope `change`.
        """
        answered: shapes.TableUpload = self._transport.answer("GET", address("uploads/{}/", public_id))
        return answered

    def verdict(self, public_id: str, item: int) -> shapes.WholeVerdict:
        """Return one verdict whole: the texts, every score and reason, every raw reply, and people's answers to the task.

        Needs a token with the scope `ratings`.
        """
        answered: shapes.WholeVerdict = self._transport.answer("GET", address("runs/{}/verdicts/{}/", public_id, item))
        return answered

    def verdicts(
        self,
        public_id: str,
        *,
        q: str = "",
        raw: bool = False,
        show: Literal["", "all", "canaries", "farthest", "lowest", "unusable"] = "",
    ) -> Iterator[shapes.Verdict]:
        """A run's items with score, reasons and cost, filtered like the page; canary texts only by their own filter.

        Needs a token with the scope `read`.
        """
        answered: Iterator[shapes.Verdict] = self._transport.rows(
            address("runs/{}/verdicts/", public_id), {"q": q, "raw": raw, "show": show}
        )
        return answered

    def vote_on_criteria(self, public_id: str, body: shapes.WantedBallot) -> shapes.ChecklistState:
        """Vote, once and in secret: neither your name nor the time is kept with the ballot, and no key with the request.

        Needs a token with the scope `change`.
        """
        answered: shapes.ChecklistState = self._transport.answer(
            "POST", address("checklists/{}/ballot/", public_id), body=body
        )
        return answered

    def webhook(self, workspace: str, public_id: str) -> shapes.Webhook:
        """Return a webhook, change what is sent of it, or remove it with its messages (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.Webhook = self._transport.answer("GET", address("w/{}/webhooks/{}/", workspace, public_id))
        return answered

    def webhooks(self, workspace: str) -> Iterator[shapes.Webhook]:
        """List the webhooks of a workspace, or add one, whose answer alone has its secret (for owners and leads).

        Needs a token with the scope `change`.
        """
        answered: Iterator[shapes.Webhook] = self._transport.rows(address("w/{}/webhooks/", workspace))
        return answered

    def what_deletion_removes(self, workspace: str, slug: str) -> shapes.Deletion:
        """Delete a study with everything in it, as an owner of its workspace; 400 while it is open or in use.

        GET says what that would remove, and what stands against it.

        Needs a token with the scope `change`.
        """
        answered: shapes.Deletion = self._transport.answer("GET", address("w/{}/studies/{}/delete/", workspace, slug))
        return answered

    def what_undo_removes(self, id: int) -> shapes.UndoPlan:
        """Undo an import, all or nothing; 400 with what depends on it where it cannot be undone any more.

        GET says what that would do.

        Needs a token with the scope `change`.
        """
        answered: shapes.UndoPlan = self._transport.answer("GET", address("imports/{}/undo/", id))
        return answered

    def withdraw_criterion(self, public_id: str, id: int) -> shapes.ChecklistState:
        """Take a proposal of your own back.

        Needs a token with the scope `change`.
        """
        answered: shapes.ChecklistState = self._transport.answer(
            "POST", address("checklists/{}/proposals/{}/withdraw/", public_id, id)
        )
        return answered

    def withdraw_invitation(self, workspace: str, public_id: str) -> None:
        """Withdraw an invitation, so that its link admits nobody (for owners and leads).

        Needs a token with the scope `members`.
        """
        self._transport.answer("DELETE", address("w/{}/invitations/{}/", workspace, public_id))

    def write_checklist_questions(
        self, public_id: str, body: shapes.WantedTexts, *, unchanged: bool = False
    ) -> shapes.ChecklistState:
        """Write the questions of criteria (for owners and leads), also in the review, where a new version is reviewed
        anew.

        Needs a token with the scope `change`.
        """
        answered: shapes.ChecklistState = self._transport.answer(
            "PUT", address("checklists/{}/questions/", public_id), body=body, unchanged=unchanged
        )
        return answered

    def write_error_phrases(
        self, workspace: str, body: shapes.WantedPhrases, *, unchanged: bool = False
    ) -> shapes.Phrases:
        """Return the phrases by which texts count as errors, write others, or restore the usual ones (for owners and
        leads).

        Needs a token with the scope `change`.
        """
        answered: shapes.Phrases = self._transport.answer(
            "PUT", address("w/{}/error-phrases/", workspace), body=body, unchanged=unchanged
        )
        return answered

    def write_guideline(
        self, workspace: str, slug: str, body: shapes.WantedGuideline, *, unchanged: bool = False
    ) -> shapes.Guideline:
        """Return the guideline that raters of a study read, or save another text, which is its next version.

        Needs a token with the scope `change`.
        """
        answered: shapes.Guideline = self._transport.answer(
            "PUT", address("w/{}/studies/{}/guideline/", workspace, slug), body=body, unchanged=unchanged
        )
        return answered

    def write_questionnaire(
        self,
        workspace: str,
        slug: str,
        moment: Literal["after", "before"],
        body: shapes.WantedQuestionnaire,
        *,
        unchanged: bool = False,
    ) -> shapes.Questionnaire:
        """Return a questionnaire of a study, or write its next version, which later raters answer.

        Needs a token with the scope `change`.
        """
        answered: shapes.Questionnaire = self._transport.answer(
            "PUT",
            address("w/{}/studies/{}/questionnaires/{}/", workspace, slug, moment),
            body=body,
            unchanged=unchanged,
        )
        return answered

    def write_study_rubric(
        self, workspace: str, slug: str, body: shapes.WantedQuestions, *, unchanged: bool = False
    ) -> shapes.StudyRubric:
        """Return the questions of a study, or write those of a draft: changed ones are its next version of its own rubric.

        Needs a token with the scope `change`.
        """
        answered: shapes.StudyRubric = self._transport.answer(
            "PUT", address("w/{}/studies/{}/rubric/", workspace, slug), body=body, unchanged=unchanged
        )
        return answered
