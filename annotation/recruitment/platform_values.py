"""What a lead enters at Prolific or MTurk, word for word: the link, the completion codes, the time and the pay.

The parameters are those by which `cohorts.crowd_id` knows a worker, so that the links are the ones that joining accepts.
"""

import html
import json
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from annotation.models import Cohort, Study
from annotation.recruitment.cohorts import OUTCOMES, PROLIFIC_RETURN, STAND_IN
from annotation.recruitment.expected import part_of_one

PROLIFIC_PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
MTURK_PARAMETERS = ("workerId", "assignmentId", "hitId")


@dataclass(frozen=True)
class Value:
    """One value to copy: `name` says what it is, `is_long` that it takes several lines, `help` what to do with it."""

    name: str
    value: str
    help: str = ""
    is_long: bool = False


def code_names() -> dict[str, str]:
    """What each outcome of a participation is called on the lead's pages."""
    return {
        "pass": _("Completed"),
        "fail": _("Not qualified or paused"),
        "screened_out": _("Screened out"),
        "quota_full": _("No tasks left"),
        "too_little": _("Minimum not reached"),
    }


def codes_of(cohort: Cohort) -> dict[str, str]:
    """Return the code that a participant is really shown for each outcome; outcomes without one are left out."""
    found = {name: str(cohort.codes.get(name) or cohort.codes.get(STAND_IN.get(name, ""), "")) for name in OUTCOMES}
    return {name: code for name, code in found.items() if code}


def prolific_link(address: str) -> str:
    """Return the study URL for Prolific, with the placeholders that it replaces for each participant."""
    return address + "?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in PROLIFIC_PARAMETERS)


def prolific_values(study: Study, cohort: Cohort, address: str) -> list[Value]:
    """Return the fields of a study at Prolific in the order of its form; `address` is the cohort's entry link."""
    return [
        *_about(study),
        Value(
            _("Study URL"),
            prolific_link(address),
            _("Choose to record IDs by URL parameters. Prolific replaces the placeholders for each participant."),
        ),
        *(
            value
            for outcome, code in codes_of(cohort).items()
            for value in (
                Value(_("Completion code: %(outcome)s") % {"outcome": code_names()[outcome]}, code),
                Value(
                    _("Completion URL: %(outcome)s") % {"outcome": code_names()[outcome]},
                    f"{PROLIFIC_RETURN}?{urlencode({'cc': code})}",
                ),
            )
        ),
    ]


def mturk_values(study: Study, cohort: Cohort, address: str) -> list[Value]:
    """Return the fields of a survey link project at MTurk; `address` is the cohort's entry link."""
    return [
        *_about(study),
        Value(
            _("Survey link"),
            address,
            _("MTurk does not add the worker's ID to a survey link. The HTML below adds it; the link alone does not."),
        ),
        Value(
            _("HTML of the survey link project"),
            mturk_html(study, address),
            _(
                "Paste it as the source of the project's layout. It links to the study and asks for the completion code."
            ),
            is_long=True,
        ),
        *(
            Value(_("Completion code: %(outcome)s") % {"outcome": code_names()[outcome]}, code)
            for outcome, code in codes_of(cohort).items()
        ),
    ]


def mturk_html(study: Study, address: str) -> str:
    """Return the layout of an MTurk project: a link with the worker's parameters, and a field for the code."""
    names, base = json.dumps(MTURK_PARAMETERS), json.dumps(address).replace("<", "\\u003c")
    return f"""<p>{html.escape(study.name)}</p>
<p><a id="plumbline" target="_blank" rel="noopener" href="{html.escape(address)}">{html.escape(_("Open the study"))}</a></p>
<p><label>{html.escape(_("Completion code"))} <input name="surveycode" required></label></p>
<script>
  const given = new URLSearchParams(location.search);
  const link = new URL({base});
  for (const name of {names}) if (given.get(name)) link.searchParams.set(name, given.get(name));
  document.getElementById("plumbline").href = link.href;
</script>
"""


def _about(study: Study) -> Iterator[Value]:
    part = part_of_one(study)
    yield Value(_("Title"), study.name)
    if part.minutes:
        yield Value(_("Expected minutes"), str(part.minutes))
    if part.pay_minor is not None:
        currency = {"currency": part.currency or "?"}
        yield Value(
            _("Pay for one participant"),
            f"{part.pay_minor // 100}.{part.pay_minor % 100:02}",
            _("In %(currency)s, from the hourly pay and the expected time of the study.") % currency,
        )
