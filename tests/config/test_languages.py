"""A language of the interface is a line in the settings and a folder of locale/, and nothing else names it."""

import re

import pytest
from django.conf import settings
from django.test import override_settings
from django.urls import reverse
from django.utils.translation import to_locale

from accounts.models import User

THREE = [*settings.LANGUAGES, ("fr", "Français")]


def test_the_settings_and_locale_name_the_same_languages():
    folders = {path.name for path in (settings.BASE_DIR / "locale").iterdir() if path.is_dir()}
    assert folders == {to_locale(code) for code, _name in settings.LANGUAGES} - {"en"}


@pytest.mark.django_db
@pytest.mark.parametrize("code", [code for code, _name in settings.LANGUAGES])
def test_a_page_offers_every_other_language_by_its_own_name(client, code):
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = code
    assert offered(client) == {other: name for other, name in settings.LANGUAGES if other != code}


@pytest.mark.django_db
def test_a_language_more_is_offered_once_it_is_in_the_settings(client):
    with override_settings(LANGUAGES=THREE):
        assert offered(client) == {"zh-hans": "中文", "fr": "Français"}
        client.post(reverse("set_language"), {"language": "fr", "next": "/"})
        assert offered(client) == {"en": "English", "zh-hans": "中文"}


def offered(client):
    User.objects.get_or_create(username="lena")
    page = client.get(reverse("accounts:sign_in")).content.decode()
    return dict(re.findall(r'<button[^>]*name="language" value="([^"]+)"[^>]*>\s*([^<]*?)\s*</button>', page))
