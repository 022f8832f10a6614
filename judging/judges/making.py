"""Creation of judges: which model, where it is served, and with which prompt. A judge never changes afterwards."""

from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.models import Workspace
from annotation.models import Rater, Study
from core.errors import UserError
from generation.endpoints.clients import endpoint_of, sampling_parameters
from generation.endpoints.registration import ServingRefused, endpoint_at
from generation.models import Endpoint, LanguageModel, Response
from judging.judges.questions import REFERENCE_FROM
from judging.methods.pairs import composite
from judging.methods.pairs.heuristics import NEEDS_REFERENCE
from judging.methods.prompts import prompt_hash
from judging.methods.registry import METHODS, chat_method
from judging.methods.spec import Transport
from judging.models import Judge

PROMPTS = Path("templates") / "judging" / "prompts"
GREEDY = {"temperature": 0.0}
CHOSEN_IN = "chosen_in"
"""The parameter of a composite that names the study by whose people its judges were chosen."""


class JudgeRefused(UserError):
    """The judge cannot be created as requested; the sentence says what to change."""


def stock_prompt(method: str) -> str:
    """Return the prompt that the project ships for a method; '' if the method sends none."""
    if METHODS[method].transport != Transport.CHAT:
        return ""
    return (settings.BASE_DIR / PROMPTS / chat_method(method).TEMPLATE).read_text(encoding="utf-8")


