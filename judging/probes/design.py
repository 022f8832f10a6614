"""The design of a run of probes, made without writing: which responses, which changed copies, and every question."""

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from annotation.models import Task
from calibration.statistics.resampling import MIN_CLUSTERS
from core.messages.message import Message, Wording
from generation.models import Response
from generation.text_metrics.counts import word_count
from judging.judges.judge_calls import shown
from judging.judges.questions import Questions, part_of
from judging.methods.registry import unanswerable
from judging.models import Judge, PlannedItem
from judging.probes.changes import FORMATS, NotChangeable, by_author, padded
from judging.probes.request import (
    AGAIN,
    GROUP_OF,
    NO_TASKS,
    PADDED,
    SAME,
    TOO_FEW,
    Group,
    ProbeRequest,
    ProbesRefused,
    own_tasks,
)

PURPOSE = "judge_probe"
"""The purpose of a task that only a run of probes asks about; it marks the task as one that counts nowhere."""
WITH_TEXTS = ("response_a__instruction", "response_a__model", "response_b__instruction", "response_b__model")
FIRST, SECOND, TURNED = 0, 1, 2
"""The numbers of repeats under which the same pair or response is asked: once, again, and in the other order."""
UNCHANGEABLE = Wording(
    "probe.unchangeable",
    "The probe “%(probe)s” can be made of responses to %(n)s instructions here and needs %(needed)s, so it is left out.",
)
NOTHING_LEFT = Wording(
    "probe.nothing_left",
    "None of the chosen probes can be made of responses to %(needed)s instructions here; choose a study with more "
    "instructions or longer responses.",
)


@dataclass(frozen=True)
class ProbeQuestion:
    """One question of the run: the probe, its unsaved task, which judge of the run answers it, and under which repeat.

    `host` is the task that it is made of. `side` is the side whose text is changed, '' where none is, and `text` what it
    becomes. The task's gold says all of this, so that the results need no other record.
    """

    key: str
    host: Task
    task: Task
    first: str
    repeat: int
    juror: int
    text: str | None


@dataclass(frozen=True)
class ProbeArm:
    """A probe as it is asked: of how many responses (or pairs) and instructions, and by what share they grow."""

    key: str
    responses: int
    instructions: int
    growth: float


@dataclass(frozen=True)
class ProbeDesign:
    """`questions` in the order in which they are sent; `arms` are the probes, `left_out` those that cannot be made."""

    request: ProbeRequest
    questions: list[ProbeQuestion]
    arms: list[ProbeArm]
    left_out: list[tuple[str, Message]]
    responses: int
    instructions: int


def design_of(request: ProbeRequest) -> ProbeDesign:
    """Draw the responses and lay out all questions. Raises ProbesRefused where there are too few instructions."""
    judge, study = request.judge, request.study
    questions = Questions.of(judge, study)
    hosts = _drawn(request, questions)
    instructions = {host.response_a.instruction_id for host in hosts}
    if len(instructions) < MIN_CLUSTERS:
        raise ProbesRefused(TOO_FEW(needed=MIN_CLUSTERS, judge=judge, n=len(instructions)))
    copies = {host.pk: dict(_copies(host, request)) for host in hosts}
    arms, left_out, asked = [], [], set()
    for key in request.keys:
        made = [host for host in hosts if not _changes_text(key) or key in copies[host.pk]]
        number = len({host.response_a.instruction_id for host in made})
        if number < MIN_CLUSTERS:
            left_out.append((key, UNCHANGEABLE(probe=key, n=number, needed=MIN_CLUSTERS)))
            continue
        grown = [copies[host.pk][key][1] for host in made if key in copies[host.pk]]
        arms.append(ProbeArm(key, len(made), number, sum(grown) / len(grown) if grown else 0.0))
        asked.add(key)
    if not arms:
        raise ProbesRefused(NOTHING_LEFT(needed=MIN_CLUSTERS))
    found = [question for host in hosts for question in _questions(host, request, asked, copies[host.pk])]
    return ProbeDesign(request, found, arms, left_out, len(hosts), len(instructions))


