"""The optional ways to sign in, turned on for a module of tests: apps, tables, addresses and settings."""

import sys
from contextlib import contextmanager
from importlib import import_module, reload

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.db import connection
from django.test import override_settings
from django.urls import clear_url_caches

from config.identity import Identity, apps_of, middleware_of, settings_of

EVERYTHING = Identity(
    second_factor=True,
    passkeys=True,
    required=True,
    issuer="http://127.0.0.1:1",
    provider_name="Lab ID",
    client_id="plumbline",
    client_secret="secret of the client",
    mail="smtp://localhost",
    mail_from="plumbline@example.org",
)


@contextmanager
def turned_on(identity, data_dir):
    """Turn on what the identity says, as config/settings.py would; a cache of the process stands for the shared one."""
    values = settings_of(identity, redis_url="", data_dir=data_dir)
    values["CACHES"] = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "identity"}}
    more = apps_of(EVERYTHING)
    middleware = [*settings.MIDDLEWARE, *middleware_of(identity)]
    with (
        override_settings(IDENTITY=identity, MIDDLEWARE=middleware, **values),
        override_settings(INSTALLED_APPS=[*settings.INSTALLED_APPS, *more]),
    ):
        models = [model for app in more for model in apps.get_models() if model.__module__.startswith(f"{app}.models")]
        models = list(dict.fromkeys(models))
        with connection.schema_editor() as editor:
            for model in models:
                editor.create_model(model)
        import_module("accounts.identity.record").watch_identities()
        _renew_addresses()
        try:
            yield
        finally:
            for model in models:
                if admin.site.is_registered(model):
                    admin.site.unregister(model)
            with connection.schema_editor() as editor:
                for model in reversed(models):
                    editor.delete_model(model)
    _renew_addresses()


def _renew_addresses():
    sys.modules.pop("accounts.identity.urls", None)
    reload(import_module("config.urls"))
    clear_url_caches()
