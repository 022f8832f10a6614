"""A workspace's own phrases by which texts count as refusals or as meaningless, in place of the installation's.

They are matched as they are written, without regard to case: a lead's words are never read as a pattern.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from accounts.models import Event, User, Workspace
from core.errors import UserError
from core.messages.message import Wording
from generation.library.error_modes import installed_rules
from generation.models import ErrorPhrases
from generation.text_metrics.error_modes import ErrorRules
from generation.text_metrics.refusals import SKIPPED

MOST_PHRASES = 100
SHORTEST, LONGEST = 2, 200
TOO_MANY = Wording("error_phrases.too_many", "The list has %(n)s phrases; %(most)s are allowed.")
TOO_LONG = Wording(
    "error_phrases.too_long", "Line %(line)s has %(n)s characters; a phrase has %(most)s at most. Shorten it."
)
TOO_SHORT = Wording(
    "error_phrases.too_short",
    "Line %(line)s is too short to tell anything; a phrase has at least %(least)s characters.",
)
UNREADABLE = Wording(
    "error_phrases.unreadable",
    "Line %(line)s holds a character that cannot be shown; remove it and type the line anew.",
)


def phrases_in(text: str, *, opening: bool) -> tuple[str, ...]:
    """Return the phrases of a text, one a line, as they are matched: in lower case, each once, without empty lines.

    Those that are an `opening` are compared without leading quotes and Markdown, and with straight apostrophes. Raises
    UserError.
    """
    found: dict[str, None] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        phrase = " ".join(line.split()).lower()
        if opening:
            phrase = SKIPPED.sub("", phrase).replace("’", "'")
        if not line.strip():
            continue
        if len(phrase) > LONGEST:
            raise UserError(TOO_LONG(line=number, n=len(phrase), most=LONGEST))
        if len(phrase) < SHORTEST:
            raise UserError(TOO_SHORT(line=number, least=SHORTEST))
        if not phrase.isprintable():
            raise UserError(UNREADABLE(line=number))
        found[phrase] = None
    if len(found) > MOST_PHRASES:
        raise UserError(TOO_MANY(n=len(found), most=MOST_PHRASES))
    return tuple(found)


def rules_of(workspace: Workspace) -> ErrorRules:
    """Return the installation's rules with the workspace's phrases, if it has its own. Raises UserError."""
    rules, own = installed_rules(), ErrorPhrases.objects.filter(workspace=workspace).first()
    return rules if own is None else replace(rules, refusals=tuple(own.refusals), meaningless=tuple(own.meaningless))


def has_own_phrases(workspace: Workspace) -> bool:
    return ErrorPhrases.objects.filter(workspace=workspace).exists()


@transaction.atomic
def set_phrases(workspace: Workspace, *, refusals: Sequence[str], meaningless: Sequence[str], by: User | None) -> bool:
    """Give the workspace these phrases, as `phrases_in` returns them, on record; False if they are what it has."""
    before = _locked(workspace)
    after = {"refusals": list(refusals), "meaningless": list(meaningless)}
    if after == before:
        return False
    ErrorPhrases.objects.update_or_create(workspace=workspace, defaults=after)
    _record(workspace, "error phrases changed", before, after, by)
    return True


@transaction.atomic
def restore_phrases(workspace: Workspace, *, by: User | None) -> bool:
    """Let the installation's phrases hold again, on record; False if the workspace has none of its own."""
    before = _locked(workspace)
    if not ErrorPhrases.objects.filter(workspace=workspace).delete()[0]:
        return False
    _record(workspace, "error phrases restored", before, _lists(rules_of(workspace)), by)
    return True


def _locked(workspace: Workspace) -> dict[str, list[str]]:
    """Return the phrases that hold now; nobody changes them until this transaction ends."""
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    return _lists(rules_of(workspace))


def _lists(rules: ErrorRules) -> dict[str, list[str]]:
    return {"refusals": list(rules.refusals), "meaningless": list(rules.meaningless)}


def _record(
    workspace: Workspace, verb: str, before: dict[str, list[str]], after: dict[str, list[str]], by: User | None
) -> None:
    Event.objects.create(
        workspace=workspace,
        actor=by,
        verb=verb,
        object_type="accounts.Workspace",
        object_id=workspace.slug,
        before=before,
        after=after,
    )
