"""The library's models and endpoints: lists, forms, and the button that tests what an endpoint can do."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Event, User, Workspace
from accounts.permissions import results_page, workspaces_led_by, workspaces_read_by
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.endpoints.clients import listed_model
from generation.endpoints.pricing import price_of
from generation.endpoints.probing import in_words, probe_endpoint
from generation.endpoints.registration import add_models, models_to_add
from generation.library.access import endpoint_led_by, model_led_by
from generation.library.removal import Row, StillUsed, remove, why_it_stays
from generation.llm.protocol.prices import Prices
from generation.llm.protocol.providers import Provider
from generation.models import Endpoint, LanguageModel
from generation.web.endpoints.forms import EndpointForm, ModelForm, key_dropped
from generation.web.library.pages import asked_for, page_of, user_of

TEST_SECONDS = 8.0
MOST_TESTS = 2
_tested: set[int] = set()
_lock = threading.Lock()


@require_safe
@results_page
def models(request: HttpRequest) -> HttpResponse:
    """The models, what serves them and how much they have written; ?q= searches their names."""
    words = asked_for(request, "q")
    found = LanguageModel.objects.filter(workspace__in=workspaces_read_by(user_of(request)))
    if words:
        found = found.filter(Q(name__icontains=words) | Q(family__icontains=words))
    rows = found.select_related("endpoint").annotate(response_count=Count("responses"))
    page = page_of(request, rows.order_by("name", "pk"))
    for model in page:
        model.price, model.listed = price_of(model), listed_model(model)
    context = {"page": page, "words": words, "led": set(_led(request).values_list("pk", flat=True))}
    return render(request, "generation/models.html", context)


@require_safe
@results_page
def endpoints(request: HttpRequest) -> HttpResponse:
    """The endpoints and what each was found to do."""
    found = Endpoint.objects.filter(workspace__in=workspaces_read_by(user_of(request)))
    led = set(_led(request).values_list("pk", flat=True))
    rows = [
        _row(endpoint, led) for endpoint in found.annotate(model_count=Count("language_models")).order_by("name", "pk")
    ]
    return render(request, "generation/endpoints.html", {"rows": rows, "leads": bool(led)})


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def edit_endpoint(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """A new endpoint, or one there is; with ?then= its first model comes next, and after that the page named there.

    With ?provider= a new one has the name, address and variable of that hosted provider.
    """
    led = _led(request)
    known = endpoint_led_by(user_of(request), pk) if pk is not None else None
    providers = settings.PROVIDERS if known is None else ()
    asked = asked_for(request, "provider")
    initial = next((_of_provider(one) for one in providers if one.name == asked), None)
    form = EndpointForm(request.POST or None, instance=known, initial=initial, workspaces=led)
    if request.method == "POST" and form.is_valid():
        made = keep(user_of(request), form, "endpoint")
        if form.dropped_key:
            messages.warning(request, key_dropped(form.dropped_key))
        messages.success(
            request, gettext("Endpoint %(name)s has been saved. Test it before you use it.") % {"name": made}
        )
        if then := _then(request):
            model = urlencode({"endpoint": form.instance.pk, "then": then})
            return redirect(f"{reverse('generation:new_model')}?{model}")
        return redirect("generation:endpoints")
    context: dict[str, Any] = {"form": form, "endpoint": known, "led": led, "providers": providers, "provider": asked}
    context |= {"then": _then(request), "why_it_stays": known and why_it_stays(known)}
    return render(request, "generation/endpoint_form.html", context, status=_status(form))


def _of_provider(provider: Provider) -> dict[str, str]:
    return {"name": provider.title, "base_url": provider.addresses[0], "key_variable": provider.keys[0]}


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def edit_model(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """A new model, served by ?endpoint= where that is given, or one there is; with ?price=listed its provider's price."""
    led = _led(request)
    known = model_led_by(user_of(request), pk) if pk is not None else None
    asked = asked_for(request, "endpoint")
    initial: dict[str, Any] = {"endpoint": asked} if known is None and asked.isdecimal() else {}
    listed = None if known is None else listed_model(known)
    prices = None if listed is None else listed.prices
    if listed is not None and prices is not None and asked_for(request, "price") == "listed":
        initial = {"input_price": prices.read, "output_price": prices.written}
        initial |= {"currency": listed.currency, "priced_on": listed.as_of}
    form = ModelForm(request.POST or None, instance=known, initial=initial, workspaces=led)
    if request.method == "POST" and form.is_valid():
        made = keep(user_of(request), form, "model")
        messages.success(request, gettext("Model %(name)s has been saved.") % {"name": made})
        return redirect(_then(request) or "generation:models")
    context: dict[str, Any] = {"form": form, "model": known, "led": led, "listed": listed}
    context |= {"uses_listed": _has_price(known, prices), "why_it_stays": known and why_it_stays(known)}
    return render(request, "generation/model_form.html", context, status=_status(form))


