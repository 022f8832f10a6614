from django.apps import AppConfig
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = _("Annotation")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import_string("annotation.counters.triggers.connect")()
