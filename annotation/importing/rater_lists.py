"""Load a list of people into a study: an invitation with a link of its own for each; no message is sent."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from accounts.models import User
from annotation.importing import messages
from annotation.models import Cohort, MailedInvitation, Study
from annotation.recruitment.cohorts import make_cohort
from core.clock import Clock
from core.db.created_rows import note_changed, note_created
from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.rows import Row
from generation.library.loading import Counts

LONGEST_NAME = 100
LONGEST_ADDRESS = 254
KINDS = (Cohort.Kind.PUBLIC.value, Cohort.Kind.ONSITE.value)
"""The kinds of a cohort of listed people; those of a crowd platform come by the platform's own link."""


@dataclass(frozen=True)
class ListedPerson:
    """A row of the list. No problem with it quotes what it says, since lists of problems are kept as files."""

    place: Place
    name: str
    address: str
    cohort: str
    kind: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Who it is: by the address, or by the name where there is none."""
        return self.cohort, self.address.casefold(), "" if self.address else self.name.casefold()


def load_people(
    study: Study, rows: Iterable[Row], on_bad: OnBadRow = refuse, *, cohort: str, by: User | None, clock: Clock
) -> Counts:
    """Store an invitation for each person who has none in the cohort yet; `cohort` is for rows that name none.

    Columns: name, email (one of them filled in), and optionally cohort and rater_kind (public or onsite) of a cohort that
    does not exist yet. All or nothing.
    """
    counts, seen = Counts(), set[tuple[str, str, str]]()
    cohorts = _Cohorts(study, by)
    with transaction.atomic():
        for row in rows:
            try:
                person = read_person(row, cohort)
                if person.key in seen:
                    raise person.place.bad(messages.PERSON_TWICE(), messages.REMOVE_A_ROW())
                seen.add(person.key)
                counts += cohorts.invite(person, clock)
            except BadRow as problem:
                on_bad(problem)
                counts += Counts(skipped=1)
    return counts


def read_person(row: Row, cohort: str) -> ListedPerson:
    """Read one row. Raises BadRow."""
    name, address, own, kind = (
        " ".join(row.values.get(column, "").split()) for column in ("name", "email", "cohort", "rater_kind")
    )
    if not name and not address:
        raise row.place.bad(messages.NOBODY(), messages.ENTER_PERSON())
    if len(name) > LONGEST_NAME or len(own) > LONGEST_NAME:
        raise row.place.bad(messages.LONG_NAME(n=LONGEST_NAME), messages.SHORTEN())
    if address:
        try:
            validate_email(address)
        except ValidationError:
            raise row.place.bad(messages.NO_ADDRESS(), messages.CORRECT_IT()) from None
        if len(address) > LONGEST_ADDRESS:
            raise row.place.bad(messages.NO_ADDRESS(), messages.CORRECT_IT())
    if kind and kind.casefold() not in KINDS:
        said = messages.RATER_KIND(text=repr(kind[:30]), known=", ".join(KINDS))
        raise row.place.bad(said, messages.CORRECT_OR_EMPTY())
    return ListedPerson(row.place, name, address, own or cohort, kind.casefold())


class _Cohorts:
    """The study's cohorts, made where a list names a new one, and who has been invited to each."""

    def __init__(self, study: Study, by: User | None) -> None:
        self.study, self.by = study, by
        self._known = {one.name: one for one in study.cohorts.all()}
        self._invited: dict[int, dict[tuple[str, str], MailedInvitation]] = {}

    def invite(self, person: ListedPerson, clock: Clock) -> Counts:
        """Store the invitation, or the name of a person who was invited by the address alone. Raises BadRow."""
        cohort = self._cohort(person)
        invited = self._in(cohort)
        known = invited.get(person.key[1:])
        if known is not None:
            if not person.name or known.name:
                return Counts(already_there=1)
            note_changed(known, {"name": ""})
            known.name = person.name
            known.save(update_fields=["name"])
            return Counts(completed=1)
        invitation = MailedInvitation.objects.create(
            cohort=cohort,
            address=person.address,
            name=person.name,
            state=MailedInvitation.State.HELD,
            made_at=clock(),
            made_by=self.by,
        )
        note_created([invitation])
        invited[person.key[1:]] = invitation
        return Counts(created=1)

    def _cohort(self, person: ListedPerson) -> Cohort:
        known = self._known.get(person.cohort)
        if known is None:
            known = make_cohort(self.study, person.cohort, person.kind or KINDS[0], by=self.by)
            note_created([known])
            self._known[person.cohort] = known
        if known.kind == Cohort.Kind.CROWD:
            raise person.place.bad(messages.CROWD_COHORT(name=repr(known.name)), messages.OTHER_COHORT())
        if known.revoked_at is not None:
            raise person.place.bad(messages.CLOSED_COHORT(name=repr(known.name)), messages.OPEN_COHORT())
        return known

    def _in(self, cohort: Cohort) -> dict[tuple[str, str], MailedInvitation]:
        if cohort.pk not in self._invited:
            self._invited[cohort.pk] = {
                (one.address.casefold(), "" if one.address else one.name.casefold()): one
                for one in cohort.mailed_invitations.exclude(address="", name="")
            }
        return self._invited[cohort.pk]
