"""What a lead wants probed, and the probes there are; whatever cannot be probed is refused before anything is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from django.db.models import QuerySet

from accounts.models import User
from annotation.models import Study, Task
from calibration.statistics.resampling import MIN_CLUSTERS
from core.errors import UserError
from core.messages.message import Wording
from generation.llm.protocol.prices import UNLIMITED, Ceiling
from judging.judges.questions import Questions
from judging.methods.prompts import BadTemplate, prompt_hash
from judging.methods.registry import METHODS, chat_method
from judging.methods.spec import Transport
from judging.models import Judge
from judging.probes.wordings import WORDINGS, other_wordings

USUAL_SIZE, LARGEST = 100, 400
"""How many responses, or pairs, are probed; at most 13 questions are asked about each."""
USUAL_AUTHOR = "a leading expert in this field"
LONGEST_AUTHOR = 100


class Group(StrEnum):
    """What is changed; a lead chooses among these."""

    PADDING = "padding"
    FORMAT = "format"
    WORDING = "wording"
    ORDER = "order"
    AUTHOR = "author"


AGAIN, SAME = "again", "same"
"""Not probes: the same question a second time, and the verdict that every probe is compared with."""
GROUPS = {
    Group.PADDING: ("padding_25", "padding_50"),
    Group.FORMAT: ("prose", "bullets", "headings", "bold"),
    Group.WORDING: tuple(f"wording_{n}" for n in range(1, WORDINGS + 1)),
    Group.ORDER: ("order",),
    Group.AUTHOR: ("author",),
}
"""The probes of each group, in the order of pages."""
PADDED = {"padding_25": 0.25, "padding_50": 0.5}
GROUP_OF = {key: group for group, keys in GROUPS.items() for key in keys}


class ProbesRefused(UserError):
    """The judge cannot be probed as asked; the sentence says why and what to do."""


READS_NOTHING = Wording(
    "probe.reads_nothing",
    "Probes need at least 1 prompt to ask again with, and responses to at least %(needed)s instructions, and method "
    "%(method)s reads no text with a prompt; choose a judge whose method has a prompt.",
)
PANEL = Wording(
    "probe.panel", "%(judge)s combines the verdicts of other judges and is asked nothing itself; probe its members."
)
NO_TASKS = Wording(
    "probe.no_tasks", "%(study)s has no tasks that %(judge)s can judge; choose a study with tasks of its kind."
)
TOO_FEW = Wording(
    "probe.too_few",
    "Probes need responses to at least %(needed)s instructions, and %(judge)s can be asked about %(n)s here; choose a study "
    "with more instructions.",
)
SIZE = Wording("probe.size", "%(size)s responses are not possible: enter at least %(least)s and at most %(most)s.")
NO_GROUP = Wording("probe.no_group", "Choose at least one thing to change.")
NOT_A_GROUP = Wording("probe.not_a_group", "There is no probe of %(name)s; there are: %(known)s.")
ORDER_OF_ONE = Wording(
    "probe.order_of_one",
    "The order can be changed only for a judge of pairs, and method %(method)s reads one response.",
)
AUTHOR_NEEDED = Wording("probe.author", "Enter the author to be claimed, in at most %(most)s characters.")
WORDINGS_NEEDED = Wording(
    "probe.wordings",
    "This prompt has too few phrases that can be put in other words here; write up to %(n)s wordings of your own, or leave "
    "the wording unchanged.",
)
WORDING_SAME = Wording("probe.wording_same", "Two of the wordings, or one and the prompt itself, are the same text.")
WORDING_BAD = Wording("probe.wording_bad", "Wording %(n)s cannot be sent: %(why)s")


@dataclass(frozen=True)
class ProbeRequest:
    """Which judge is probed with which groups of changes, on how many responses (or pairs) of a study.

    `wordings` are prompts that must say the same as the judge's own; () takes those that the program offers. Raises
    ProbesRefused.
    """

    judge: Judge
    study: Study
    groups: Sequence[Group] = tuple(Group)
    size: int = USUAL_SIZE
    author: str = USUAL_AUTHOR
    wordings: Sequence[str] = ()
    seed: int = 0
    budget: Ceiling = UNLIMITED
    concurrency: int | None = None
    reuse: bool = True
    user: User | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_judge(self.judge)
        if not 1 <= self.size <= LARGEST:
            raise ProbesRefused(SIZE(size=self.size, least=1, most=LARGEST))
        if not self.groups:
            raise ProbesRefused(NO_GROUP())
        if Group.ORDER in self.groups and not self.pairs:
            raise ProbesRefused(ORDER_OF_ONE(method=self.judge.method))
        if Group.AUTHOR in self.groups and not 0 < len(self.author.strip()) <= LONGEST_AUTHOR:
            raise ProbesRefused(AUTHOR_NEEDED(most=LONGEST_AUTHOR))
        self._check_wordings()

    @property
    def pairs(self) -> bool:
        return judges_pairs(self.judge)

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts of the wording probes, in order; () where the wording is not probed."""
        if Group.WORDING not in self.groups:
            return ()
        given = tuple(text.replace("\r\n", "\n") for text in self.wordings if text.strip())
        return given[:WORDINGS] or other_wordings(self.judge.prompt)

    @property
    def keys(self) -> tuple[str, ...]:
        """The probes that are asked, in the order of pages."""
        wordings = len(self.prompts)
        chosen = (key for group in Group if group in self.groups for key in GROUPS[group])
        return tuple(key for key in chosen if GROUP_OF[key] != Group.WORDING or int(key[-1]) <= wordings)

    def _check_wordings(self) -> None:
        if Group.WORDING not in self.groups:
            return
        prompts = self.prompts
        if not prompts:
            raise ProbesRefused(WORDINGS_NEEDED(n=WORDINGS))
        if len({self.judge.prompt_hash, *map(prompt_hash, prompts)}) != len(prompts) + 1:
            raise ProbesRefused(WORDING_SAME())
        questions = Questions.of(self.judge, self.study)
        rubric = own_tasks(self.judge, self.study).values_list("answer_rubric", flat=True).first()
        if rubric is None:
            raise ProbesRefused(NO_TASKS(study=self.study.slug, judge=self.judge))
        for number, prompt in enumerate(prompts, 1):
            try:
                chat_method(self.judge.method).messages(prompt, questions.placeholder(rubric), with_schema=False)
            except BadTemplate as error:
                raise ProbesRefused(WORDING_BAD(n=number, why=error.message)) from error


