import pytest
from django.test import Client
from django.urls import reverse

from calibration.fits.store import run_fit
from calibration.models import CategoryFit, Fit, FittedWeight, Report
from calibration.reports.agreement import agreement_report
from tests.calibration.answered_studies import answered_study
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def client():
    study = answered_study()
    run_fit(study=study, draws=0)
    agreement_report(study, draws=0)
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    return client


@pytest.mark.parametrize("model", [Fit, CategoryFit, FittedWeight, Report])
def test_records_are_listed_and_shown_but_never_changed(client, model):
    name = model._meta.model_name
    row = model.objects.first()
    assert client.get(reverse(f"admin:calibration_{name}_changelist"), {"q": "essay"}).status_code == 200
    shown = client.get(reverse(f"admin:calibration_{name}_change", args=[row.pk]))
    assert shown.status_code == 200
    assert b'name="_save"' not in shown.content
    assert client.get(reverse(f"admin:calibration_{name}_add")).status_code == 403
    assert client.post(reverse(f"admin:calibration_{name}_change", args=[row.pk]), {"n": 1}).status_code == 403


@pytest.mark.parametrize(("model", "status"), [(Fit, 403), (CategoryFit, 403), (FittedWeight, 403), (Report, 302)])
def test_only_a_cached_report_may_be_deleted(client, model, status):
    row = model.objects.first()
    address = reverse(f"admin:calibration_{model._meta.model_name}_delete", args=[row.pk])
    assert client.post(address, {"post": "yes"}).status_code == status
    assert model.objects.filter(pk=row.pk).exists() == (status == 403)
