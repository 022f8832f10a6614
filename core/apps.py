from django.apps import AppConfig


class CoreConfig(AppConfig):
    """What any Django project would need: no models, and no import of another app."""

    name = "core"
    label = "core"
