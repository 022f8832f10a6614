"""Planned items with the texts that their questions need, in as few columns and rows as that takes."""

from collections.abc import Iterable, Sequence

from generation.models import Instruction, LanguageModel, Response
from judging.models import PlannedItem, Reply

COLUMNS = (
    *("run", "shown_first", "repeat", "juror", "position", "canary", "attempts_before"),
    *("task__kind", "task__part", "task__answer_rubric", "task__guide_rubric"),
)
SIDES = ("task__response_a", "task__response_b")
TEXTS = ("instruction", "model", "external_id", "text")


class AskedItems:
    """Reads items batch by batch. Models are kept, and instructions from one batch to the next: many share one."""

    def __init__(self) -> None:
        self._instructions: dict[int, Instruction] = {}
        self._models: dict[int, LanguageModel] = {}

    def read(self, pks: Sequence[int]) -> list[PlannedItem]:
        """By position."""
        columns = [*COLUMNS, *(f"{side}__{name}" for side in SIDES for name in TEXTS)]
        found = PlannedItem.objects.filter(pk__in=pks).select_related(*SIDES).only(*columns)
        items = sorted(found, key=lambda item: item.position)
        responses = [side for item in items for side in _sides(item)]
        self._learn(responses)
        for response in responses:
            response.instruction = self._instructions[response.instruction_id]
            if response.model_id is not None:
                response.model = self._models[response.model_id]
        return items

    def _learn(self, responses: Sequence[Response]) -> None:
        wanted = {response.instruction_id for response in responses}
        kept = {pk: one for pk, one in self._instructions.items() if pk in wanted}
        self._instructions = kept | Instruction.objects.in_bulk(wanted - set(kept))
        new = {response.model_id for response in responses if response.model_id} - set(self._models)
        if new:
            self._models |= LanguageModel.objects.select_related("endpoint").in_bulk(new)


def _sides(item: PlannedItem) -> Iterable[Response]:
    yield item.task.response_a
    if item.task.response_b is not None:
        yield item.task.response_b


def replies_of(pks: Sequence[int]) -> dict[int, list[Reply]]:
    """By item, what is stored of earlier attempts, the first one first."""
    found: dict[int, list[Reply]] = {}
    for reply in Reply.objects.filter(item__in=pks).order_by("attempt"):
        found.setdefault(reply.item_id, []).append(reply)
    return found
