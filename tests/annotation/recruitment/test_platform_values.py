"""What the cohorts page and the page of values hand out is what joining accepts."""

import re
from xml.etree import ElementTree

import pytest
from django.urls import reverse

from annotation.models import Rater, RaterIdentity
from annotation.recruitment.cohorts import change_codes, make_cohort
from annotation.recruitment.expected import part_of_one
from annotation.recruitment.platform_values import MTURK_PARAMETERS, codes_of, mturk_values, prolific_values
from annotation.recruitment.qr_codes import qr_code
from tests.annotation.raters_at_work import make_study
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
FIELD = re.compile(r'<(?:input|textarea) class="link" id="([^"]+)"[^>]*?(?:value="([^"]*)"|>([^<]*)<)', re.DOTALL)


@pytest.fixture
def study():
    return make_study(tasks=4, overlap=3, probe_rate=0, quota=2, plan={"hourly_pay": "12.00", "currency": "GBP"})


@pytest.fixture
def lead(client, study):
    client.force_login(make_user("lead", study.workspace))
    return client


def values_page(study, cohort):
    return reverse("annotation:platform_values", args=[study, cohort.pk])


def filled(link):
    """What Prolific makes of a study URL for one participant."""
    given = {"PROLIFIC_PID": "5f1a", "STUDY_ID": "s1", "SESSION_ID": "66a1f0c2d3e4b5a697887654"}
    return re.sub(r"\{\{%(\w+)%\}\}", lambda place: given[place[1]], link)


def test_the_study_url_of_the_page_lets_a_participant_join(lead, client, study):
    cohort = make_cohort(study, "p", "crowd")
    page = lead.get(values_page(study, cohort)).content.decode()
    links = [value for _id, value, _text in FIELD.findall(page) if "PROLIFIC_PID" in value]
    assert len(links) == 1
    link = links[0].replace("&amp;", "&")
    assert link.startswith("http://testserver/join/")
    client.logout()
    assert client.get(link).status_code == 400
    assert client.post(filled(link), {"answer": "yes"}).status_code == 302
    identity = RaterIdentity.objects.get()
    assert identity.key == "prolific:5f1a"
    assert set(identity.particulars) == {"STUDY_ID", "SESSION_ID"}


def test_the_parameters_that_the_html_for_mturk_adds_let_a_worker_join(client, study):
    cohort = make_cohort(study, "m", "crowd")
    address = "http://testserver" + reverse("annotation:join", args=[cohort.entry_token])
    source = next(one.value for one in mturk_values(study, cohort, address) if one.is_long)
    (named,) = re.findall(r"for \(const name of (\[.*?\])\)", source)
    assert named == '["workerId", "assignmentId", "hitId"]'
    query = "&".join(f"{name}=A{place}" for place, name in enumerate(MTURK_PARAMETERS))
    client.post(f"{address}?{query}", {"answer": "yes"})
    assert RaterIdentity.objects.get().key == "mturk:A0"


def test_a_study_cannot_close_the_script_of_the_html(study):
    study.names = {"en": "</p><script>alert(1)</script>"}
    source = next(
        one.value for one in mturk_values(study, make_cohort(study, "m", "crowd"), "https://x/</script>") if one.is_long
    )
    assert source.count("<script") == source.count("</script>") == 1


def test_pages_of_this_server_are_refused_in_a_frame_as_the_page_says(client, study):
    cohort = make_cohort(study, "m", "crowd")
    answer = client.get(reverse("annotation:join", args=[cohort.entry_token]) + "?workerId=A&assignmentId=B&hitId=C")
    assert answer.status_code == 200
    assert answer["X-Frame-Options"] == "DENY" and "frame-ancestors 'none'" in answer["Content-Security-Policy"]


def test_a_code_that_is_missing_is_given_as_participants_get_it(study):
    cohort = make_cohort(study, "p", "crowd")
    change_codes(cohort, {"pass": "GOOD", "fail": "BAD", "screened_out": "OUT"}, by=None)
    assert codes_of(cohort) == {
        "pass": "GOOD",
        "fail": "BAD",
        "screened_out": "OUT",
        "quota_full": "OUT",
        "too_little": "BAD",
    }
    values = [one.value for one in prolific_values(study, cohort, "https://x/")]
    assert "https://app.prolific.com/submissions/complete?cc=GOOD" in values


def test_time_and_pay_are_those_of_the_study(study):
    part = part_of_one(study)
    assert part.tasks == 2 and not part.shared
    assert part.pay_minor == round(1200 * part.seconds / 3600) > 0
    values = {one.name: one.value for one in prolific_values(study, make_cohort(study, "p", "crowd"), "https://x/")}
    assert values["Expected minutes"] == str(part.minutes)
    assert values["Pay for one participant"] == f"{part.pay_minor / 100:.2f}"


def test_every_value_has_a_button_that_copies_it(lead, study):
    cohort = make_cohort(study, "p", "crowd")
    for address in (values_page(study, cohort), reverse("annotation:cohorts", args=[study])):
        page = lead.get(address).content.decode()
        fields = {name for name, _value, _text in FIELD.findall(page)}
        assert fields and fields == set(re.findall(r'data-copy="([^"]+)"', page))
        assert "js/copy.js" in page and "style=" not in page


def test_a_public_link_has_its_qr_code_and_a_closed_one_none(lead, study):
    cohort = make_cohort(study, "everybody", "public")
    address = reverse("annotation:cohorts", args=[study])
    page = lead.get(address).content.decode()
    link = "http://testserver" + reverse("annotation:join", args=[cohort.entry_token])
    assert qr_code(link, "QR code of the entry link") in page
    lead.post(reverse("annotation:change_cohort", args=[study, cohort.pk]), {"do": "revoke"})
    assert 'class="qr"' not in lead.get(address).content.decode()


def test_a_qr_code_is_plain_svg():
    made = qr_code("https://example.org/join/abc/", "A <link>")
    tree = ElementTree.fromstring(made)
    assert tree.get("role") == "img" and tree.find("title").text == "A <link>"
    assert "style" not in made and made != qr_code("https://example.org/join/abd/", "A <link>")


def test_only_leads_of_the_study_see_the_values_of_its_crowd(client, study):
    crowd, public = make_cohort(study, "p", "crowd"), make_cohort(study, "all", "public")
    client.force_login(make_user("rater", study.workspace))
    assert client.get(values_page(study, crowd)).status_code in (403, 404)
    client.force_login(make_user("lead", make_workspace("other")))
    assert client.get(values_page(study, crowd)).status_code == 404
    client.force_login(make_user("lead", study.workspace))
    assert client.get(values_page(study, crowd)).status_code == 200
    assert client.get(values_page(study, public)).status_code == 404
    assert not Rater.objects.filter(cohort=crowd).exists()
