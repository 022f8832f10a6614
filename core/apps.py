from django.apps import AppConfig


class CoreConfig(AppConfig):
    """What any Django project would need; it has no models and imports no other app."""

    name = "core"
    label = "core"
