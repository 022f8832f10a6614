"""The rows of a study that an export has, table by table, and what is left out of them.

Always left out are users, what people wrote in own words in a questionnaire, and access codes; of a checklist there
are pseudonyms of those who gave something to it, by which pages count them. With texts, the rest of the study's
benchmark is there too, so that work on it can go on: texts that nobody has rated, rubrics, questions that models
drafted, and checklists that members write together; and the studies in which people rate what was drawn from this one.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.db.models.functions import Length

from accounts.models import Event, Workspace
from annotation.drafting.checklists import APPROVED, DRAFTS
from annotation.models import (
    Assignment,
    Ballot,
    BallotReceipt,
    BonusBatch,
    BonusCap,
    BonusPayment,
    Checklist,
    CheckOutcome,
    Cohort,
    Criterion,
    Exclusion,
    Flag,
    Guideline,
    LateChange,
    MergedCriterion,
    ProposedCriterion,
    QuestionDraft,
    Questionnaire,
    QuestionnaireAnswer,
    QuestionReview,
    Rater,
    Rubric,
    Score,
    Seat,
    Standing,
    StoppingQuestion,
    Study,
    Task,
    TimeCorrection,
    excluded_shown,
)
from annotation.monitoring.lead_names import names_outside
from annotation.questionnaires.asking import questions_of
from annotation.questionnaires.questions import without_texts
from calibration.data.verdicts import judged_elsewhere
from calibration.fits.categories import FIT_REFUSED
from calibration.models import CategoryFit, Fit, FittedWeight
from calibration.reports.judges import judges_beside
from calibration.reports.people.reviewed_verdicts import review_scores
from core.messages.message import ENDING
from generation.curation.reviews import VERBS
from generation.endpoints.pricing import price_of
from generation.models import (
    Benchmark,
    Category,
    Endpoint,
    GenerationItem,
    GenerationRun,
    Instruction,
    LanguageModel,
    Response,
    SurplusReply,
)
from judging.leaderboards.check_counts import beside_tasks
from judging.models import (
    Alignment,
    AlignmentLook,
    AlignmentVersion,
    DriftBaseline,
    Judge,
    JudgeRun,
    PlannedItem,
    Reply,
    RoutedDraw,
    Watch,
)

Row = dict[str, Any]
"""A row of a table by the names of its columns."""


HIDDEN: Mapping[type[Model], Mapping[str, object]] = {
    Workspace: {},
    Benchmark: {},
    Category: {},
    Instruction: {},
    LanguageModel: {"endpoint_id": None, "parameters": {}},
    GenerationRun: {"created_by_id": None},
    Response: {"derived_from_id": None},
    GenerationItem: {"leased_until": None, "leased_by": ""},
    SurplusReply: {"text": ""},
    Rubric: {},
    Criterion: {},
    Guideline: {},
    Study: {"created_by_id": None},
    Cohort: {"consents": {}, "codes": {}},
    Rater: {"user_id": None},
    Exclusion: {"by_id": None, "lifted_by_id": None},
    Task: {"guide_rubric_id": None},
    Assignment: {},
    Score: {},
    LateChange: {},
    CheckOutcome: {},
    Questionnaire: {"created_by_id": None},
    QuestionnaireAnswer: {},
    BonusCap: {},
    BonusBatch: {
        **{"external_study": "", "external_id": "", "problem": ""},
        **{"made_by_id": None, "confirmed_by_id": None},
    },
    BonusPayment: {"submission": ""},
    Judge: {},
    Fit: {"created_by_id": None},
    CategoryFit: {},
    FittedWeight: {},
    Judge.jurors.through: {},
    Standing: {},
    Seat: {},
    Flag: {},
    TimeCorrection: {},
    StoppingQuestion: {},
    Watch: {"active": False, "created_by_id": None},
    JudgeRun: {"created_by_id": None},
    DriftBaseline: {"created_by_id": None},
    PlannedItem: {},
    Reply: {},
    Alignment: {"created_by_id": None},
    AlignmentVersion: {"draft_id": None, "added_by_id": None},
    AlignmentLook: {"taken_by_id": None},
    RoutedDraw: {"created_by_id": None},
    Checklist: {"created_by_id": None},
    Checklist.categories.through: {},
    MergedCriterion: {},
    ProposedCriterion: {"by_id": None},  # these three have a pseudonym instead
    BallotReceipt: {"by_id": None},
    Ballot: {},
    QuestionDraft: {"by_id": None},
    QuestionReview: {"by_id": None},
    Event: {"actor_id": None},
}
"""Every table that an archive may have, with the values that always replace fields."""
_STATE = BonusBatch.State
SETTLED = (_STATE.SENT, _STATE.FOUND_PAID, _STATE.FOUND_UNPAID, _STATE.REFUSED, _STATE.DROPPED)
"""States of a list of bonuses after which nothing can be sent any more."""
INSTRUCTION, STUDY = "generation.Instruction", "study"
DECISIONS: Mapping[str, frozenset[str]] = {
    INSTRUCTION: frozenset({APPROVED, *VERBS.values()}),
    STUDY: frozenset({FIT_REFUSED}),
}
"""What an archive has of the log, by the kind of object: what pages read from it. The rest tells who did what when."""
SENTENCES: Mapping[type[Model], str] = {
    GenerationRun: "message",
    GenerationItem: "error",
    JudgeRun: "message",
    PlannedItem: "error",
}
"""Columns with sentences about calls."""
CHECKLISTS: Mapping[type[Model], str] = {
    ProposedCriterion: "checklist",
    BallotReceipt: "checklist",
    QuestionReview: "question__criterion__checklist",
}
"""The tables of which pages count the people, with the way to the checklist within which a person has one pseudonym."""
TEXTS: Mapping[type[Model], Mapping[str, object]] = {
    GenerationRun: {"manifest": {}, "parameters": {}, "message": ""},
    Study: {"guideline_id": None},
    Instruction: {"messages": None, "parts": None, "reference": "", "hint": ""},
    Assignment: {"seat_id": None},
    Score: {"reason": "", "evidence": None},
    Judge: {"prompt": "", "parameters": {}},
}
"""The values that replace fields where texts, and what only pages show, are left out."""


@dataclass(frozen=True)
class ExportPart:
    """The rows of one table that are exported."""

    model: type[Model]
    rows: QuerySet[Any]

    @property
    def name(self) -> str:
        return file_of(self.model)

    def plain_rows(self, *, texts: bool) -> Iterator[Row]:
        """Yield the rows with their columns, but for messages of the program in other languages."""
        names = [one.attname for one in self.model._meta.concrete_fields if not one.name.endswith(ENDING)]
        rows, hidden = self.rows.order_by("pk"), {**HIDDEN[self.model], **({} if texts else TEXTS.get(self.model, {}))}
        if self.model is Response and not texts:
            rows, names = rows.annotate(characters=Length("text")), [*names, "characters"]
        kept = [
            name for name in names if name not in hidden and (texts or self.model is not Response or name != "text")
        ]
        prices = _prices_of_endpoints(self.rows) if self.model is LanguageModel else {}
        if self.model in CHECKLISTS:
            yield from _by_pseudonym(rows, kept, hidden, CHECKLISTS[self.model])
            return
        hosts = _hosts() if self.model in SENTENCES else []
        for row in rows.values(*kept).iterator(chunk_size=2000):
            for host in hosts if row.get(SENTENCES.get(self.model, "")) else ():
                row[SENTENCES[self.model]] = row[SENTENCES[self.model]].replace(host, "…")
            yield _without_names(self.model, {**row, **hidden, **prices.get(row.get("id"), {})}, texts=texts)


def _hosts() -> list[str]:
    """Return the hosts of all endpoints, longest first: an error may say which of them was not called."""
    found = {urlsplit(url).hostname for url in Endpoint.objects.values_list("base_url", flat=True)}
    return sorted((host for host in found if host), key=len, reverse=True)


def _by_pseudonym(rows: QuerySet[Any], kept: list[str], hidden: Mapping[str, object], checklist: str) -> Iterator[Row]:
    """Yield the rows with a pseudonym for each person of each checklist, drawn here, so that nothing leads back to them."""
    drawn: defaultdict[tuple[int, int], UUID] = defaultdict(uuid4)
    asked = rows.values_list("by", checklist, *kept)
    for by, of, *values in asked.iterator(chunk_size=2000):
        row = dict(zip(kept, values, strict=True))
        yield {**row, **hidden, "pseudonym": drawn[by, of] if by else row["pseudonym"]}


def _prices_of_endpoints(models: QuerySet[LanguageModel]) -> dict[object, Row]:
    """Return the known prices of models that have them from their endpoint, which stays behind."""
    found: dict[object, Row] = {}
    for model in models.select_related("endpoint").distinct():
        price = price_of(model)
        if price.known and model.input_price is None:
            found[model.pk] = {"input_price": price.prices.read, "output_price": price.prices.written}
    return found


def file_of(model: type[Model]) -> str:
    """Return the name of the file with the rows of a table."""
    return f"rows/{model._meta.label_lower}.jsonl"


def parts_of(study: Study, *, texts: bool = False) -> list[ExportPart]:
    """Return the rows of every table, each after those to which it refers; with `texts` also what only pages show."""
    with excluded_shown():  # an export has the excluded answers, marked
        elsewhere, beside, reviews = judged_elsewhere(study), judges_beside(study), review_scores(study)
    reviewed = reviews.values("assignment__task__reviews")
    # A draw's estimate rests on the ratings of the draw's own study.
    drawn = Study.objects.filter(routed_draw__about=study) if texts else Study.objects.none()
    tasks = Task.objects.filter(
        Q(study=study)
        | Q(study__in=drawn)
        | Q(pk__in=elsewhere.values("task"))
        | Q(pk__in=beside.values("task"))
        | Q(pk__in=reviews.values("assignment__task"))
        | Q(assignments__in=reviewed)
    ).distinct()
    answers = Assignment.objects.filter(
        Q(task__study=study)
        | Q(task__study__in=drawn)
        | Q(pk__in=elsewhere.values("pk"))
        | Q(pk__in=beside.values("pk"))
        | Q(pk__in=reviews.values("assignment"))
        | Q(pk__in=reviewed)
    )
    unasked, asking = _beside_tasks(tasks)
    responses = Response.objects.filter(
        Q(pk__in=tasks.values("response_a")) | Q(pk__in=tasks.values("response_b")) | Q(pk__in=unasked)
    )
    instructions = Instruction.objects.filter(pk__in=responses.values("instruction"))
    whole, checklists = _unfinished(study)
    if texts:
        unrated = Q(instruction__benchmark__in=whole, kind__in=(Response.Kind.RESPONSE, Response.Kind.REFERENCE))
        responses = Response.objects.filter(Q(pk__in=responses.values("pk")) | unrated)
        instructions = Instruction.objects.filter(Q(pk__in=responses.values("instruction")) | Q(benchmark__in=whole))
    benchmarks = Benchmark.objects.filter(Q(pk__in=instructions.values("benchmark")) | Q(pk=study.benchmark_id))
    if texts:
        benchmarks = Benchmark.objects.filter(Q(pk__in=benchmarks.values("pk")) | Q(pk__in=whole.values("pk")))
    rubrics = Rubric.objects.filter(Q(pk__in=tasks.values("answer_rubric")) | Q(pk__in=asking))
    if texts:
        kept = rubrics.values("pk")
        rubrics = Rubric.objects.filter(
            Q(pk__in=kept) | Q(pk=study.rubric_id) | Q(benchmark__in=whole, study=None) | Q(study=study)
        )
    asked = QuestionnaireAnswer.objects.filter(questionnaire__study=study)
    raters = Rater.objects.filter(Q(pk__in=answers.values("rater")) | Q(pk__in=asked.values("rater")))
    judges = Judge.objects.filter(rater__in=raters)
    cohorts = Cohort.objects.filter(raters__in=raters).distinct()
    if texts:  # pages also show who has not answered yet
        judges = Judge.objects.filter(
            Q(rater__in=raters)
            | Q(runs__study=study)
            | Q(watches__study=study)
            | Q(panels__rater__in=raters)
            | Q(alignments__study=study)
        ).distinct()
        own = Q(study=study) | Q(study__in=drawn)
        raters = Rater.objects.filter(Q(pk__in=raters) | own | Q(pk__in=judges.values("rater")))
        cohorts = Cohort.objects.filter(Q(raters__in=raters) | own).distinct()
    fits = Fit.objects.filter(Q(study=study) | Q(workspace=study.workspace_id, kind=Fit.Kind.PUBLISHED))
    runs = GenerationRun.objects.filter(pk__in=responses.values("run"))
    if texts:
        runs = GenerationRun.objects.filter(
            Q(pk__in=responses.values("run")) | Q(pk__in=checklists.values("drafting_run"))
        )
    items = GenerationItem.objects.filter(run__in=runs, instruction__in=instructions)
    asked_models = items.values("model") if texts else items.none().values("model")
    models = LanguageModel.objects.filter(
        Q(responses__in=responses) | Q(pk__in=judges.values("language_model")) | Q(pk__in=asked_models)
    ).distinct()
    studies = Study.objects.filter(Q(pk__in=tasks.values("study")) | Q(pk=study.pk) | Q(pk__in=drawn.values("pk")))
    parts = [
        ExportPart(Workspace, Workspace.objects.filter(pk=study.workspace_id)),
        ExportPart(Benchmark, benchmarks),
        ExportPart(Category, Category.objects.filter(benchmark__in=benchmarks)),
        ExportPart(Instruction, instructions),
        ExportPart(LanguageModel, models),
        ExportPart(GenerationRun, runs),
        ExportPart(Response, responses),
        ExportPart(Rubric, rubrics),
        ExportPart(Criterion, Criterion.objects.filter(rubric__in=rubrics)),
        *([ExportPart(Guideline, _guidelines(studies))] if texts else []),
        ExportPart(Study, studies),
        ExportPart(Cohort, cohorts),
        ExportPart(Rater, raters),
        ExportPart(Exclusion, Exclusion.objects.filter(rater__in=raters)),
        ExportPart(Task, tasks),
        ExportPart(Assignment, answers),
        ExportPart(Score, Score.objects.filter(assignment__in=answers)),
        ExportPart(LateChange, LateChange.objects.filter(assignment__in=answers)),
        ExportPart(CheckOutcome, CheckOutcome.objects.filter(assignment__in=answers)),
        ExportPart(Questionnaire, Questionnaire.objects.filter(study=study)),
        ExportPart(QuestionnaireAnswer, asked),
        ExportPart(Judge, judges),
        ExportPart(Fit, fits),
        ExportPart(CategoryFit, CategoryFit.objects.filter(fit__in=fits)),
        ExportPart(FittedWeight, FittedWeight.objects.filter(category_fit__fit__in=fits)),
    ]
    if not texts:
        return parts
    return [
        *parts,
        ExportPart(GenerationItem, items),
        ExportPart(SurplusReply, SurplusReply.objects.filter(item__in=items)),
        *_paid(study, raters),
        *_beside(study, tasks, answers, raters, judges),
        *_authoring(checklists),
        _decided(study, instructions),
    ]


def _beside(
    study: Study, tasks: QuerySet[Task], answers: QuerySet[Assignment], raters: QuerySet[Rater], judges: QuerySet[Judge]
) -> list[ExportPart]:
    """Return what no figure needs but pages show: runs with their replies, slots, states of raters and alignments."""
    runs = JudgeRun.objects.filter(Q(study=study) | Q(items__assignment__in=answers), judge__in=judges).distinct()
    watches = Watch.objects.filter(study=study, judge__in=judges)
    items = PlannedItem.objects.filter(run__in=runs, task__in=tasks)
    alignments = Alignment.objects.filter(study=study, baseline__in=judges)
    versions = AlignmentVersion.objects.filter(alignment__in=alignments, judge__in=judges)
    jurors = Judge.jurors.through
    return [
        ExportPart(jurors, jurors._default_manager.filter(**{"from_judge__in": judges, "to_judge__in": judges})),
        ExportPart(Standing, Standing.objects.filter(rater__in=raters)),
        ExportPart(Seat, Seat.objects.filter(task__in=tasks)),
        ExportPart(Flag, Flag.objects.filter(task__in=tasks)),
        ExportPart(TimeCorrection, TimeCorrection.objects.filter(assignment__in=answers)),
        ExportPart(StoppingQuestion, StoppingQuestion.objects.filter(study=study)),
        ExportPart(Watch, watches),
        ExportPart(JudgeRun, runs),
        ExportPart(DriftBaseline, DriftBaseline.objects.filter(watch__in=watches, run__in=runs)),
        ExportPart(PlannedItem, items),
        ExportPart(Reply, Reply.objects.filter(item__in=items)),
        ExportPart(Alignment, alignments),
        ExportPart(AlignmentVersion, versions),
        ExportPart(AlignmentLook, AlignmentLook.objects.filter(version__in=versions)),
        ExportPart(RoutedDraw, RoutedDraw.objects.filter(about=study)),
    ]


def _paid(study: Study, raters: QuerySet[Rater]) -> list[ExportPart]:
    """Return the bonuses that were sent or were not; a list that is not settled stays where it can be sent."""
    lists = BonusBatch.objects.filter(study=study, state__in=SETTLED)
    return [
        ExportPart(BonusCap, BonusCap.objects.filter(study=study)),
        ExportPart(BonusBatch, lists),
        ExportPart(BonusPayment, BonusPayment.objects.filter(batch__in=lists, rater__in=raters)),
    ]


def _guidelines(studies: QuerySet[Study]) -> QuerySet[Guideline]:
    """Return the guidelines of the studies in all their versions."""
    held = Guideline.objects.filter(pk__in=studies.values("guideline"))
    return Guideline.objects.filter(workspace__in=held.values("workspace"), key__in=held.values("key"))


def _unfinished(study: Study) -> tuple[QuerySet[Benchmark], QuerySet[Checklist]]:
    """Return the benchmarks on which work goes on, the study's with those that ask models for drafts, and the checklists."""
    if study.benchmark is None:
        return Benchmark.objects.none(), Checklist.objects.none()
    checklists = Checklist.objects.filter(workspace=study.workspace_id, benchmark=study.benchmark)
    asking = Q(workspace=study.workspace_id, slug=f"{study.benchmark.slug}-{DRAFTS}")
    drafting = Q(pk__in=checklists.values("drafting_run__benchmark"))
    return Benchmark.objects.filter(Q(pk=study.benchmark_id) | asking | drafting), checklists


