"""Starting a checklist, proposing criteria for it, and merging proposals that say nearly the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from accounts.models import User, Workspace
from annotation.authoring.stages import Stage, at_stage, log_step, move_on
from annotation.models import Checklist, MergedCriterion, ProposedCriterion
from core.clock import Clock
from core.errors import UserError
from core.messages.message import Wording
from generation.models import Benchmark, Category

MOST_PROPOSALS_EACH = 20
TOO_MANY = Wording(
    "checklist.too_many_proposals",
    "You have proposed %(n)s criteria, which is the most that one person can propose. Withdraw one to propose another.",
)
SAME_AGAIN = Wording("checklist.same_proposal", "You have already proposed “%(name)s” with this explanation.")
NOT_YOURS = Wording("checklist.not_your_proposal", "This proposal is not yours, or you have already withdrawn it.")
TOO_FEW = Wording(
    "checklist.too_few_criteria",
    "There are %(n)s criteria, and %(keeps)s are to stay after the vote. Collect more proposals before you go on.",
)
TOO_FEW_MERGED = Wording(
    "checklist.too_few_merged",
    "After merging there would be %(n)s criteria, and %(keeps)s are to stay after the vote. Merge fewer of them.",
)
MERGING_CHANGED = Wording(
    "checklist.merging_changed",
    "Somebody else has changed the groups in the meantime, so nothing was saved. Look at the groups as they are now.",
)


@dataclass(frozen=True)
class NewChecklist:
    """What a lead decides at the start. Without a benchmark, the rubric is for any study of the workspace."""

    workspace: Workspace
    names: Mapping[str, str]
    benchmark: Benchmark | None = None
    categories: Iterable[Category] = ()
    votes_each: int = 6
    keeps: int = 6
    scale: str = Checklist.Scale.YES_NO
    overall: bool = True


def start_checklist(wanted: NewChecklist, *, by: User | None) -> Checklist:
    with transaction.atomic():
        checklist = Checklist.objects.create(
            workspace=wanted.workspace,
            names=dict(wanted.names),
            benchmark=wanted.benchmark,
            votes_each=wanted.votes_each,
            keeps=wanted.keeps,
            scale=wanted.scale,
            overall=wanted.overall,
            created_by=by,
        )
        chosen = list(wanted.categories)
        checklist.categories.set(chosen)
        settings = {
            "benchmark": wanted.benchmark.slug if wanted.benchmark else "",
            "categories": [category.key for category in chosen],
            "votes_each": wanted.votes_each,
            "keeps": wanted.keeps,
        }
        log_step(checklist, by, "start_checklist", after=settings)
    return checklist


def propose(checklist: Checklist, *, name: str, explanation: str, by: User) -> ProposedCriterion:
    """Store one person's proposal. Raises UserError."""
    with at_stage(checklist, Stage.PROPOSE) as locked:
        own = locked.proposals.filter(by=by, withdrawn_at=None)
        if own.count() >= MOST_PROPOSALS_EACH:
            raise UserError(TOO_MANY(n=MOST_PROPOSALS_EACH))
        if own.filter(name=name, explanation=explanation).exists():
            raise UserError(SAME_AGAIN(name=name))
        made = ProposedCriterion.objects.create(checklist=locked, by=by, name=name, explanation=explanation)
        log_step(locked, by, "propose_criterion", after={"proposal": name})
    return made


def withdraw(checklist: Checklist, proposal: int, *, by: User, clock: Clock = timezone.now) -> None:
    """Take one's own proposal back. Raises UserError."""
    with at_stage(checklist, Stage.PROPOSE) as locked:
        own = locked.proposals.filter(pk=proposal, by=by, withdrawn_at=None).first()
        if own is None:
            raise UserError(NOT_YOURS())
        own.withdrawn_at = clock()
        own.save(update_fields=["withdrawn_at"])
        log_step(locked, by, "withdraw_criterion", before={"proposal": own.name})


def close_proposals(checklist: Checklist, *, by: User) -> None:
    """End the proposals and group those that say nearly the same. Raises UserError."""
    # numpy takes longer to import than most commands to run.
    from core.near_duplicates import groups_alike

    with at_stage(checklist, Stage.PROPOSE) as locked:
        standing = list(locked.proposals.filter(withdrawn_at=None).order_by("pk"))
        if len(standing) < locked.keeps:
            raise UserError(TOO_FEW(n=len(standing), keeps=locked.keeps))
        groups = groups_alike([(one.name, one.explanation) for one in standing])
        for position, members in enumerate(groups):
            first = standing[members[0]]
            merged = MergedCriterion.objects.create(
                checklist=locked, name=first.name, explanation=first.explanation, position=position
            )
            locked.proposals.filter(pk__in=[standing[member].pk for member in members]).update(merged=merged)
        move_on(locked, by, "close_proposals", {"proposals": len(standing), "groups": len(groups)})


def merge(
    checklist: Checklist,
    *,
    wordings: Mapping[int, tuple[str, str]],
    places: Mapping[int, int | None],
    by: User,
    then_vote: bool = False,
) -> None:
    """Store the lead's groups and, with `then_vote`, open the vote.

    `wordings` has the name and the explanation of every group by key, `places` the group of every proposal, None for a
    group of its own, whose wording is the proposal's. Groups that lose their last proposal go. Raises UserError,
    also where the groups are no longer those that the lead saw.
    """
    with at_stage(checklist, Stage.MERGE) as locked:
        groups = {group.pk: group for group in locked.criteria.all()}
        standing = {one.pk: one for one in locked.proposals.filter(withdrawn_at=None)}
        wanted = {place for place in places.values() if place is not None}
        if groups.keys() != wordings.keys() or standing.keys() != places.keys() or not wanted <= groups.keys():
            raise UserError(MERGING_CHANGED())
        count = len(wanted) + sum(place is None for place in places.values())
        if then_vote and count < locked.keeps:
            raise UserError(TOO_FEW_MERGED(n=count, keeps=locked.keeps))
        before = _grouping(locked)
        for key, group in groups.items():
            group.name, group.explanation = wordings[key]
            group.save(update_fields=["name", "explanation"])
        position = max((group.position for group in groups.values()), default=-1)
        for key, place in places.items():
            one = standing[key]
            if place is None:
                position += 1
                one.merged = MergedCriterion.objects.create(
                    checklist=locked, name=one.name, explanation=one.explanation, position=position
                )
            else:
                one.merged_id = place
            one.save(update_fields=["merged"])
        locked.criteria.filter(pk__in=groups.keys() - wanted).delete()
        after = _grouping(locked)
        if after != before:
            log_step(locked, by, "merge_criteria", before=before, after=after)
        if then_vote:
            move_on(locked, by, "open_vote", {"criteria": count, "votes_each": locked.votes_each})


def _grouping(locked: Checklist) -> dict[str, list[str]]:
    """For the log: the groups' names with their proposals' names."""
    groups = locked.criteria.order_by("position", "pk").prefetch_related("proposals")
    return {f"{group.position + 1}. {group.name}": [one.name for one in group.proposals.all()] for group in groups}
