from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = _("Accounts")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from accounts.sign_in.record import watch_sign_ins

        watch_sign_ins()
        if settings.IDENTITY:
            from accounts.identity.record import watch_identities

            watch_identities()
