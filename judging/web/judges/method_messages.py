"""The judging methods in the reader's language: what each asks, what it answers, and its source."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.judges.making import needs_no_model
from judging.methods.registry import METHODS, OFFERED, PROMPTED

Words = str | Promise


@dataclass(frozen=True)
class MethodWords:
    """One method as shown on a page. `edited`: its prompt can be read and changed."""

    key: str
    name: Words
    asks: Words
    source: str
    task_kind: str
    needs_model: bool
    edited: bool


def method_words(key: str) -> MethodWords:
    spec = METHODS[key]
    return MethodWords(
        key, _(spec.name), _(spec.asks), spec.source, spec.task_kind, not needs_no_model(key), key in PROMPTED
    )


def all_methods() -> list[MethodWords]:
    """In the order of the registry: methods with a prompt first."""
    return [method_words(key) for key in OFFERED]