def _authoring(checklists: QuerySet[Checklist]) -> list[ExportPart]:
    """Return what is written of checklists. Of reviews there is each person's newest of a version, which alone counts."""
    criteria = MergedCriterion.objects.filter(checklist__in=checklists)
    questions = QuestionDraft.objects.filter(criterion__in=criteria)
    later = QuestionReview.objects.filter(question=OuterRef("question"), by=OuterRef("by"), pk__gt=OuterRef("pk"))
    categories = Checklist.categories.through
    return [
        ExportPart(Checklist, checklists),
        ExportPart(categories, categories._default_manager.filter(checklist__in=checklists)),
        ExportPart(MergedCriterion, criteria),
        ExportPart(ProposedCriterion, ProposedCriterion.objects.filter(checklist__in=checklists)),
        ExportPart(BallotReceipt, BallotReceipt.objects.filter(checklist__in=checklists)),
        ExportPart(Ballot, Ballot.objects.filter(checklist__in=checklists)),
        ExportPart(QuestionDraft, questions),
        ExportPart(QuestionReview, QuestionReview.objects.filter(~Exists(later), question__in=questions)),
    ]


def _decided(study: Study, instructions: QuerySet[Instruction]) -> ExportPart:
    """Return, of the log, the decisions that pages read from it, without who decided."""
    of_instructions = Q(object_type=INSTRUCTION, verb__in=DECISIONS[INSTRUCTION])
    events = Event.objects.filter(
        (of_instructions & Q(object_id__in=instructions.values("public_id")))
        | Q(object_type=STUDY, verb__in=DECISIONS[STUDY], object_id=study.public_id)
    )
    return ExportPart(Event, events.filter(workspace=study.workspace_id))


