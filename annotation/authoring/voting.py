"""The secret vote: one ballot a person, counted only when the lead closes it, and the choice among ties."""

from collections.abc import Collection
from random import Random

from django.db import IntegrityError, transaction

from accounts.models import User
from annotation.authoring.stages import Stage, at_stage, log_step, move_on
from annotation.models import Ballot, BallotReceipt, Checklist, MergedCriterion
from annotation.models.authoring import FEWEST_KEPT, MOST_KEPT
from annotation.rules.voting import VoteResult, admits, count_votes, result_of
from core.errors import UserError
from core.messages.message import Wording

FEWEST_BALLOTS = 3
"""With fewer, the counts would tell a voter, or the lead, who voted for what."""
VOTED = Wording(
    "checklist.voted",
    "You have already voted. A vote is secret, so the ballot cannot be found again and cannot be changed.",
)
NO_CHOICE = Wording("checklist.no_choice", "Choose at least one criterion of this checklist.")
TOO_MANY_VOTES = Wording(
    "checklist.too_many_votes", "You chose %(n)s criteria and have %(most)s votes. Choose fewer criteria."
)
TOO_FEW_BALLOTS = Wording(
    "checklist.too_few_ballots",
    "A vote stays secret only with at least %(fewest)s ballots. So far there are %(n)s; wait for more of them.",
)
BAD_CHOICE = Wording(
    "checklist.bad_choice",
    "Choose only among the criteria that have the same number of votes, so that from %(fewest)s to %(most)s criteria stay.",
)
NO_REASON = Wording(
    "checklist.no_reason", "Say why you chose these of the criteria that have the same number of votes."
)


def ballot_order(checklist: Checklist, user: User) -> list[MergedCriterion]:
    """Return the criteria in an order of each voter's own, so that the first ones have no advantage."""
    criteria = list(checklist.criteria.all())
    Random(f"{checklist.public_id} {user.public_id}").shuffle(criteria)
    return criteria


def vote(checklist: Checklist, choices: Collection[int], *, by: User) -> None:
    """Store a ballot, and apart from it that this person has voted. Raises UserError."""
    chosen = sorted(set(choices))
    try:
        with at_stage(checklist, Stage.VOTE) as locked:
            if len(chosen) > locked.votes_each:
                raise UserError(TOO_MANY_VOTES(n=len(chosen), most=locked.votes_each))
            if not chosen or locked.criteria.filter(pk__in=chosen).count() != len(chosen):
                raise UserError(NO_CHOICE())
            with transaction.atomic():
                BallotReceipt.objects.create(checklist=locked, by=by)
            Ballot.objects.create(checklist=locked, choices=chosen)
            log_step(locked, by, "vote_on_criteria")
    except IntegrityError as error:
        raise UserError(VOTED()) from error


def has_voted(checklist: Checklist, user: User) -> bool:
    return checklist.receipts.filter(by=user).exists()


def close_vote(checklist: Checklist, *, by: User) -> None:
    """End the vote and count it. Raises UserError."""
    with at_stage(checklist, Stage.VOTE) as locked:
        ballots = list(locked.ballots.values_list("choices", flat=True))
        if len(ballots) < FEWEST_BALLOTS:
            raise UserError(TOO_FEW_BALLOTS(n=len(ballots), fewest=FEWEST_BALLOTS))
        criteria = list(locked.criteria.all())
        votes = count_votes([one.pk for one in criteria], ballots)
        for one in criteria:
            one.votes = votes[one.pk]
            one.save(update_fields=["votes"])
        counted = {f"{one.position + 1}. {one.name}": votes[one.pk] for one in criteria}
        move_on(locked, by, "close_vote", {"ballots": len(ballots), "votes": counted})


def vote_result(checklist: Checklist) -> VoteResult:
    """Who stays and who ties, after the vote is closed."""
    votes = {one.pk: one.votes or 0 for one in checklist.criteria.all()}
    return result_of(votes, checklist.keeps)


def tied_criteria(checklist: Checklist) -> list[MergedCriterion]:
    """The criteria that tie for the last places, after the vote is closed."""
    by_key = {one.pk: one for one in checklist.criteria.all()}
    return [by_key[key] for key in vote_result(checklist).tied]


def choose(checklist: Checklist, chosen: Collection[int], *, reason: str, by: User) -> None:
    """Keep the criteria with the most votes and, of those that tie for the last places, the chosen ones, with a reason.

    From four to six may stay where there is a tie. Raises UserError.
    """
    with at_stage(checklist, Stage.CHOOSE) as locked:
        result = vote_result(locked)
        if not admits(result, chosen, fewest=FEWEST_KEPT, most=MOST_KEPT):
            raise UserError(BAD_CHOICE(fewest=FEWEST_KEPT, most=MOST_KEPT))
        if result.tied and not reason:
            raise UserError(NO_REASON())
        stay = {*result.certain, *chosen}
        criteria = list(locked.criteria.all())
        for one in criteria:
            one.kept = one.pk in stay
            one.save(update_fields=["kept"])
        locked.choice_reason = reason if result.tied else ""
        locked.save(update_fields=["choice_reason"])
        kept = [one.name for one in criteria if one.kept]
        move_on(locked, by, "keep_criteria", {"kept": kept, "reason": locked.choice_reason})