def _has_price(model: LanguageModel | None, prices: Prices | None) -> bool:
    """Return whether the model has these prices, True if there are none."""
    return prices is None or (
        model is not None and (model.input_price, model.output_price) == (prices.read, prices.written)
    )


def _then(request: HttpRequest) -> str:
    """The address on this server to go on to, such as the page from which an endpoint was missing; '' for none."""
    then = asked_for(request, "then")
    return then if then.startswith("/") and url_has_allowed_host_and_scheme(then, allowed_hosts=None) else ""


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def remove_endpoint(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks whether an endpoint is to go, and takes it away; one that serves models stays, and the page says so."""
    return _removal(request, endpoint_led_by(user_of(request), pk), "endpoint")


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def remove_model(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks whether a model is to go, and takes it away; one that something depends on stays, and the page says so."""
    return _removal(request, model_led_by(user_of(request), pk), "model")


@require_POST
@results_page
def test_endpoint(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks the endpoint what it can do, and says it in words; without JavaScript, on the list's page."""
    led = _led(request)
    endpoint = endpoint_led_by(user_of(request), pk)
    problem = ""
    with test_of(endpoint) as wait:
        try:
            if not wait:
                probe_endpoint(endpoint, seconds=TEST_SECONDS)
        except UserError as error:
            problem = for_reader(error)
    if not getattr(request, "htmx", False):
        if problem or wait:
            messages.error(request, f"{endpoint.name}: {problem or wait}")
        return redirect("generation:endpoints")
    row = {**_row(endpoint, set(led.values_list("pk", flat=True))), "problem": problem, "wait": wait}
    return render(request, "generation/endpoints.html#found", {"row": row})


@require_POST
@results_page
def add_found_models(request: HttpRequest, pk: int) -> HttpResponse:
    """Adds the chosen ones of the models that the last test of the endpoint listed."""
    endpoint = endpoint_led_by(user_of(request), pk)
    made = add_models(endpoint, request.POST.getlist("names"), user_of(request))
    if made:
        notice = ngettext("%(n)d model has been added.", "%(n)d models have been added.", len(made)) % {"n": len(made)}
        messages.success(request, notice)
    else:
        messages.warning(request, gettext("No model was added. Choose at least one that is not there yet."))
    return redirect("generation:endpoints")


@contextmanager
def test_of(endpoint: Endpoint) -> Iterator[str]:
    """Why the test must wait, empty where it may begin and is held to be going on until the end.

    An endpoint that hangs holds a thread of this server for seconds; raters need the others.
    """
    with _lock:
        wait = _why_wait(endpoint.pk)
        if not wait:
            _tested.add(endpoint.pk)
    try:
        yield wait
    finally:
        if not wait:
            with _lock:
                _tested.discard(endpoint.pk)


def _why_wait(pk: int) -> str:
    if pk in _tested:
        return gettext("This endpoint is already being tested. Reload the page in a few seconds to see the results.")
    if len(_tested) >= MOST_TESTS:
        return gettext("%(n)s other endpoints are being tested. Try again in a few seconds.") % {"n": MOST_TESTS}
    return ""


def _removal(request: HttpRequest, row: Row, what: str) -> HttpResponse:
    list_page, name = f"generation:{what}s", row.name
    refused = why_it_stays(row)
    if request.method == "POST" and not refused:
        try:
            remove(row, user=user_of(request))
        except StillUsed as error:
            refused = str(error)
        else:
            messages.success(request, gettext("%(name)s has been removed.") % {"name": name})
            return redirect(list_page)
    context = {
        "row": row,
        "what": what,
        "why_it_stays": refused,
        "back": reverse(f"generation:edit_{what}", args=[row.pk]),
    }
    status = 409 if request.method == "POST" else 200
    return render(request, "generation/remove.html", context, status=status)


def _row(endpoint: Endpoint, led: set[int]) -> dict[str, Any]:
    lines = in_words(endpoint.capabilities) if endpoint.probed_at else []
    leads = endpoint.workspace_id in led
    offered = [_offered(endpoint, name) for name in models_to_add(endpoint)] if leads else []
    return {"endpoint": endpoint, "lines": lines, "leads": leads, "offered": offered}


def _offered(endpoint: Endpoint, name: str) -> dict[str, Any]:
    return {"name": name, "listed": listed_model(LanguageModel(name=name, endpoint=endpoint))}


def keep(user: User, form: Any, what: str) -> Any:
    """The form's row, with an event in the log: its fields but no key, since none is ever stored."""
    with transaction.atomic():
        made = form.save()
        Event.objects.create(
            workspace_id=made.workspace_id,
            actor=user,
            verb=f"{what} saved",
            object_type=f"generation.{type(made).__name__}",
            object_id=str(made.pk),
            after={"name": made.name, "changed": sorted(form.changed_data)},
        )
    return made


def _status(form: Any) -> int:
    return 422 if form.is_bound and form.errors else 200


def _led(request: HttpRequest) -> "QuerySet[Workspace]":
    return workspaces_led_by(user_of(request))