def _beside_tasks(tasks: QuerySet[Task]) -> tuple[set[int], set[int]]:
    """Return, for studies of checks, the responses without a task and the rubrics on which their counts rest."""
    responses: set[int] = set()
    rubrics: set[int] = set()
    for study in Study.objects.filter(pk__in=tasks.values("study"), kind=Study.Kind.CHECK):
        absent, asking = beside_tasks(study)
        responses |= absent
        rubrics |= asking
    return responses, rubrics


def _without_names(model: type[Model], row: Row, *, texts: bool) -> Row:
    """Name a person by pseudonym only; drop a cohort's secret, addresses of models, and texts that are left out."""
    if model is LateChange and not texts:
        sent = {key: {**answer, "reason": "", "evidence": None} for key, answer in row["answers"].items()}
        return {**row, "answers": sent}
    if model is Rater and row["kind"] == Rater.Kind.KEY:
        names = names_outside(Study.objects.get(pk=row["study_id"])) if row["study_id"] else {}
        if row["id"] in names:
            return {**row, "label": row["public_id"], "pseudonym": names[row["id"]]}
    if model is Rater and (row["kind"] == Rater.Kind.PERSON or not texts):
        shown = row["pseudonym"] or row["label"]
        return {**row, "label": row["public_id"], "pseudonym": shown}
    if model is QuestionnaireAnswer:
        questions = questions_of(Questionnaire.objects.get(pk=row["questionnaire_id"]))
        return {**row, "answers": without_texts(questions, row["answers"])}
    if model is Cohort:
        return {**row, "entry_token": f"cohort-{row['id']}"}
    if model is GenerationRun and texts:
        return {**row, "manifest": _of_generation(row["manifest"])}
    if model is JudgeRun:
        return {**row, "manifest": _without_endpoints(row["manifest"])}
    return row


def _of_generation(manifest: Row) -> Row:
    """A generation run's manifest without its batches at an endpoint, and without the parameters of its models."""
    kept = {name: value for name, value in manifest.items() if name != "batches"}
    if asked := kept.get("asked"):
        kept["asked"] = {**asked, "models": [{**one, "parameters": {}} for one in asked.get("models", [])]}
    return {name: _without_endpoints(value) for name, value in kept.items()}


def _without_endpoints(value: Any) -> Any:
    """A run's manifest without the addresses that its models were asked at, which may be of a private network."""
    if isinstance(value, dict):
        return {key: "" if key == "endpoint" else _without_endpoints(one) for key, one in value.items()}
    return [_without_endpoints(one) for one in value] if isinstance(value, list) else value
