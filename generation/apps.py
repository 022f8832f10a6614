from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _


class GenerationConfig(AppConfig):
    name = "generation"
    verbose_name = _("Generation")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Tells the reader of tables, which knows no settings, how far a compressed file may expand."""
        from core.tables import reading as table

        table.most_expansion = settings.TABLE_EXPANSION
