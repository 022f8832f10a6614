"""What people decided about instructions: to keep or to drop one, and why. The last such event counts."""

from dataclasses import dataclass
from datetime import datetime

from accounts.models import Event, User, Workspace
from core.errors import UserError
from core.messages.message import Wording
from core.text import storable
from generation.models import Benchmark, Instruction

KEPT, DROPPED, UNDECIDED = "instruction kept", "instruction dropped", "decision on instruction taken back"
VERBS = {"keep": KEPT, "drop": DROPPED, "undo": UNDECIDED}
LONGEST_REASON = 500
OBJECT = "generation.Instruction"

NO_REASON = Wording("curation.no_reason", "Enter a reason why the instruction is to be dropped.")
LONG_REASON = Wording("curation.long_reason", "The reason has %(n)s characters; keep it to %(most)s.")


@dataclass(frozen=True)
class Decision:
    keep: bool
    reason: str
    by: str
    at: datetime


def decide(instruction: Instruction, choice: str, reason: str, *, user: User) -> None:
    """Record a decision: keep, drop or undo, which takes the last one back. Raises UserError."""
    reason = storable(reason).strip()
    if choice == "drop" and not reason:
        raise UserError(NO_REASON())
    if len(reason) > LONGEST_REASON:
        raise UserError(LONG_REASON(n=len(reason), most=LONGEST_REASON))
    Event.objects.create(
        workspace_id=instruction.benchmark.workspace_id,
        actor=user,
        verb=VERBS[choice],
        object_type=OBJECT,
        object_id=instruction.public_id,
        after={"reason": reason, "benchmark": instruction.benchmark.slug},
    )


def decisions_in(workspace: Workspace | int, public_ids: set[str] | None = None) -> dict[str, Decision]:
    """Return the standing decisions on instructions of the workspace, by public id of the instruction."""
    events = Event.objects.filter(workspace=workspace, object_type=OBJECT, verb__in=VERBS.values())
    if public_ids is not None:
        events = events.filter(object_id__in=public_ids)
    found: dict[str, Decision] = {}
    for name, verb, after, by, at in events.order_by("pk").values_list(
        "object_id", "verb", "after", "actor__username", "at"
    ):
        found.pop(name, None)
        if verb != UNDECIDED:
            found[name] = Decision(verb == KEPT, str((after or {}).get("reason", "")), by or "", at)
    return found


def decisions_of(benchmark: Benchmark) -> dict[str, Decision]:
    """Return the standing decisions on instructions, by public id; also on those of the workspace's other benchmarks."""
    return decisions_in(benchmark.workspace_id)
