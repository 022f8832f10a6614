"""A cohort at Prolific whose participants have answered, and a server that stands for Prolific."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from annotation.bonuses.proposals import BonusRequest, propose
from annotation.bonuses.record import change_cap
from annotation.bonuses.sending import prepare
from annotation.models import Cohort, ProlificStudy, RaterIdentity
from annotation.policies.policies import change_policies
from annotation.recruitment.participants import CrowdId, take_in
from tests.factories import make_answer, make_checklist_study, make_rater, make_user
from tests.fake_prolific import TOKEN, fake_prolific

AT = datetime(2026, 3, 10, 12, 30, tzinfo=UTC)
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6.0}
REWARD = 100


class Crowd:
    """The study, its cohort attached to "s1" at Prolific, its lead, and the participants by their rater's name."""

    def __init__(self, prolific):
        self.prolific = prolific
        self.study = make_checklist_study(instructions=4, models=2)
        change_policies(self.study, plan={"hourly_pay": "12.00", "currency": "GBP"})
        self.study.refresh_from_db()
        self.lead = make_user("lead", self.study.workspace)
        self.cohort = Cohort.objects.create(study=self.study, name="panel", kind="crowd")
        prolific.studies["s1"] = {"id": "s1", "reward": REWARD, "presentment_currency_code": "GBP"}
        self.attached = ProlificStudy.objects.create(cohort=self.cohort, external_id="s1", made_at=timezone.now())
        self.raters, self.submissions = {}, {}

    def join(self, number, *, answers=4, status="APPROVED", study="s1"):
        """A participant "p<number>" who is rater "R<number>" and gave so many answers of 90 seconds each."""
        participant, name = f"p{number}", f"R{number}"
        submission = self.prolific.add(study, number, status, participant)
        rater = make_rater(self.study, label=name, pseudonym=name, cohort=self.cohort)
        particulars = {"STUDY_ID": study, "SESSION_ID": submission}
        RaterIdentity.objects.create(
            rater=rater, cohort=self.cohort, key=f"prolific:{participant}", particulars=particulars
        )
        take_in(rater, CrowdId("prolific", f"prolific:{participant}", particulars), self.cohort, browser="")
        for task in self.study.tasks.order_by("pk")[:answers]:
            make_answer(task, rater, VALUES, active_seconds=90.0, submitted_at=AT)
        self.raters[name], self.submissions[name] = rater, submission
        return rater

    def cap(self, minor):
        change_cap(self.study, minor, by=self.lead, clock=timezone.now)

    def propose(self, text="", **asked):
        return propose(self.attached, given(text, **asked))

    def prepare(self, text="", **asked):
        """The list, set up at Prolific by the lead who saw it."""
        wanted = given(text, **asked)
        digest = propose(self.attached, wanted).digest
        return prepare(self.attached, wanted, digest, by=self.lead, clock=timezone.now)


def given(text="", **asked):
    return BonusRequest(**({"basis": "given", "purpose": "Round 1", "text": text} | asked))


@pytest.fixture
def prolific(settings):
    with fake_prolific() as fake:
        settings.PROLIFIC_API, settings.PROLIFIC_TOKEN, settings.BONUS_CAP = fake.address, TOKEN, 100
        yield fake


@pytest.fixture
def crowd(prolific):
    """R1 and R2 of Prolific, both approved, and a cap of 50.00."""
    crowd = Crowd(prolific)
    crowd.join(1)
    crowd.join(2)
    crowd.cap(5000)
    return crowd
