"""A run over pairs speaks of pairs, one over responses of responses."""

import pytest
from django.urls import reverse

from generation.models import Endpoint, LanguageModel
from judging.judges.making import create_judge
from tests.factories import make_checklist_study, make_user, plan_run
from tests.judging.runs.test_methods_run import make_pair_study
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("pairs", "said"), [(True, "0 of 4 pairs judged"), (False, "0 of 4 responses judged")])
def test_the_opening_names_what_is_judged(client, pairs, said):
    study = make_pair_study() if pairs else make_checklist_study(instructions=4, models=1)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    run = plan_run(judge=create_judge(model=model, method="pair_of_four" if pairs else "checklist"), study=study)
    client.force_login(make_user("lead", study.workspace))
    assert said in markup(client.get(reverse("judging:run", args=[run.public_id])))