def _drawn(request: ProbeRequest, questions: Questions) -> list[Task]:
    """Return the tasks that are probed: drawn by chance, one of every instruction before a second of any."""
    pairs = own_tasks(request.judge, request.study).values_list("response_a__instruction", "pk").order_by("pk")
    by_instruction: dict[int, list[int]] = defaultdict(list)
    for instruction, pk in pairs:
        by_instruction[instruction].append(pk)
    if not by_instruction:
        raise ProbesRefused(NO_TASKS(study=request.study.slug, judge=request.judge))
    draws = random.Random(f"{request.seed} probes")
    rows = list(by_instruction.values())
    draws.shuffle(rows)
    for row in rows:
        draws.shuffle(row)
    order = [row[turn] for turn in range(max(map(len, rows))) for row in rows if turn < len(row)]
    found: list[Task] = []
    for start in range(0, len(order), request.size):
        part = Task.objects.select_related(*WITH_TEXTS).in_bulk(order[start : start + request.size])
        tasks = [part[pk] for pk in order[start : start + request.size] if pk in part]
        questions.learn(tasks)
        found += [task for task in tasks if _answerable(task, request.judge, questions)]
        if len(found) >= request.size:
            break
    chosen = found[: request.size]
    return sorted(
        chosen, key=lambda task: (task.response_a.instruction.external_id, task.response_a.instruction_id, task.pk)
    )


def _answerable(task: Task, judge: Judge, questions: Questions) -> bool:
    question = questions.about(task)
    if not all(text.strip() for text in question.responses):
        return False
    return unanswerable(judge.method, shown(PlannedItem(task=task, shown_first="a"), question)) is None


def _changes_text(key: str) -> bool:
    return GROUP_OF[key] in (Group.PADDING, Group.FORMAT, Group.AUTHOR)


def _coin(*parts: object) -> str:
    """Return side a or b, drawn by the names alone, so that the same task always gets the same."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return "ab"[digest[0] % 2]


def side_changed(host: Task) -> str:
    """Return the side of a pair whose text is changed."""
    return _coin("side", host.pk) if host.response_b_id else "a"


def shown_first(host: Task) -> str:
    """Return the side of a pair that is shown first."""
    return _coin("first", host.pk) if host.response_b_id else "a"


def _text_of(host: Task, side: str) -> str:
    response = host.response_b if side == "b" else host.response_a
    assert response is not None
    return part_of(response.text or "", host.part)


def _copies(host: Task, request: ProbeRequest) -> Iterator[tuple[str, tuple[str, float]]]:
    """Yield, for each probe that changes a text and can, the changed text and the share by which it grew in words."""
    text = _text_of(host, side_changed(host))
    before = max(1, word_count(text))
    changes: Mapping[str, Callable[[str], str]] = {
        **{key: partial(padded, share=share) for key, share in PADDED.items()},
        **FORMATS,
        "author": partial(by_author, author=request.author.strip()),
    }
    for key in request.keys:
        if key not in changes:
            continue
        try:
            after = changes[key](text)
        except NotChangeable:
            continue
        yield key, (after, word_count(after) / before - 1)


def _questions(
    host: Task, request: ProbeRequest, asked: set[str], copies: dict[str, tuple[str, float]]
) -> Iterator[ProbeQuestion]:
    first, other = shown_first(host), "ab"[shown_first(host) == "a"]
    same = _task(host, SAME)
    yield ProbeQuestion(SAME, host, same, first, FIRST, 0, None)
    yield ProbeQuestion(AGAIN, host, same, first, SECOND, 0, None)
    for key in request.keys:
        if key not in asked:
            continue
        match GROUP_OF[key]:
            case Group.WORDING:
                yield ProbeQuestion(key, host, same, first, FIRST, int(key[-1]), None)
            case Group.ORDER:
                yield ProbeQuestion(key, host, same, other, TURNED, 0, None)
            case _ if key in copies:
                text = copies[key][0]
                yield ProbeQuestion(key, host, _task(host, key, text), first, FIRST, 0, text)


def _task(host: Task, key: str, text: str | None = None) -> Task:
    """Return the unsaved task of a question: about the same responses, or with the changed copy of one of them."""
    side = side_changed(host) if text is not None else ""
    task = Task(
        study_id=host.study_id,
        kind=host.kind,
        key=f"probe:{key}:{host.pk}",
        response_a=host.response_a,
        response_b=host.response_b,
        part=host.part if text is None else None,
        answer_rubric_id=host.answer_rubric_id,
        guide_rubric_id=host.guide_rubric_id,
        gold={"purpose": PURPOSE, "probe": key, "of": host.pk, "side": side},
    )
    if text is not None:
        copy = changed_copy(host, key, side, text)
        task.key = f"{task.key}:{copy.external_id.rsplit(':', 1)[-1]}"
        if side == "b":
            task.response_b = copy
        else:
            task.response_a = copy
    return task


def changed_copy(host: Task, key: str, side: str, text: str) -> Response:
    """Return the unsaved copy of a response with the changed text; it belongs to no model."""
    original = host.response_b if side == "b" else host.response_a
    assert original is not None
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
    return Response(
        instruction=original.instruction,
        model=None,
        kind=Response.Kind.PROBE,
        derived_from=original,
        external_id=f"probe:{key}:{original.pk}:{digest}",
        text=text,
        words=word_count(text),
    )
