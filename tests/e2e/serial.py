"""Requests one after another, for a test database in memory whose one connection all threads share."""

import threading
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

turn = threading.RLock()
serving = threading.Event()


class OneAtATime:
    """Answers in turn while a test runs; a browser's late words after it meet a closed door, not the database."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with turn:
            return self.get_response(request) if serving.is_set() else HttpResponse(status=503)
