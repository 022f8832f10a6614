"""What django-allauth asks of this program about accounts and mail."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib.auth import login
from django.core.exceptions import PermissionDenied
from django.core.mail import EmailMessage
from django.http import HttpRequest, HttpResponse

from accounts.models import User
from accounts.sign_in.client_address import client_address
from accounts.sign_in.session import Accounts

log = logging.getLogger(__name__)
_mailer = ThreadPoolExecutor(2, thread_name_prefix="mail")


class AccountRules(DefaultAccountAdapter):  # type: ignore[misc]
    """Nobody signs up; mails are sent beside the request, whose time therefore does not tell whether one was sent."""

    last_mail: Future[None] | None = None

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request) or "unknown"

    def pre_login(self, request: HttpRequest, user: User, **others: Any) -> HttpResponse | None:
        if not Accounts().user_can_authenticate(user):
            raise PermissionDenied
        response: HttpResponse | None = super().pre_login(request, user, **others)
        return response

    def login(self, request: HttpRequest, user: User) -> None:
        login(request, user, backend="accounts.signed_in.Accounts")

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        request = self.request
        site = {"name": request.get_host(), "domain": request.get_host()}
        message = self.render_mail(template_prefix, email, {"request": request, "current_site": site, **context})
        AccountRules.last_mail = _mailer.submit(_send, message)


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except OSError as error:  # what smtplib raises derives from it
        log.error("An e-mail could not be sent: %s", error)