def judge_parameters(model: LanguageModel, given: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters of a judge's calls: temperature 0 unless the model or `given` say otherwise; null omits
    one.
    """
    whole = {**GREEDY, **sampling_parameters(model), **given}
    return {key: value for key, value in whole.items() if value is not None}


def create_judge(
    *,
    model: LanguageModel,
    method: str = "checklist",
    prompt: str | None = None,
    parameters: Mapping[str, object] | None = None,
    name: str = "",
) -> Judge:
    """Return the judge with this model, method, prompt and parameters, an existing one or a new one with its own rater.

    The temperature is 0 unless the model's or the given parameters say otherwise (null omits it). Raises JudgeRefused
    if `name` belongs to another judge, NoEndpoint if the model has no endpoint, UserError for an unknown method.
    """
    endpoint = endpoint_of(model)
    if method not in METHODS:
        raise UserError(f"There is no judging method {method!r}; there are: {', '.join(METHODS)}.")
    prompt = stock_prompt(method) if prompt is None else prompt
    given = dict(parameters or {})
    given |= check_references(model.workspace, method, str(given.get(REFERENCE_FROM, "")))
    sampling = judge_parameters(model, given)
    same = Judge.objects.filter(language_model=model, method=method, prompt_hash=prompt_hash(prompt))
    if name:
        same = same.filter(rater__label=name)
    known = next((judge for judge in same.order_by("pk") if judge.parameters == sampling), None)
    if known is not None:
        return known
    label = name or _free_label(model, method, prompt_hash(prompt), given)
    scripted = endpoint.kind == Endpoint.Kind.SCRIPTED
    try:
        with transaction.atomic():
            rater = Rater.objects.create(
                workspace=model.workspace,
                kind=Rater.Kind.JUDGE,
                label=label,
                provenance=Rater.Provenance.SCRIPTED if scripted else Rater.Provenance.REAL,
            )
            return Judge.objects.create(
                workspace=model.workspace,
                rater=rater,
                language_model=model,
                method=method,
                prompt=prompt,
                prompt_hash=prompt_hash(prompt),
                parameters=sampling,
            )
    except IntegrityError as error:
        raise JudgeRefused(
            f"The name {label!r} belongs to another judge with a different model, prompt or parameters, or to an "
            "imported judge. Judges never change; choose a different name."
        ) from error


def needs_no_model(method: str) -> bool:
    """Whether the method needs no model of its own: rules, the choice among stored verdicts, and methods that ask the
    models that wrote the responses.
    """
    return METHODS[method].transport in (Transport.NONE, Transport.VERDICTS, Transport.LOG_PROBABILITIES)


def create_rule_judge(
    *, workspace: Workspace, method: str, name: str = "", reference_from: str = "", chosen_in: str = ""
) -> Judge:
    """Return the judge of a method that needs no model, an existing or a new one. Raises JudgeRefused.

    With `reference_from`, the responses of the model of this name stand for the human references. A composite
    `chosen_in` another study decides by what agreed best with its people.
    The name of a composite says what it is, so that it does wherever it stands in a table.
    """
    parameters = check_references(workspace, method, reference_from) | _check_chosen_in(workspace, method, chosen_in)
    words = _with_references(reference_from) + (f" chosen in {chosen_in}" if chosen_in else "")
    label = name or f"rule: {method.replace('_', ' ')}{words}"
    if method == composite.KEY and not composite.says_composite(label):
        label = f"{label} (composite)"
    known = Judge.objects.filter(workspace=workspace, method=method, rater__label__in=[label, name or label]).first()
    if known is not None and known.parameters == parameters:
        return known
    try:
        with transaction.atomic():
            rater = Rater.objects.create(workspace=workspace, kind=Rater.Kind.JUDGE, label=label)
            return Judge.objects.create(
                workspace=workspace, rater=rater, method=method, prompt_hash=prompt_hash(""), parameters=parameters
            )
    except IntegrityError as error:
        raise JudgeRefused(f"The name {label!r} belongs to another judge; choose a different name.") from error


def check_references(workspace: Workspace, method: str, model: str) -> dict[str, object]:
    """Return the parameter by which a judge takes a model's responses for its references; none without a model.

    Raises JudgeRefused where the method reads no reference or the model has no response.
    """
    if not model:
        return {}
    if "reference" not in METHODS[method].parts and method not in NEEDS_REFERENCE:
        raise JudgeRefused(f"Method {method} reads no reference; leave out --reference-from.")
    if not Response.objects.filter(model__workspace=workspace, model__name=model).exists():
        raise JudgeRefused(f"There is no response of a model {model!r}; load or generate its responses first.")
    return {REFERENCE_FROM: model}


def _check_chosen_in(workspace: Workspace, method: str, study: str) -> dict[str, object]:
    """Return the parameter by which a composite is chosen in another study. Raises JudgeRefused."""
    if not study:
        return {}
    if method != composite.KEY:
        raise JudgeRefused(f"Method {method} chooses among no judges; leave out --chosen-in.")
    if not Study.objects.filter(workspace=workspace, slug=study).exists():
        raise JudgeRefused(f"There is no study {study!r} in which judges could be chosen.")
    return {CHOSEN_IN: study}


def _with_references(model: str) -> str:
    return f" with references of {model}" if model else ""


def _free_label(model: LanguageModel, method: str, hashed: str, given: Mapping[str, object]) -> str:
    """Return 'model method', followed by the prompt's hash and a number if that name is taken."""
    plain = f"{model.name} {method}{_with_references(str(given.get(REFERENCE_FROM, '')))}"
    taken = set(
        Rater.objects.filter(workspace=model.workspace, kind=Rater.Kind.JUDGE, label__startswith=plain).values_list(
            "label", flat=True
        )
    )
    candidates = [plain, f"{plain} {hashed[:6]}", *(f"{plain} {hashed[:6]} {number}" for number in range(2, 1000))]
    return next(label for label in candidates if label not in taken)


def model_to_judge_with(
    *,
    workspace: Workspace,
    name: str,
    command: str,
    endpoint_name: str = "",
    base_url: str = "",
    key_variable: str = "",
) -> LanguageModel:
    """Return the model of this name, at the endpoint that the options name or at the one that it had before.

    Raises JudgeRefused.
    """
    model = LanguageModel.objects.filter(workspace=workspace, name=name).select_related("endpoint").first()
    if base_url:
        endpoint: Endpoint | None = _endpoint_at(workspace, base_url, key_variable, command)
    elif endpoint_name:
        endpoint = Endpoint.objects.filter(workspace=workspace, name=endpoint_name).first()
        if endpoint is None:
            known = ", ".join(Endpoint.objects.filter(workspace=workspace).values_list("name", flat=True))
            raise JudgeRefused(f"There is no endpoint {endpoint_name!r}; there are: {known or 'none'}.")
    else:
        endpoint = model.endpoint if model else None
    if endpoint is None:
        raise JudgeRefused(f"Model {name!r} has no endpoint; give one with --base-url or --endpoint.")
    if model is None:
        model, _made = LanguageModel.objects.get_or_create(
            workspace=workspace, name=name, defaults={"endpoint": endpoint}
        )
    if model.endpoint_id != endpoint.pk:
        model.endpoint = endpoint
        model.save(update_fields=["endpoint"])
    return model


def _endpoint_at(workspace: Workspace, base_url: str, key_variable: str, command: str) -> Endpoint:
    """Return the endpoint with this address and key variable, created if necessary."""
    try:
        return endpoint_at(workspace, base_url, key_variable, command=command)
    except ServingRefused as error:
        raise JudgeRefused(str(error)) from error