def check_judge(judge: Judge) -> None:
    """Raise ProbesRefused for a judge that reads no text with a prompt, and for a panel."""
    if judge.jurors.exists():
        raise ProbesRefused(PANEL(judge=judge))
    if METHODS[judge.method].transport != Transport.CHAT:
        raise ProbesRefused(READS_NOTHING(method=judge.method, needed=MIN_CLUSTERS))


def judges_pairs(judge: Judge) -> bool:
    return METHODS[judge.method].task_kind == Task.Kind.PAIR


def usual_groups(judge: Judge, wordings: Sequence[str] = ()) -> list[Group]:
    """Return everything that can be changed for this judge; the wording only where other ones are given or offered."""
    kept = [group for group in Group if group != Group.ORDER or judges_pairs(judge)]
    return [group for group in kept if group != Group.WORDING or wordings or other_wordings(judge.prompt)]


def named_groups(names: Sequence[str]) -> list[Group]:
    """Return the groups of these names, in the order of pages. Raises ProbesRefused for any other name."""
    plain = [name.strip() for name in names]
    if unknown := next((name for name in plain if name not in list(Group)), None):
        raise ProbesRefused(NOT_A_GROUP(name=repr(unknown[:40]), known=", ".join(Group)))
    return [group for group in Group if group in plain]


def own_tasks(judge: Judge, study: Study) -> QuerySet[Task]:
    """Return the ordinary tasks of a study of the kind that the judge answers."""
    return Task.objects.filter(study=study, kind=METHODS[judge.method].task_kind, gold__isnull=True)
