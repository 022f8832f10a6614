"""Addresses of what is turned on, and of nothing else. The names are those by which django-allauth finds its pages."""

from allauth.account import views as account
from django.conf import settings
from django.urls import URLPattern, path, re_path

from accounts.members.account_pages import change_password
from accounts.sign_in.pages import kept_form, sign_in, sign_out

identity = settings.IDENTITY
urlpatterns: list[URLPattern] = [
    # Our own pages under the names that django-allauth uses.
    path("sign-in/", sign_in, name="account_login"),
    path("sign-out/", sign_out, name="account_logout"),
    path("account/password/", change_password, name="account_change_password"),
    path("sign-in/closed/", account.account_inactive, name="account_inactive"),
    path("sign-in/form/", kept_form, name="kept_form"),
    path("account/confirm/", account.reauthenticate, name="account_reauthenticate"),
]
if identity.mail:
    urlpatterns += [
        path("account/e-mail/", account.email, name="account_email"),
        re_path(r"^account/e-mail/(?P<key>[-:\w]+)/$", account.confirm_email, name="account_confirm_email"),
        path("password/", account.password_reset, name="account_reset_password"),
        path("password/sent/", account.password_reset_done, name="account_reset_password_done"),
        path("password/done/", account.password_reset_from_key_done, name="account_reset_password_from_key_done"),
        re_path(
            r"^password/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
            account.password_reset_from_key,
            name="account_reset_password_from_key",
        ),
    ]
if identity.factors:
    from allauth.mfa.base import views as factors
    from allauth.mfa.recovery_codes import views as recovery

    urlpatterns += [
        path("account/factors/", factors.index, name="mfa_index"),
        path("account/factors/confirm/", factors.reauthenticate, name="mfa_reauthenticate"),
        path("sign-in/second/", factors.authenticate, name="mfa_authenticate"),
        path("account/factors/recovery/", recovery.view_recovery_codes, name="mfa_view_recovery_codes"),
        path("account/factors/recovery/new/", recovery.generate_recovery_codes, name="mfa_generate_recovery_codes"),
        path("account/factors/recovery/file/", recovery.download_recovery_codes, name="mfa_download_recovery_codes"),
    ]
if identity.second_factor:
    from allauth.mfa.totp import views as totp

    urlpatterns += [
        path("account/factors/app/", totp.activate_totp, name="mfa_activate_totp"),
        path("account/factors/app/remove/", totp.deactivate_totp, name="mfa_deactivate_totp"),
    ]
if identity.passkeys:
    from allauth.mfa.webauthn import views as webauthn

    urlpatterns += [
        path("account/factors/keys/", webauthn.list_webauthn, name="mfa_list_webauthn"),
        path("account/factors/keys/add/", webauthn.add_webauthn, name="mfa_add_webauthn"),
        path("account/factors/keys/confirm/", webauthn.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
        path("account/factors/keys/<int:pk>/remove/", webauthn.remove_webauthn, name="mfa_remove_webauthn"),
        path("account/factors/keys/<int:pk>/", webauthn.edit_webauthn, name="mfa_edit_webauthn"),
        path("sign-in/passkey/", webauthn.login_webauthn, name="mfa_login_webauthn"),
    ]
if identity.issuer:
    from allauth.socialaccount import views as provider
    from allauth.socialaccount.providers.openid_connect import views as openid

    from accounts.identity.provider import accept_with_provider, to_provider

    urlpatterns += [
        path("sign-in/provider/<str:provider_id>/", to_provider, name="openid_connect_login"),
        path("sign-in/provider/<str:provider_id>/back/", openid.callback, name="openid_connect_callback"),
        path("sign-in/cancelled/", provider.login_cancelled, name="socialaccount_login_cancelled"),
        path("sign-in/error/", provider.login_error, name="socialaccount_login_error"),
        path("account/identities/", provider.connections, name="socialaccount_connections"),
        path("invitation/<str:token>/provider/", accept_with_provider, name="accept_with_provider"),
    ]
