"""What is sent to and returned by the addresses of the API. Written by tests/client_code.py; do not change it by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, NotRequired, TypedDict


class Approval(TypedDict):
    """
    A row of the list to approve or reject, with the ids by which the platform knows the rater.
    """

    rater: str
    platform: str
    platform_id: str
    submission_id: str
    submitted: str
    answers: int
    minutes: float
    answers_not_counted: int
    minutes_not_counted: float
    checks_passed: int
    checks_failed: int
    suggested_decision: str
    reason: str
    pay: Decimal | None
    pay_per: str
    currency: str
    sum: Decimal | None
    sum_not_counted: Decimal | None
    state_at_prolific: str
    bonuses_sent: Decimal
    bonuses_uncertain: Decimal


class AskedFit(TypedDict):
    """
    A fit that a worker computes.
    """

    job: str


class BadRow(TypedDict):
    line: int
    reason: str
    remedy: str


class Benchmark(TypedDict):
    slug: str
    workspace: str
    version: NotRequired[str]
    licence: NotRequired[str]
    source: NotRequired[str]


class Budget(TypedDict):
    """
    The most that a run may spend; null is no limit.
    """

    budget_calls: int | None
    budget_tokens: int | None
    budget_money: Decimal | None


class Cap(TypedDict):
    """
    The caps on the bonuses of a study, in units of its currency.
    """

    operator: Decimal
    cap: Decimal | None
    spent: Decimal
    left: Decimal


class CategoryProgress(TypedDict):
    name: str
    is_group: bool
    tasks: int
    seats: int
    taken: int
    people: int
    judges: int


class Change(TypedDict):
    """
    This round minus what it is compared with; flagged if p is below alpha.
    """

    value: float
    low: float
    high: float
    n: int
    clusters: int
    p: float
    alpha: float
    reach: float
    flagged: bool


class ChecklistsRow(TypedDict):
    instruction: NotRequired[str]
    category: NotRequired[str]
    question: str
    question_zh: NotRequired[str]


class ChecksRow(TypedDict):
    instruction: str
    question: str
    question_zh: NotRequired[str]
    numbers: NotRequired[Any]
    mark: NotRequired[str]
    kind: NotRequired[str]
    asked: NotRequired[Any]


class Closing(TypedDict):
    """
    What closing the study would leave unfinished.
    """

    status: str
    needed: int
    missing: int
    tasks: int
    opened: int
    raters: int
    links: int


class CohortProgress(TypedDict):
    name: str
    kind: str
    raters: int
    stopped: int
    answered: int
    skipped: int
    checks: int
    failed: int


class CountedAgain(TypedDict):
    answers: int
    without_seat: int


class CriterionScore(TypedDict):
    criterion: str
    score: float | None
    reason: str


class CuratedInstruction(TypedDict):
    """
    An instruction, why it would go, and what a person decided.
    """

    id: str
    instruction: str
    tags: NotRequired[Any]
    reason: NotRequired[str]
    what: NotRequired[str]
    similarity: NotRequired[float | None]
    decision: NotRequired[str]
    decision_reason: NotRequired[str]
    decided_by: NotRequired[str]


class Curation(TypedDict):
    """
    What the rules say of a benchmark's instructions. `kept` and what follows are null for a large benchmark.
    """

    instructions: int
    tag: str
    tagged: int
    rules: Any
    kept: int | None
    reasons: dict[str, int] | None
    unstated: dict[str, int] | None


class Days(TypedDict):
    days: NotRequired[int | None]


class Decision(TypedDict):
    instruction: str
    decision: str
    reason: str
    by: str


class Deleted(TypedDict):
    removed: dict[str, int]


class Deletion(TypedDict):
    removed: dict[str, int]
    stays: str


class Demonstration(TypedDict):
    """
    How far the demonstration of a workspace is.
    """

    study: str | None
    fitted: bool
    run: str | None
    judged: int
    to_judge: int
    under_way: bool
    complete: bool


class Disagreement(TypedDict):
    task: str
    instruction: str
    category: NotRequired[str | None]
    spread: float
    answers: int
    open_slots: int
    decided: bool


class Disagreements(TypedDict):
    """
    The tasks on which raters disagree, the widest spread first.
    """

    results: list[Disagreement]
    counted_at: str | None
    counting: bool


class Draft(TypedDict):
    text: str
    models: list[str]
    alike: list[str]


class DraftedChecklist(TypedDict):
    """
    The drafts for one instruction, and the questions of its own checklist.
    """

    id: str
    instruction: str
    questions: list[str]
    approved: bool
    drafts: list[Draft]


class DraftedInstruction(TypedDict):
    """
    An instruction for which models drafted questions.
    """

    id: str
    instruction: str
    questions: NotRequired[int]
    models: NotRequired[list[str]]
    approved: NotRequired[bool]


class DraftingRun(TypedDict):
    run: str
    job: str


class Dropped(TypedDict):
    dropped: int
    stay: int


class Erased(TypedDict):
    erased: dict[str, int]


class Exclusion(TypedDict):
    id: str
    rater: str
    since: NotRequired[str | None]
    reason: str
    at: str
    by: NotRequired[str | None]
    lifted_at: NotRequired[str | None]
    lifted_by: NotRequired[str | None]


class Found(TypedDict):
    """
    One thing that the endpoint was found to do, or not to do.
    """

    good: bool
    text: str
    detail: str


class FoundModels(TypedDict):
    names: list[str]


class FoundTask(TypedDict):
    task: str
    instruction: str
    response: NotRequired[str | None]
    model: NotRequired[str | None]
    words: NotRequired[str | None]
    excerpt: NotRequired[str | None]
    dropped: bool


class GivenAmount(TypedDict):
    rater: str
    amount: Decimal


class GivenScore(TypedDict):
    criterion: str
    revision: NotRequired[int]
    value: NotRequired[float | None]
    level: NotRequired[str]
    not_applicable: NotRequired[bool]
    reason: NotRequired[str]
    evidence: NotRequired[Any | None]


class GoldRow(TypedDict):
    instruction: str
    model: NotRequired[str]
    model_b: NotRequired[str]
    criterion: str
    value: Any
    purpose: NotRequired[str]
    why: NotRequired[str]
    why_zh: NotRequired[str]


class Guideline(TypedDict):
    """
    The guideline that raters of a study read.
    """

    version: int
    en: str
    zh: str


class HandedOver(TypedDict):
    detail: str


class Import(TypedDict):
    number: int
    workspace: str
    command: str
    file: str
    sha256: NotRequired[str]
    about: str
    counts: NotRequired[Any]
    at: str
    by: NotRequired[str | None]
    undone_at: NotRequired[str | None]


class Instruction(TypedDict):
    id: str
    external_id: str
    category: NotRequired[str | None]
    messages: NotRequired[Any | None]
    parts: NotRequired[Any | None]
    reference: NotRequired[str]
    hint: NotRequired[str]
    words_asked: NotRequired[int | None]
    language: NotRequired[str]
    tags: NotRequired[Any]


class InstructionsRow(TypedDict):
    instruction: str
    prompt: NotRequired[str]
    messages: NotRequired[Any]
    task: NotRequired[str]
    data: NotRequired[str]
    requirements: NotRequired[Any]
    category: NotRequired[str]
    parent: NotRequired[str]
    words_asked: NotRequired[float]
    language: NotRequired[str]
    reference: NotRequired[str]
    hint: NotRequired[str]
    tags: NotRequired[Any]
    checklist: NotRequired[Any]
    rubric: NotRequired[str]


class Invited(TypedDict):
    invited: int
    known: int


class Judge(TypedDict):
    id: str
    name: str
    method: str
    model: NotRequired[str | None]
    prompt: NotRequired[str]
    prompt_hash: str
    parameters: NotRequired[Any]
    provenance: str
    created_at: str


class LeftOut(TypedDict):
    who: str
    amount: Decimal | None
    why: str


class Level(TypedDict):
    value: float
    name: str
    meaning: NotRequired[str]


class LibraryGuideline(TypedDict):
    key: str
    version: NotRequired[int]
    workspace: str
    texts: dict[str, str]
    created_at: str


class LoadedLibrary(TypedDict):
    """
    What of the library was stored, and what was there already.
    """

    created: int
    completed: int
    already_there: int


class LoadedVerdicts(TypedDict):
    """
    A judge's verdicts on a study's responses that came from a file.
    """

    id: str
    judge: str
    study: str
    tasks: int


class Loading(TypedDict):
    leave_out_bad_rows: NotRequired[bool]


class MadeAccount(TypedDict):
    username: str
    password: str


class MadeAccounts(TypedDict):
    made: list[MadeAccount]
    known: list[str]


class MadeExclusion(TypedDict):
    id: str
    rater: str
    since: NotRequired[str | None]
    reason: str
    at: str
    by: NotRequired[str | None]
    lifted_at: NotRequired[str | None]
    lifted_by: NotRequired[str | None]
    answers: int


class MadeProposal(TypedDict):
    id: int
    name: str
    explanation: str


class Mean(TypedDict):
    """
    Of n responses, with a normal 95 % interval over them; its ends are null where n is 1.
    """

    value: float
    n: int
    low: float | None
    high: float | None


class MeanChange(TypedDict):
    value: float
    low: float
    high: float
    kind: str
    n: int
    clusters: int


class MergedCriterion(TypedDict):
    id: int
    name: str
    explanation: str
    votes: int | None
    certain: bool
    tied: bool
    kept: bool | None


class Message(TypedDict):
    message: NotRequired[str]


class Minimum(TypedDict):
    """
    What a complete participation needs; null for no such minimum.
    """

    answers: NotRequired[int | None]
    checks: NotRequired[int | None]
    minutes: NotRequired[int | None]


class Model(TypedDict):
    id: int
    name: str
    workspace: str
    served: bool
    family: NotRequired[str]
    billions_of_parameters: NotRequired[float | None]
    fictional: NotRequired[bool]


class ModelCounts(TypedDict):
    """
    How far the run is with one model.
    """

    name: str
    total: int
    done: int
    failed: int
    waiting: int


class ModelDifference(TypedDict):
    """
    First model minus second, over the instructions that both answered.
    """

    value: float
    low: float
    high: float
    kind: str
    n: int
    first_better: int
    second_better: int
    equal: int


class ModelTexts(TypedDict):
    """
    The texts of a model; null where nothing could be measured.
    """

    model: str
    responses: int
    words: Mean | None
    length_error: Mean | None
    repetition: Mean | None
    distinct: float | None
    bleu: float | None
    rouge_l: Mean | None
    meteor: Mean | None


class Monitor(TypedDict):
    id: str
    workspace: str
    study: str
    judge: str
    judge_id: str
    tasks: int
    active: NotRequired[bool]
    every_hours: NotRequired[int]
    next_at: str
    budget_money: NotRequired[Decimal | None]
    created_at: str
    changed: bool
    unfinished: str | None


class MonitoredVerdict(TypedDict):
    """
    An answer that differs between two rounds; null where a round has no usable one.
    """

    task: str
    instruction: str
    criterion: str
    before: float | None
    after: float | None
    share: float | None
    item_before: NotRequired[int | None]
    item_after: NotRequired[int | None]


class MovedVerdict(TypedDict):
    """
    A response, or pair, with the scores of both runs.
    """

    first: int
    second: int
    instruction: str
    response_a: str
    response_b: str | None
    score_of: str
    before: float
    after: float
    change: float


class NewInvitation(TypedDict):
    """
    An invitation that was just made, with its link, which is not told again.
    """

    id: str
    role: Literal["owner", "lead", "analyst", "reviewer", "rater"]
    note: NotRequired[str]
    made_by: str
    made_at: str
    expires_at: str
    link: str
    sent: bool


class NewWebhook(TypedDict):
    """
    A webhook that was just added, with its secret, which is not told again.
    """

    id: str
    url: str
    events: list[str]
    active: NotRequired[bool]
    created_at: str
    secret: str


class Note(TypedDict):
    """
    A note or appeal of a rater to the lead.
    """

    id: int
    kind: str
    text: NotRequired[str]
    task: str
    instruction: str
    rater: NotRequired[str | None]
    name: NotRequired[str | None]
    created_at: str
    resolved_at: NotRequired[str | None]


class NoteToRater(TypedDict):
    """
    A message that the rater has not confirmed yet.
    """

    rater: str
    text: str
    at: str


class Objection(TypedDict):
    comment: str
    by: str


class OpenCohort(TypedDict):
    """
    A cohort for those who lead it: with the link by which people join, and the completion codes.
    """

    id: int
    name: str
    kind: NotRequired[Literal["onsite", "crowd", "public"]]
    expires_at: NotRequired[str | None]
    revoked_at: NotRequired[str | None]
    joins_per_hour: NotRequired[int | None]
    raters: NotRequired[int]
    is_open: bool
    link: str
    codes: dict[str, str]
    prolific_workspace: str


class Passage(TypedDict):
    response: str
    instruction: str
    mode: str
    passage: str
    number: float


class PatchedCohortChanges(TypedDict):
    """
    What is to be changed of a cohort.
    """

    joins_per_hour: NotRequired[int | None]
    codes: NotRequired[dict[str, str]]
    prolific_workspace: NotRequired[str]


class PatchedEndpointChanges(TypedDict):
    """
    What is to be changed of an endpoint. A key is never sent: `key_variable` names the variable that holds it.
    """

    name: NotRequired[str]
    kind: NotRequired[Literal["openai", "in_process", "scripted"]]
    base_url: NotRequired[str]
    key_variable: NotRequired[str]
    max_concurrent: NotRequired[int]
    requests_per_minute: NotRequired[int | None]
    tokens_per_minute: NotRequired[int | None]
    timeout_seconds: NotRequired[int]
    context_tokens: NotRequired[int | None]
    input_price: NotRequired[Decimal]
    output_price: NotRequired[Decimal]


class PatchedModelChanges(TypedDict):
    """
    What is to be changed of a model.
    """

    name: NotRequired[str]
    endpoint: NotRequired[str]
    served_name: NotRequired[str]
    family: NotRequired[str]
    billions_of_parameters: NotRequired[Decimal | None]
    parameters: NotRequired[dict[str, Any]]
    input_price: NotRequired[Decimal | None]
    output_price: NotRequired[Decimal | None]
    currency: NotRequired[str]
    priced_on: NotRequired[str | None]
    fictional: NotRequired[bool]


class PatchedRole(TypedDict):
    role: NotRequired[Literal["owner", "lead", "analyst", "reviewer", "rater"]]


class PatchedTerms(TypedDict):
    """
    The interval between rounds and the most that one may cost; what is left out stays.
    """

    every_hours: NotRequired[int]
    budget_money: NotRequired[Decimal | None]


class PatchedWebhookChanges(TypedDict):
    """
    What is to be changed of a webhook.
    """

    url: NotRequired[str]
    events: NotRequired[list[str]]
    active: NotRequired[bool]


class People(TypedDict):
    """
    How many people did something, and the names of those whose accounts are here.
    """

    number: int
    names: list[str]


class PersonsAnswer(TypedDict):
    rater: str
    answers: list[CriterionScore]


class Phrases(TypedDict):
    """
    The phrases that hold in a workspace, in lower case.
    """

    refusals: list[str]
    meaningless: list[str]
    own: bool


class PreferencesRow(TypedDict):
    item: str
    model_a: str
    model_b: str
    rater: str
    choice: str
    first: NotRequired[str]
    strength: NotRequired[str]
    instruction: NotRequired[str]
    category: NotRequired[str]
    seconds: NotRequired[float]
    rater_kind: NotRequired[str]


class PreparedBonuses(TypedDict):
    """
    The same list, with the digest of its dry run.
    """

    purpose: str
    basis: Literal["given", "answers", "hours", "checks"]
    amounts: NotRequired[list[GivenAmount]]
    above: NotRequired[int]
    each: NotRequired[Decimal]
    fewest: NotRequired[int]
    percent: NotRequired[int]
    amount: NotRequired[Decimal]
    with_unknown: NotRequired[bool]
    digest: str


class ProlificStudy(TypedDict):
    """
    The study at Prolific to which a cohort belongs.
    """

    id: str
    made_at: str
    looked_at: NotRequired[str | None]
    problem: str


class Proposal(TypedDict):
    id: int
    name: str
    explanation: str
    own: bool
    criterion: int | None


class ProposedBonus(TypedDict):
    rater: str
    pseudonym: str
    submission: str
    amount: Decimal
    reason: str


class QuestionsBenchmark(TypedDict):
    """
    The benchmark whose instructions ask models about those of another one.
    """

    benchmark: str
    instructions: int


class RaterProgress(TypedDict):
    id: str
    name: str
    kind: str
    cohort: str
    state: str
    provenance: list[str]
    answered: int
    skipped: int
    unscored: int
    surplus: int
    open: int
    minutes: float | None
    last: str | None
    checks: int
    failed: int
    discredited: int
    excluded: int


class RatersRow(TypedDict):
    name: NotRequired[str]
    email: NotRequired[str]
    cohort: NotRequired[str]
    rater_kind: NotRequired[str]


class RatingsRow(TypedDict):
    item: str
    rater: str
    value: NotRequired[Any]
    criterion: NotRequired[str]
    model: NotRequired[str]
    instruction: NotRequired[str]
    category: NotRequired[str]
    reason: NotRequired[str]
    seconds: NotRequired[float]
    rater_kind: NotRequired[str]
    criteria: NotRequired[dict[str, Any]]


class RawReply(TypedDict):
    attempt: int
    text: str
    finish_reason: str
    error: str
    reused: bool


class Released(TypedDict):
    released: int


class RenderedText(TypedDict):
    """
    A text as pages show it.
    """

    markdown: str
    html: str
    words: int
    minutes: float
    language: str
    notes: list[str]


class Report(TypedDict):
    kind: str
    settings: Any
    data_hash: str
    computed_at: str
    answers_since: int
    failed_judges: list[str]
    result: Any


class Requested(TypedDict):
    ratings: int
    tasks: int


class ResponsesRow(TypedDict):
    instruction: str
    response: str
    model: NotRequired[str]
    prompt: NotRequired[str]
    category: NotRequired[str]
    sample: NotRequired[float]
    finish_reason: NotRequired[str]
    tokens: NotRequired[float]
    seconds: NotRequired[float]


class Reviewed(TypedDict):
    done: int
    gone: int
    refused: list[str]


class RowError(TypedDict):
    row: int
    reason: str
    remedy: str


class RubricsRow(TypedDict):
    rubric: NotRequired[str]
    rubric_name: NotRequired[str]
    category: NotRequired[str]
    criterion: NotRequired[str]
    question: NotRequired[str]
    question_zh: NotRequired[str]
    role: NotRequired[str]
    scale: NotRequired[str]
    level_value: NotRequired[Any]
    level_name: NotRequired[str]
    level_name_zh: NotRequired[str]
    level_meaning: NotRequired[str]
    level_meaning_zh: NotRequired[str]
    may_not_apply: NotRequired[str]


class RunProgress(TypedDict):
    total: int
    scored: int
    unscored: int
    waiting: int
    busy: int
    under_way: int
    next_call_at: str | None
    reasons: Any
    calls: int
    reused: int
    input_tokens: int
    output_tokens: int
    money: Decimal
    projected_money: Decimal | None


class SavedMapping(TypedDict):
    """
    What the columns of a file hold, under a name.
    """

    number: int
    name: str
    kind: str
    file_columns: list[str]
    columns: dict[str, str]
    options: dict[str, str]
    by: NotRequired[str | None]
    created_at: str


class Scanned(TypedDict):
    scanned: bool
    found: int


class Score(TypedDict):
    task: str
    response_a: NotRequired[str | None]
    response_b: NotRequired[str | None]
    rater: str
    rater_kind: str
    status: str
    not_counted: str
    repeat: int
    shown_first: str
    submitted_at: str | None
    discredited: bool
    criterion: str
    role: str
    revision: NotRequired[int]
    value: NotRequired[float | None]
    level: NotRequired[str]
    not_applicable: NotRequired[bool]
    reason: NotRequired[str]
    evidence: NotRequired[Any | None]


class Sending(TypedDict):
    """
    A confirmation that the messages are to be sent.
    """

    people: int


class Sent(TypedDict):
    sent: int


class SentBonuses(TypedDict):
    """
    Bonuses in one currency.
    """

    currency: str
    amount: Decimal
    in_doubt: Decimal


class SentChecklists(TypedDict):
    """
    Rows, and what they belong to.
    """

    into: str
    rows: list[ChecklistsRow]
    on_error: NotRequired[Literal["fail", "skip"]]
    options: NotRequired[dict[str, str]]


class SentChecks(TypedDict):
    """
    Rows, and what they belong to.
    """

    into: str
    rows: list[ChecksRow]
    on_error: NotRequired[Literal["fail", "skip"]]
    options: NotRequired[dict[str, str]]


class SentGold(TypedDict):
    """
    Rows, and what they belong to.
    """

    into: str
    rows: list[GoldRow]
    on_error: NotRequired[Literal["fail", "skip"]]
    options: NotRequired[dict[str, str]]


class SentInstructions(TypedDict):
    """
    Rows, and what they belong to.
    """

    into: str
    rows: list[InstructionsRow]
    on_error: NotRequired[Literal["fail", "skip"]]
    options: NotRequired[dict[str, str]]


class SentMessage(TypedDict):
    role: str
    content: str


class SentPreferences(TypedDict):
    """
    Rows, and what they belong to.
    """

    into: str
    rows: list[PreferencesRow]
    on_error: NotRequired[Literal["fail", "skip"]]
    options: NotRequired[dict[str, str]]


class SentRaters(TypedDict):
    """
    Rows, and what they belong to.
    """

    into: str
    rows: list[RatersRow]
    on_error: NotRequired[Literal["fail", "skip"]]
    options: NotRequired[dict[str, str]]


class SentRatings(TypedDict):
    """
    Rows, and what they belong to.
    """

    into: str
    rows: list[RatingsRow]
    on_error: NotRequired[Literal["fail", "skip"]]
    options: NotRequired[dict[str, str]]


class SentResponses(TypedDict):
    """
    Rows, and what they belong to.
    """

    into: str
    rows: list[ResponsesRow]
    on_error: NotRequired[Literal["fail", "skip"]]
    options: NotRequired[dict[str, str]]


class SentRubrics(TypedDict):
    """
    Rows, and what they belong to.
    """

    into: NotRequired[str]
    rows: list[RubricsRow]
    on_error: NotRequired[Literal["fail", "skip"]]
    options: NotRequired[dict[str, str]]


class ServedModel(TypedDict):
    id: int
    name: str
    endpoint: NotRequired[str | None]
    served_name: NotRequired[str]
    family: NotRequired[str]
    billions_of_parameters: NotRequired[float | None]
    parameters: NotRequired[Any]
    input_price: NotRequired[Decimal | None]
    output_price: NotRequired[Decimal | None]
    currency: NotRequired[str]
    priced_on: NotRequired[str | None]
    price_known: bool
    fictional: NotRequired[bool]


class SetAside(TypedDict):
    removed: int


class SettingChange(TypedDict):
    name: str
    before: str
    after: str


class SharedInstruction(TypedDict):
    id: str
    external_id: str
    category: str
    first: float
    second: float
    gap: float


class ShownAnswer(TypedDict):
    value: str
    text: str


class ShownChoice(TypedDict):
    value: str
    label: str
    description: str
    key: str
    stars: str


class ShownSection(TypedDict):
    heading: str
    level: int
    counterpart: int | None


class ShownTurn(TypedDict):
    role: str
    text: RenderedText


class ShownVerdict(TypedDict):
    answer: str
    reason: str
    quotations: list[str]


class SideVerdict(TypedDict):
    """
    The judge's answer to one criterion, beside the mean of people's.
    """

    question: str
    score: str
    reason: str
    people: float | None
    raters: int


class Significance(TypedDict):
    """
    A mean with its 95 % interval over whole instructions.
    """

    value: float
    low: float
    high: float
    n: int
    clusters: int


class SkipReason(TypedDict):
    value: str
    label: str


class SkippedTask(TypedDict):
    task: str
    instruction: str
    skips: int
    reasons: dict[str, int]


class SkippedTasks(TypedDict):
    results: list[SkippedTask]


class Spend(TypedDict):
    """
    A number of calls, of tokens and of money.
    """

    calls: int
    tokens: int
    money: str | None


class Spending(TypedDict):
    """
    The spending of a workspace in this calendar month (UTC), in the currency of its endpoints' prices.
    """

    limit: Decimal | None
    spent: Decimal
    reserved: Decimal | None
    room: Decimal | None
    currency: str


class Step(TypedDict):
    at: str
    by: str
    what: str


class StoredRows(TypedDict):
    """
    What became of the rows.
    """

    counts: dict[str, int]
    imported: int | None
    row_errors: list[RowError]
    remarks: list[str]


class StudyPreview(TypedDict):
    """
    What a rater of the study reads before the tasks, and which tasks there are.
    """

    tasks: int
    first_of_rubrics: list[int]
    without_rubric: int
    absent: int
    consent: RenderedText
    guideline: RenderedText | None


class Submission(TypedDict):
    """
    A submission, as Prolific says it at this moment.
    """

    id: str
    participant: str
    status: str
    code: str


class Tagged(TypedDict):
    kept: int
    added: int
    removed: int


class Trial(TypedDict):
    id: str
    workspace: str
    model: str
    method: str
    prompt: str
    prompt_hash: str
    parameters: NotRequired[Any]
    status: NotRequired[Literal["planned", "running", "paused", "finished", "failed", "cancelled", "imported"]]
    message: NotRequired[str]
    answers: int
    settled: int
    unusable: int
    cost: str
    currency: str
    budget_money: NotRequired[Decimal | None]
    created_at: str
    kept_until: str


class TriedAnswers(TypedDict):
    answers: dict[str, list[str]]


class TriedCriterion(TypedDict):
    question: str
    score: float | None
    reason: str
    people: float | None
    raters: int
    difference: float | None


class TriedQuestionnaire(TypedDict):
    accepted: bool
    problems: dict[str, str]


class TruthRow(TypedDict):
    item: str
    value: Any
    criterion: NotRequired[str]
    model: NotRequired[str]


class UndoPlan(TypedDict):
    removed: dict[str, int]
    kept: dict[str, int]
    restored: dict[str, int]
    stays: str


class Undone(TypedDict):
    removed: dict[str, int]


class UnfinishedRound(TypedDict):
    run: str
    status: str
    message: str


class Value(TypedDict):
    """
    One value to enter at a platform.
    """

    name: str
    value: str
    help: str


class Verdict(TypedDict):
    item: int
    position: int
    instruction: str
    response_a: str
    response_b: NotRequired[str | None]
    model_a: NotRequired[str | None]
    model_b: NotRequired[str | None]
    shown_first: str
    juror: int
    repeat: int
    canary: str
    status: str
    reason: str
    score: NotRequired[float | None]
    score_of: NotRequired[str | None]
    answers: list[CriterionScore]
    attempts: int
    input_tokens: int
    output_tokens: int
    seconds: float
    cost: float
    replies: list[RawReply] | None


class Version(TypedDict):
    version: int
    created_at: str
    answers: int


class WantedAccounts(TypedDict):
    """
    Accounts to be made, whose passwords somebody hands out.
    """

    names: list[str]
    role: Literal["analyst", "reviewer", "rater"]


class WantedAdjudication(TypedDict):
    """
    Answers to all questions of the task.
    """

    answers: dict[str, Any]
    reasons: NotRequired[dict[str, str]]


class WantedAlignment(TypedDict):
    """
    An alignment to be begun: the split is stored, and nothing is asked.
    """

    baseline: str
    criterion: NotRequired[str]
    shares: NotRequired[list[float]]
    seed: NotRequired[int]


class WantedAnchors(TypedDict):
    judge: str
    half_width: NotRequired[float | None]
    per_model: NotRequired[int | None]
    correlation: NotRequired[float]
    seed: NotRequired[int]
    canaries: NotRequired[bool]
    budget_calls: NotRequired[int | None]
    budget_tokens: NotRequired[int | None]
    budget_money: NotRequired[Decimal | None]
    price_only: NotRequired[bool]


class WantedApproval(TypedDict):
    """
    The submissions to be reviewed; a rejection needs a category and a message of at least 100 characters.
    """

    submissions: list[str]
    category: NotRequired[
        Literal[
            "TOO_QUICKLY",
            "TOO_SLOWLY",
            "FAILED_INSTRUCTIONS",
            "INCOMP_LONGITUDINAL",
            "FAILED_CHECK",
            "LOW_EFFORT",
            "MALINGERING",
            "NO_CODE",
            "BAD_CODE",
            "NO_DATA",
            "UNSUPP_DEVICE",
            "OTHER",
        ]
    ]
    message: NotRequired[str]


class WantedBallot(TypedDict):
    choices: list[int]


class WantedBaseline(TypedDict):
    run: str


class WantedBonuses(TypedDict):
    """
    A list of bonuses: amounts that are given, or a rule with its numbers.
    """

    purpose: str
    basis: Literal["given", "answers", "hours", "checks"]
    amounts: NotRequired[list[GivenAmount]]
    above: NotRequired[int]
    each: NotRequired[Decimal]
    fewest: NotRequired[int]
    percent: NotRequired[int]
    amount: NotRequired[Decimal]
    with_unknown: NotRequired[bool]


class WantedCap(TypedDict):
    cap: Decimal


class WantedChecklist(TypedDict):
    """
    A checklist to be started; what is left out is the default of its page.
    """

    name_en: NotRequired[str]
    name_zh: NotRequired[str]
    benchmark: NotRequired[str]
    categories: NotRequired[list[str]]
    keeps: NotRequired[int]
    votes_each: NotRequired[int]
    scale: NotRequired[Literal["yes_no", "fulfilment"]]
    overall: NotRequired[bool]


class WantedChecks(TypedDict):
    """
    A study in which people answer some of the run's instruction checks.
    """

    sample: NotRequired[int]
    raters: NotRequired[int]


class WantedChoice(TypedDict):
    """
    Which of the criteria that tie for the last places stay, and why; neither where none tie.
    """

    chosen: NotRequired[list[int]]
    reason: NotRequired[str]


class WantedCohort(TypedDict):
    """
    A cohort to be made.
    """

    name: str
    kind: Literal["onsite", "crowd", "public"]
    days: NotRequired[int | None]
    joins_per_hour: NotRequired[int | None]
    consent_en: NotRequired[str]
    consent_zh: NotRequired[str]


class WantedCriterion(TypedDict):
    name: str
    explanation: str


class WantedDecision(TypedDict):
    """
    What a person decides about an instruction.
    """

    instruction: str
    decision: Literal["keep", "drop", "undo"]
    reason: NotRequired[str]


class WantedDeletion(TypedDict):
    slug: str


class WantedDrafts(TypedDict):
    model: str
    budget_calls: NotRequired[int | None]
    budget_tokens: NotRequired[int | None]
    budget_money: NotRequired[Decimal | None]


class WantedDraw(TypedDict):
    judges: list[str]
    instructions: NotRequired[float | None]
    responses: NotRequired[float | None]
    models: NotRequired[list[str]]
    spread: NotRequired[Literal["panel", "repeats", "soft", "none"] | Literal[""]]
    strata: NotRequired[Literal["spread", "category"]]
    overlap: NotRequired[int | None]
    seed: NotRequired[int | None]
    dry_run: NotRequired[bool]


class WantedDrop(TypedDict):
    """
    Which of the tasks that were found are dropped: those of `tasks`, or with `all` every one.
    """

    tasks: NotRequired[list[str]]
    all: NotRequired[bool]


class WantedEndpoint(TypedDict):
    """
    An endpoint to be added; what is left out is as on the page.
    """

    name: str
    kind: NotRequired[Literal["openai", "in_process", "scripted"]]
    base_url: NotRequired[str]
    key_variable: NotRequired[str]
    max_concurrent: NotRequired[int]
    requests_per_minute: NotRequired[int | None]
    tokens_per_minute: NotRequired[int | None]
    timeout_seconds: NotRequired[int]
    context_tokens: NotRequired[int | None]
    input_price: NotRequired[Decimal]
    output_price: NotRequired[Decimal]


class WantedErasure(TypedDict):
    confirm: Literal["erase"]
    identity_only: NotRequired[bool]


class WantedExclusion(TypedDict):
    """
    Which answers to exclude, and why.
    """

    reason: str
    since: NotRequired[str | None]


class WantedExport(TypedDict):
    """
    A file of a study's data.
    """

    kind: NotRequired[
        Literal[
            "archive",
            "csv",
            "jsonl",
            "parquet",
            "inspect-scores",
            "label-studio",
            "alpaca-eval",
            "arena",
            "argilla",
            "preference-pairs",
            "langfuse",
            "mlflow",
            "opentelemetry",
            "cje",
            "alt-test",
            "huggingface",
            "openai-batch",
        ]
    ]
    texts: NotRequired[bool]
    criterion: NotRequired[str]
    judge: NotRequired[str]


class WantedFit(TypedDict):
    """
    How weights are fitted; what is left out is as on the page.
    """

    floor: NotRequired[float]
    pool: NotRequired[bool]
    skip_small: NotRequired[bool]
    excluded: NotRequired[Literal["shown"]]


class WantedFoundModels(TypedDict):
    names: list[str]


class WantedGeneration(TypedDict):
    """
    A generation run to be started; what is left out is as on the page.
    """

    models: list[str]
    samples: NotRequired[int]
    categories: NotRequired[list[str]]
    tags: NotRequired[list[str]]
    limit: NotRequired[int | None]
    experiment: NotRequired[Literal["main", "length-2k", "length-4k", "length-8k", "length-16k"]]
    temperature: NotRequired[float | None]
    max_tokens: NotRequired[int | None]
    prefill: NotRequired[Literal["continue", "turn", "off"]]
    batch: NotRequired[bool]
    budget_calls: NotRequired[int | None]
    budget_tokens: NotRequired[int | None]
    budget_money: NotRequired[Decimal | None]
    price_only: NotRequired[bool]


class WantedGuideline(TypedDict):
    """
    The text of a guideline in Markdown, in at least one language.
    """

    en: NotRequired[str]
    zh: NotRequired[str]


class WantedHandling(TypedDict):
    decision: Literal["mask", "keep", "undecided"]


class WantedInvitation(TypedDict):
    """
    An invitation for one person.
    """

    role: Literal["owner", "lead", "analyst", "reviewer", "rater"]
    note: str
    days: NotRequired[int]
    email: NotRequired[str]


class WantedJudge(TypedDict):
    """
    A judge to be made. It never changes afterwards; the same judge again is the judge that is there.
    """

    method: Literal[
        "checklist",
        "overall",
        "overall_with_checklist",
        "stars",
        "stars_objective",
        "pair_of_three",
        "pair_of_three_reference",
        "pair_of_four",
        "pair_of_five",
        "graded_score",
        "instruction_check",
        "embedding",
        "perplexity",
        "random",
        "shorter",
        "longer",
        "rouge",
        "rouge_1",
        "first",
        "second",
        "composite",
    ]
    model: NotRequired[str]
    name: NotRequired[str]
    prompt: NotRequired[str]
    temperature: NotRequired[float | None]
    max_tokens: NotRequired[int | None]
    parameters: NotRequired[dict[str, Any]]


class WantedLabel(TypedDict):
    label: str


class WantedLimit(TypedDict):
    limit: Decimal | None


class WantedLook(TypedDict):
    judge: str
    look: int


class WantedModel(TypedDict):
    """
    A model to be added.
    """

    name: str
    endpoint: NotRequired[str]
    served_name: NotRequired[str]
    family: NotRequired[str]
    billions_of_parameters: NotRequired[Decimal | None]
    parameters: NotRequired[dict[str, Any]]
    input_price: NotRequired[Decimal | None]
    output_price: NotRequired[Decimal | None]
    currency: NotRequired[str]
    priced_on: NotRequired[str | None]
    fictional: NotRequired[bool]


class WantedMonitor(TypedDict):
    """
    A monitor to be made. Its tasks are drawn now and never change; the first round is due at once.
    """

    every_hours: NotRequired[int]
    budget_money: NotRequired[Decimal | None]
    study: str
    judge: str
    tasks: NotRequired[int]
    seed: NotRequired[int]


class WantedName(TypedDict):
    name: str


class WantedNote(TypedDict):
    """
    A message to one rater.
    """

    text: str


class WantedOwnChecklist(TypedDict):
    questions: list[str]


class WantedPanel(TypedDict):
    judges: NotRequired[list[str]]
    name: NotRequired[str]


class WantedPay(TypedDict):
    """
    What a cohort is paid.
    """

    amount: Decimal | None
    per: NotRequired[Literal["hour", "task"]]
    currency: NotRequired[str]


class WantedPeople(TypedDict):
    """
    People to be invited by e-mail.
    """

    emails: list[str]


class WantedPhrases(TypedDict):
    """
    Both lists, whole.
    """

    refusals: list[str]
    meaningless: list[str]


class WantedPlace(TypedDict):
    proposal: int
    criterion: int | None


class WantedProbes(TypedDict):
    study: str
    change: NotRequired[list[Literal["padding", "format", "wording", "order", "author"]]]
    responses: NotRequired[int]
    author: NotRequired[str]
    wordings: NotRequired[list[str]]
    seed: NotRequired[int]
    budget_calls: NotRequired[int | None]
    budget_tokens: NotRequired[int | None]
    budget_money: NotRequired[Decimal | None]
    price_only: NotRequired[bool]


class WantedProlificStudy(TypedDict):
    """
    A draft for so many participants, or a study that is there already.
    """

    places: NotRequired[int]
    study_id: NotRequired[str]


class WantedPrompt(TypedDict):
    """
    A version of a prompt, and an answer of a study or of a benchmark.
    """

    method: Literal[
        "checklist",
        "overall",
        "overall_with_checklist",
        "stars",
        "stars_objective",
        "pair_of_three",
        "pair_of_three_reference",
        "pair_of_four",
        "pair_of_five",
        "graded_score",
        "instruction_check",
        "embedding",
        "perplexity",
        "random",
        "shorter",
        "longer",
        "rouge",
        "rouge_1",
        "first",
        "second",
        "composite",
    ]
    model: str
    prompt: NotRequired[str]
    temperature: NotRequired[float | None]
    max_tokens: NotRequired[int | None]
    parameters: NotRequired[dict[str, Any]]
    study: NotRequired[str]
    benchmark: NotRequired[str]
    number: NotRequired[int]


class WantedProposal(TypedDict):
    model: str
    judge: NotRequired[str]
    price_only: NotRequired[bool]


class WantedQuestion(TypedDict):
    criterion: int
    en: NotRequired[str]
    zh: NotRequired[str]


class WantedQuestionReview(TypedDict):
    question: int
    sound: bool
    comment: NotRequired[str]


class WantedQuestionnaire(TypedDict):
    questions: list[Any]


class WantedRatings(TypedDict):
    """
    Of which tasks more ratings are wanted: one of `task` and `least`.
    """

    more: NotRequired[int]
    task: NotRequired[str]
    least: NotRequired[float]


class WantedReview(TypedDict):
    """
    A study in which people review some of the run's verdicts.
    """

    sample: NotRequired[int]
    reviewers: NotRequired[int]


class WantedReviews(TypedDict):
    reviews: list[WantedQuestionReview]


class WantedRules(TypedDict):
    """
    What passes; what is left out is the default of the page.
    """

    shortest: NotRequired[int]
    longest: NotRequired[int]
    most_turns: NotRequired[int]
    languages: NotRequired[str]
    without_tags: NotRequired[str]
    last_of_user: NotRequired[bool]
    difficulty: NotRequired[Literal[0, 2, 3, 4, 5]]
    similarity: NotRequired[float]
    tag: NotRequired[str]


class WantedRun(TypedDict):
    """
    A run to be started; what is left out is as on the page.
    """

    judges: NotRequired[list[str]]
    model: NotRequired[str]
    method: NotRequired[
        Literal[
            "checklist",
            "overall",
            "overall_with_checklist",
            "stars",
            "stars_objective",
            "pair_of_three",
            "pair_of_three_reference",
            "pair_of_four",
            "pair_of_five",
            "graded_score",
            "instruction_check",
            "embedding",
            "perplexity",
            "random",
            "shorter",
            "longer",
            "rouge",
            "rouge_1",
            "first",
            "second",
            "composite",
        ]
    ]
    combine: NotRequired[Literal["mean", "median", "majority"]]
    both_orders: NotRequired[bool]
    repeats: NotRequired[int]
    canaries: NotRequired[bool]
    items: NotRequired[Literal["all", "rated"]]
    limit: NotRequired[int | None]
    fresh: NotRequired[bool]
    budget_calls: NotRequired[int | None]
    budget_tokens: NotRequired[int | None]
    budget_money: NotRequired[Decimal | None]
    experiment: NotRequired[str]
    price_only: NotRequired[bool]


class WantedSavedMapping(TypedDict):
    """
    The mapping of an uploaded table, to be saved.
    """

    upload: str
    name: str


class WantedStudy(TypedDict):
    """
    The settings of a new study; what is left out is the default of the study form.
    """

    kind: Literal["checklist", "stars", "pair", "review", "check"]
    benchmark: str
    name: str
    name_zh: NotRequired[str]
    rubric: NotRequired[str]
    categories: NotRequired[list[str]]
    tags: NotRequired[list[str]]
    models: NotRequired[list[str]]
    instructions: NotRequired[int]
    seed: NotRequired[int]
    samples: NotRequired[Literal["first", "all"]]
    pairs: NotRequired[Literal["all", "baselines", "even"]]
    baselines: NotRequired[list[str]]
    pairs_wanted: NotRequired[int]
    judges: NotRequired[list[str]]
    overlap: NotRequired[int]
    order: NotRequired[Literal["random", "spread", "finish"]]
    experiment: NotRequired[str]
    self_naming: NotRequired[Literal["keep", "mask"]]
    questions_before: NotRequired[list[Any]]
    questions_after: NotRequired[list[Any]]
    stop: NotRequired[Literal["agreement", "better", "leader", "top_three", "weights"]]
    stop_threshold: NotRequired[float]
    stop_models: NotRequired[list[str]]
    stop_error: NotRequired[float]
    launch: NotRequired[bool]


class WantedText(TypedDict):
    text: str


class WantedTexts(TypedDict):
    questions: list[WantedQuestion]


class WantedTrial(TypedDict):
    """
    A trial to be begun, of answers of a study or of a benchmark.
    """

    method: Literal[
        "checklist",
        "overall",
        "overall_with_checklist",
        "stars",
        "stars_objective",
        "pair_of_three",
        "pair_of_three_reference",
        "pair_of_four",
        "pair_of_five",
        "graded_score",
        "instruction_check",
        "embedding",
        "perplexity",
        "random",
        "shorter",
        "longer",
        "rouge",
        "rouge_1",
        "first",
        "second",
        "composite",
    ]
    model: str
    prompt: NotRequired[str]
    temperature: NotRequired[float | None]
    max_tokens: NotRequired[int | None]
    parameters: NotRequired[dict[str, Any]]
    study: NotRequired[str]
    benchmark: NotRequired[str]
    number: NotRequired[int]
    answers: NotRequired[Literal[1, 5]]
    agreed_money: NotRequired[Decimal | None]
    price_only: NotRequired[bool]


class WantedVersion(TypedDict):
    judge: str
    draft: NotRequired[str]


class WantedWebhook(TypedDict):
    """
    A webhook to be added.
    """

    url: str
    events: list[str]


class WantedWording(TypedDict):
    criterion: int
    name: str
    explanation: str


class Webhook(TypedDict):
    id: str
    url: str
    events: list[str]
    active: NotRequired[bool]
    created_at: str


class WholeBonusList(TypedDict):
    """
    A list with its bonuses.
    """

    id: str
    basis: Literal["given", "answers", "hours", "checks"]
    purpose: str
    study_at_prolific: str
    currency: NotRequired[str]
    total: str
    charged: str | None
    state: NotRequired[
        Literal[
            "preparing", "prepared", "paying", "sent", "uncertain", "found_paid", "found_unpaid", "refused", "dropped"
        ]
    ]
    problem: NotRequired[str]
    made_at: str
    made_by: NotRequired[str | None]
    confirmed_at: NotRequired[str | None]
    confirmed_by: NotRequired[str | None]
    page: str
    bonuses: list[ProposedBonus]


class WholeVerdict(TypedDict):
    """
    A verdict with the texts that it is about, every raw reply, and what people answered to the same task.
    """

    item: int
    position: int
    instruction: str
    response_a: str
    response_b: NotRequired[str | None]
    model_a: NotRequired[str | None]
    model_b: NotRequired[str | None]
    shown_first: str
    juror: int
    repeat: int
    canary: str
    status: str
    reason: str
    score: NotRequired[float | None]
    score_of: NotRequired[str | None]
    answers: list[CriterionScore]
    attempts: int
    input_tokens: int
    output_tokens: int
    seconds: float
    cost: float
    replies: list[RawReply] | None
    instruction_text: str
    text_a: str
    text_b: str | None
    people: list[PersonsAnswer]
    people_mean: float | None


class WrittenQuestion(TypedDict):
    criterion: int
    id: int | None
    en: str
    zh: str
    source: str
    model: str
    own: bool
    draft_en: str
    draft_zh: str
    sound: int
    objections: list[Objection]


class Adjudication(TypedDict):
    """
    Your own answer to a task, which decides it.
    """

    decided: bool
    scores: list[GivenScore]


class AskedCriterion(TypedDict):
    """
    A question of the rubric. `key` of a question that is there keeps it the same question, with its other texts.
    """

    key: NotRequired[str]
    en: NotRequired[str]
    zh: NotRequired[str]
    scale: NotRequired[
        Literal[
            "check",
            "five",
            "four",
            "fulfilment",
            "overall10",
            "stars3",
            "stars5",
            "three",
            "yes_no",
            "as-it-is",
            "own",
            "own-overall",
        ]
    ]
    levels: NotRequired[list[Level]]
    may_not_apply: NotRequired[bool]
    numbers: NotRequired[str]


class AskedOfRater(TypedDict):
    """
    A question of a questionnaire as raters see it.
    """

    key: str
    kind: str
    text: str
    required: bool
    options: list[ShownAnswer]
    low_label: str
    high_label: str
    minimum: float | None
    maximum: float | None
    longest: int | None


class BenchmarkFiles(TypedDict):
    """
    An uploaded archive of a benchmark's own files, and how far its loading is.
    """

    id: str
    workspace: str
    file: str
    benchmark: str
    tasks: str
    state: Literal["waiting", "loading", "loaded", "refused"]
    part: str
    done: int
    total: int
    result: dict[str, Any]
    problem: str
    bad: int
    first_bad_rows: list[BadRow]
    imported: int | None


class BonusList(TypedDict):
    """
    A list of bonuses and what became of it.
    """

    id: str
    basis: Literal["given", "answers", "hours", "checks"]
    purpose: str
    study_at_prolific: str
    currency: NotRequired[str]
    total: str
    charged: str | None
    state: NotRequired[
        Literal[
            "preparing", "prepared", "paying", "sent", "uncertain", "found_paid", "found_unpaid", "refused", "dropped"
        ]
    ]
    problem: NotRequired[str]
    made_at: str
    made_by: NotRequired[str | None]
    confirmed_at: NotRequired[str | None]
    confirmed_by: NotRequired[str | None]
    page: str


class BonusProposal(TypedDict):
    """
    A dry run: who would get how much and why, and who would not. Nothing is stored.
    """

    digest: str
    currency: str
    total: Decimal
    bonuses: list[ProposedBonus]
    left_out: list[LeftOut]


class BrowserRequest(TypedDict):
    """
    Somebody who follows an entry link with a rater's id, and cannot prove to be that rater.
    """

    id: int
    rater: str
    number: str
    state: NotRequired[Literal["waiting", "admitted", "refused"]]
    at: str


class Checklist(TypedDict):
    """
    A checklist that members of a workspace write together.
    """

    id: str
    workspace: str
    benchmark: NotRequired[str | None]
    names: NotRequired[Any]
    stage: NotRequired[Literal["propose", "merge", "vote", "choose", "questions", "review", "done"]]
    votes_each: NotRequired[int]
    keeps: NotRequired[int]
    scale: NotRequired[Literal["yes_no", "fulfilment"]]
    overall: NotRequired[bool]
    created_at: str


class Cohort(TypedDict):
    id: int
    name: str
    kind: NotRequired[Literal["onsite", "crowd", "public"]]
    expires_at: NotRequired[str | None]
    revoked_at: NotRequired[str | None]
    joins_per_hour: NotRequired[int | None]
    raters: NotRequired[int]
    is_open: bool


class ComparedModels(TypedDict):
    judge: str
    measure: str
    first: str
    second: str
    overall: ModelDifference
    p: float | None
    categories: dict[str, ModelDifference]
    discredited: bool


class ComparedRuns(TypedDict):
    """
    Two runs side by side: what moved between their verdicts, and by how much on average.
    """

    counts: dict[str, int]
    mean_change: MeanChange | None
    first_only: int
    second_only: int
    unlike: int
    discredited: list[str]


class ComparedSide(TypedDict):
    model: str
    response: str
    text: str | None
    value: float
    verdicts: list[SideVerdict]


class Criterion(TypedDict):
    key: str
    role: NotRequired[Literal["item", "overall", "preference", "check"]]
    questions: NotRequired[Any]
    levels: NotRequired[Any]
    minimum: NotRequired[float | None]
    maximum: NotRequired[float | None]
    step: NotRequired[float | None]
    may_not_apply: NotRequired[bool]


class Delivery(TypedDict):
    """
    A message; `reply` is what the receiver claims, cut to 500 characters.
    """

    id: str
    event_id: str
    event: str
    state: NotRequired[Literal["waiting", "delivered", "failed"]]
    attempts: NotRequired[int]
    made_at: str
    next_at: str
    tried_at: NotRequired[str | None]
    http_status: NotRequired[int | None]
    reply: NotRequired[str]
    problem: NotRequired[str]
    body: str


class DrawnChecks(TypedDict):
    id: str
    slug: str
    workspace: str
    benchmark: NotRequired[str | None]
    name: str
    kind: Literal["checklist", "stars", "pair", "review", "check"]
    status: NotRequired[Literal["draft", "open", "paused", "closed"]]
    archived_at: str | None
    created_at: str
    agreement: dict[str, Any] | None


class Endpoint(TypedDict):
    id: int
    name: str
    kind: NotRequired[Literal["openai", "in_process", "scripted"]]
    base_url: NotRequired[str]
    key_variable: NotRequired[str]
    max_concurrent: NotRequired[int]
    requests_per_minute: NotRequired[int | None]
    tokens_per_minute: NotRequired[int | None]
    timeout_seconds: NotRequired[int]
    context_tokens: NotRequired[int | None]
    input_price: NotRequired[Decimal]
    output_price: NotRequired[Decimal]
    probed_at: NotRequired[str | None]
    found: list[Found]


class EventLine(TypedDict):
    """
    One thing that somebody did in the study.
    """

    at: str
    by: str
    what: str
    about: str
    changes: list[SettingChange]


class Fit(TypedDict):
    id: str
    kind: NotRequired[Literal["fitted", "excluded", "published"]]
    published_name: NotRequired[str]
    source: NotRequired[str]
    workspace: str
    study: NotRequired[str | None]
    benchmark: NotRequired[str | None]
    settings: NotRequired[Any]
    data_hash: NotRequired[str]
    versions: NotRequired[Any]
    created_at: str


class GenerationPrice(TypedDict):
    """
    What a generation run would cost.
    """

    instructions: int
    most: Spend
    usual: Spend | None
    unpriced: list[str]
    currency: str


class GenerationProgress(TypedDict):
    id: str
    job: str
    workspace: str
    benchmark: str
    name: str
    experiment: NotRequired[str]
    status: NotRequired[Literal["planned", "running", "paused", "finished", "failed", "cancelled", "imported"]]
    message: NotRequired[str]
    budget_calls: NotRequired[int | None]
    budget_tokens: NotRequired[int | None]
    budget_money: NotRequired[Decimal | None]
    created_at: str
    started_at: NotRequired[str | None]
    finished_at: NotRequired[str | None]
    models: list[ModelCounts]
    calls: int
    input_tokens: int
    output_tokens: int
    money: str


class GenerationRun(TypedDict):
    id: str
    job: str
    workspace: str
    benchmark: str
    name: str
    experiment: NotRequired[str]
    status: NotRequired[Literal["planned", "running", "paused", "finished", "failed", "cancelled", "imported"]]
    message: NotRequired[str]
    budget_calls: NotRequired[int | None]
    budget_tokens: NotRequired[int | None]
    budget_money: NotRequired[Decimal | None]
    created_at: str
    started_at: NotRequired[str | None]
    finished_at: NotRequired[str | None]


class GivenAnswer(TypedDict):
    """
    One rater's answer to a task, as it is now.
    """

    rater: str
    name: str
    rater_kind: str
    status: NotRequired[
        Literal["open", "submitted", "skipped", "surplus", "absent", "unscored", "derived", "checked", "excluded"]
    ]
    submitted_at: NotRequired[str | None]
    discredited: bool
    scores: list[GivenScore]


class GivenAnswers(TypedDict):
    """
    What one rater answered, by the keys of the questions of that version.
    """

    rater: str
    name: str
    cohort: NotRequired[str | None]
    moment: Literal["before", "after"]
    version: int
    language: str
    answers: NotRequired[Any]
    answered_at: str


class HeldCriterion(TypedDict):
    key: str
    en: str
    zh: str
    role: str
    scale: str
    levels: list[Level]
    minimum: float | None
    maximum: float | None
    step: float | None
    may_not_apply: bool
    numbers: str


class Invitation(TypedDict):
    id: str
    role: Literal["owner", "lead", "analyst", "reviewer", "rater"]
    note: NotRequired[str]
    made_by: str
    made_at: str
    expires_at: str


class InvitedPerson(TypedDict):
    """
    A person who was invited; the name and the address are empty once they were erased.
    """

    id: int
    name: NotRequired[str]
    email: str
    link: str
    state: NotRequired[Literal["held", "waiting", "sending", "sent", "failed"]]
    reason: str
    made_at: str
    sent_at: NotRequired[str | None]
    joined_at: str


class Job(TypedDict):
    id: str
    kind: Literal["run", "generation", "import", "export", "fit"]
    state: Literal["waiting", "running", "paused", "done", "failed", "cancelled"]
    about: str
    created_at: str
    done: int | None
    total: int | None
    error: str
    result: str
    can_be_cancelled: bool


class Jobs(TypedDict):
    """
    The newest jobs first.
    """

    results: list[Job]


class KnownAnswer(TypedDict):
    """
    The answers that are expected to a task.
    """

    purpose: NotRequired[Literal["gold", "training", "qualification"]]
    expected: dict[str, Any]
    why: NotRequired[dict[str, str]]


class MadeStudy(TypedDict):
    id: str
    slug: str
    workspace: str
    benchmark: NotRequired[str | None]
    name: str
    kind: Literal["checklist", "stars", "pair", "review", "check"]
    status: NotRequired[Literal["draft", "open", "paused", "closed"]]
    archived_at: str | None
    created_at: str
    experiment: NotRequired[str]
    seed: NotRequired[int]
    planned_tasks: int
    without_rubric: int


class Mapping(TypedDict):
    """
    How a table is read; what is left out stays as it is.
    """

    format: NotRequired[
        Literal[
            "label-studio",
            "alpaca-eval",
            "alpaca-eval-outputs",
            "arena",
            "promptfoo",
            "lm-eval",
            "openai-batch",
            "langfuse",
            "preference-pairs",
            "argilla",
            "inspect-log",
        ]
        | Literal[""]
    ]
    mapping: NotRequired[int]
    kind: NotRequired[
        Literal[
            "instructions",
            "responses",
            "ratings",
            "preferences",
            "truth",
            "gold",
            "checks",
            "checklists",
            "rubrics",
            "raters",
        ]
    ]
    columns: NotRequired[dict[str, str]]
    into: NotRequired[str]
    options: NotRequired[dict[str, str]]
    encoding: NotRequired[Literal["utf-16", "gb18030", "cp1252"] | Literal[""]]
    separator: NotRequired[Literal["semicolon", "tab", "bar"] | Literal[""]]


class Member(TypedDict):
    id: str
    username: str
    name: str
    role: Literal["owner", "lead", "analyst", "reviewer", "rater"]


class ModelErrors(TypedDict):
    """
    How many of the responses read of a model have each error, with some of the passages.
    """

    model: str
    read: int
    asked: int
    counts: dict[str, int]
    length_error: float | None
    passages: list[Passage]


class NumberedPrompt(TypedDict):
    """
    What a model is asked about one answer, or why it cannot be asked.
    """

    about: str
    messages: list[SentMessage]
    parameters: dict[str, Any]
    schema: dict[str, Any] | None
    tokens: int
    problem: str
    number: int
    of: int


class PageFile(TypedDict):
    name: str
    title: str
    kind: Literal["figure", "table", "page"]
    type: Literal[
        "application/json", "application/pdf", "image/png", "image/svg+xml", "text/csv", "text/markdown", "text/x-tex"
    ]


class PageFiles(TypedDict):
    """
    The files of a page.
    """

    title: str
    files: list[PageFile]


class Participants(TypedDict):
    proposers: People
    voters: People
    reviewers: People


class Pay(TypedDict):
    """
    What is paid for an hour of work or for a task.
    """

    amount: Decimal | None
    per: Literal["hour", "task"]
    currency: str
    by_cohort: bool


class PlatformValues(TypedDict):
    """
    What is entered at each platform, in the order of its form.
    """

    prolific: list[Value]
    mturk: list[Value]


class Progress(TypedDict):
    """
    How far a study is.
    """

    launching: int
    launch_refused: str
    categories: list[CategoryProgress]
    cohorts: list[CohortProgress]
    raters: list[RaterProgress]


class Prompt(TypedDict):
    """
    What a model is asked about one answer, or why it cannot be asked.
    """

    about: str
    messages: list[SentMessage]
    parameters: dict[str, Any]
    schema: dict[str, Any] | None
    tokens: int
    problem: str


class Questionnaire(TypedDict):
    """
    What raters are asked about themselves before their first task, or after their last one.
    """

    moment: Literal["before", "after"]
    version: int
    questions: list[Any]
    versions: list[Version]


class QuestionnairePreview(TypedDict):
    moment: Literal["before", "after"]
    questions: list[AskedOfRater]


class Rater(TypedDict):
    id: str
    pseudonym: NotRequired[str]
    kind: NotRequired[Literal["person", "judge", "slot", "key"]]
    cohort: NotRequired[str | None]
    state: str
    answered: int
    provenance: NotRequired[Literal["simulated", "scripted"] | Literal[""]]
    created_at: str


class RaterPayment(TypedDict):
    """
    The work and the pay of one rater.
    """

    rater: str
    pseudonym: str
    answers: int
    minutes: float
    skipped: int
    answers_not_counted: int
    minutes_not_counted: float
    submitted: str | None
    checks: int
    checks_failed: int
    owed: Decimal | None
    owed_not_counted: Decimal | None
    suggested_decision: Literal["approve", "review", "reject", "nothing to pay"]
    reason: str
    state_at_prolific: str
    bonuses: list[SentBonuses]


class RaterState(TypedDict):
    id: str
    state: Literal["joining", "rating", "paused", "failed", "screened_out"]
    message: str


class RefusedRows(TypedDict):
    """
    Why nothing was stored.
    """

    detail: str
    row_errors: list[RowError]


class Response(TypedDict):
    id: str
    instruction: str
    model: NotRequired[str | None]
    sample: NotRequired[int]
    kind: NotRequired[Literal["response", "reference", "control", "canary", "probe"]]
    text: NotRequired[str | None]
    words: NotRequired[int | None]
    input_tokens: NotRequired[int | None]
    tokens: NotRequired[int | None]
    finish_reason: NotRequired[str]
    seconds: NotRequired[float | None]
    cost: NotRequired[Decimal | None]
    created_at: str


class Round(TypedDict):
    """
    A finished round; a level is null where there are too few answers.
    """

    number: int
    run: str
    finished_at: str | None
    baseline: int
    flagged: bool
    silent: bool
    unscored: int
    score: Significance | None
    agreement_with_baseline: Significance | None
    agreement_with_people: Significance | None
    changes: dict[str, Change]


class Rubric(TypedDict):
    key: str
    version: NotRequired[int]
    names: NotRequired[Any]
    workspace: str
    benchmark: NotRequired[str | None]
    study: NotRequired[str | None]
    category: NotRequired[str | None]
    instruction: NotRequired[str | None]
    criteria: list[Criterion]


class Run(TypedDict):
    id: str
    judge: str
    workspace: str
    study: str
    label: NotRequired[str]
    status: NotRequired[Literal["planned", "running", "paused", "finished", "failed", "cancelled", "imported"]]
    message: NotRequired[str]
    discredited: bool
    budget_calls: NotRequired[int | None]
    budget_tokens: NotRequired[int | None]
    budget_money: NotRequired[Decimal | None]
    created_at: str
    started_at: NotRequired[str | None]
    finished_at: NotRequired[str | None]


class RunPrice(TypedDict):
    """
    What a run would cost.
    """

    tasks: int
    canaries: int
    unanswerable: float
    most: Spend
    usual: Spend | None
    unpriced: list[str]
    currency: str


class RunState(TypedDict):
    id: str
    judge: str
    workspace: str
    study: str
    label: NotRequired[str]
    status: NotRequired[Literal["planned", "running", "paused", "finished", "failed", "cancelled", "imported"]]
    message: NotRequired[str]
    discredited: bool
    budget_calls: NotRequired[int | None]
    budget_tokens: NotRequired[int | None]
    budget_money: NotRequired[Decimal | None]
    created_at: str
    started_at: NotRequired[str | None]
    finished_at: NotRequired[str | None]
    progress: RunProgress
    manifest: Any


class SelfNaming(TypedDict):
    """
    What becomes of responses that say which model wrote them.
    """

    decision: Literal["mask", "keep", "undecided"]
    scanned_at: str | None
    found: int
    undecided: int


class SentTruth(TypedDict):
    """
    Rows, and what they belong to.
    """

    into: str
    rows: list[TruthRow]
    on_error: NotRequired[Literal["fail", "skip"]]
    options: NotRequired[dict[str, str]]


class ShownChange(TypedDict):
    kind: Literal["same", "only_a", "only_b"]
    text: str
    coarse: bool


class ShownCriterion(TypedDict):
    """
    A question as the screen shows it.
    """

    number: int
    key: str
    text: str
    role: str
    shape: Literal["levels", "steps", "number"]
    choices: list[ShownChoice]
    minimum: float
    maximum: float
    may_not_apply: bool
    verdict: ShownVerdict | None


class ShownResponse(TypedDict):
    letter: str
    name: str
    text: RenderedText
    sections: list[ShownSection]


class Study(TypedDict):
    id: str
    slug: str
    workspace: str
    benchmark: NotRequired[str | None]
    name: str
    kind: Literal["checklist", "stars", "pair", "review", "check"]
    status: NotRequired[Literal["draft", "open", "paused", "closed"]]
    archived_at: str | None
    created_at: str


class StudyArchive(TypedDict):
    """
    An uploaded archive of a study, and how far its check or its loading is.
    """

    id: str
    workspace: str
    file: str
    state: Literal["checking", "checked", "loading", "loaded", "refused"]
    study: str
    rows: dict[str, int]
    done: int
    total: int
    problem: str
    imported: int | None


class StudyRubric(TypedDict):
    """
    The questions of a study.
    """

    rubric: str | None
    version: int | None
    own: bool
    fixed: bool
    questions: list[HeldCriterion]
    mark: str
    asked: int | None


class StudyState(TypedDict):
    id: str
    slug: str
    workspace: str
    benchmark: NotRequired[str | None]
    name: str
    kind: Literal["checklist", "stars", "pair", "review", "check"]
    status: NotRequired[Literal["draft", "open", "paused", "closed"]]
    archived_at: str | None
    created_at: str
    tasks: int
    seats: int
    taken: int
    answers_of_people: int
    answers_of_judges: int
    answers_excluded: int
    raters_excluded: int
    provenance: list[str]


class TableUpload(TypedDict):
    """
    An uploaded table: how it is read and how far it is.
    """

    id: str
    workspace: str
    file: str
    sha256: str
    format: str
    recognised_by: str
    state: Literal["new", "checking", "checked", "loading", "loaded", "refused"]
    kind: str
    columns: dict[str, str]
    mapping: str
    into: str
    options: dict[str, str]
    encoding: str
    separator: str
    file_columns: list[str]
    first_rows: list[list[str]]
    rows: int
    counts: dict[str, int]
    problem: str
    remarks: list[str]
    bad: int
    first_bad_rows: list[BadRow]
    imported: int | None


class Task(TypedDict):
    id: str
    kind: Literal["single", "pair", "review", "check"]
    position: NotRequired[int]
    instruction: str
    response_a: str
    response_b: NotRequired[str | None]
    model_a: NotRequired[str | None]
    model_b: NotRequired[str | None]
    rubric: str
    part: NotRequired[Any | None]
    known_answer: Any


class TaskAnswers(TypedDict):
    """
    All that was said of a task.
    """

    task: str
    held_by: int
    answers: list[GivenAnswer]
    notes: list[Note]


class TextStatistics(TypedDict):
    models: list[ModelTexts]
    error_modes: list[ModelErrors]
    none_because: str


class TriedAnswer(TypedDict):
    """
    An answer that was asked about, and what came back.
    """

    about: str
    task: NotRequired[str | None]
    response: NotRequired[str | None]
    status: str
    reason: str
    reply: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    seconds: float
    cost: float
    distance: float | None
    criteria: list[TriedCriterion]


class WantedGroups(TypedDict):
    """
    What changes; what is left out stays as it is.
    """

    wordings: NotRequired[list[WantedWording]]
    places: NotRequired[list[WantedPlace]]


class WantedQuestions(TypedDict):
    questions: list[AskedCriterion]
    mark: NotRequired[str]
    asked: NotRequired[int | None]


class ChecklistState(TypedDict):
    """
    A checklist with what you may see of its present stage.
    """

    id: str
    workspace: str
    benchmark: NotRequired[str | None]
    names: NotRequired[Any]
    stage: NotRequired[Literal["propose", "merge", "vote", "choose", "questions", "review", "done"]]
    votes_each: NotRequired[int]
    keeps: NotRequired[int]
    scale: NotRequired[Literal["yes_no", "fulfilment"]]
    overall: NotRequired[bool]
    created_at: str
    categories: list[str]
    leads: bool
    takes_part: bool
    proposals: list[Proposal]
    number_of_proposals: int
    criteria: list[MergedCriterion]
    voted: bool | None
    choice_reason: str
    questions: list[WrittenQuestion]
    drafting_run: str | None
    rubrics: list[str]
    participants: Participants
    steps: list[Step]


class CohortPayment(TypedDict):
    """
    The pay of a cohort with its sums; `cohort` is null for raters who belong to none.
    """

    cohort: NotRequired[int | None]
    name: NotRequired[str]
    pay: Pay
    answers: int
    hours: float
    answers_not_counted: int
    hours_not_counted: float
    owed: Decimal | None
    owed_not_counted: Decimal | None
    bonuses: list[SentBonuses]
    raters: list[RaterPayment]


class ComparedInstruction(TypedDict):
    id: str
    external_id: str
    text: str | None
    sides: list[ComparedSide]
    weights: dict[str, float]
    pair: list[SideVerdict]


class Differences(TypedDict):
    """
    Two nearly identical responses as runs of text; leaving out one kind gives the text of the other.
    """

    changes: list[ShownChange]


class MonitorState(TypedDict):
    id: str
    workspace: str
    study: str
    judge: str
    judge_id: str
    tasks: int
    active: NotRequired[bool]
    every_hours: NotRequired[int]
    next_at: str
    budget_money: NotRequired[Decimal | None]
    created_at: str
    changed: bool
    unfinished: str | None
    baseline: int
    rounds: list[Round]
    others: list[UnfinishedRound]


class RatingScreen(TypedDict):
    """
    A task as a rater of the study sees it; it names no model.
    """

    number: int
    tasks: int
    task: str | None
    study: str
    layout: Literal["single", "pair"]
    headed: str
    part: str
    earlier: list[ShownTurn]
    instruction: RenderedText
    hint: RenderedText | None
    responses: list[ShownResponse]
    near_duplicates: bool
    questions: list[ShownCriterion]
    one_key: bool
    skip_reasons: list[SkipReason]
