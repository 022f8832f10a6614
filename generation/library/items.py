"""The responses that a table of ratings names by item, instruction and model: found, or made without a text."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from core.db.created_rows import note_created
from core.db.removal import conditions
from core.messages.message import Wording
from core.tables import messages as of_tables
from core.tables.bad_rows import Place
from generation.importers.records import InstructionRecord
from generation.library.loading import Instructions, Models
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun, Response

NO_CATEGORY = Wording("items.no_category", "benchmark %(benchmark)s has no category %(category)s")
NAME_CATEGORY = Wording("items.name_category", "name one of its categories, or leave the column out")
LONG_NAME = Wording("items.long_name", "the name %(name)s... is too long")

NO_INSTRUCTION = Wording("items.no_instruction", "no instruction %(name)s in benchmark %(benchmark)s")
NO_RESPONSE = Wording("items.no_response", "no response %(name)s in benchmark %(benchmark)s")
SEVERAL_RESPONSES = Wording("items.several_responses", "benchmark %(benchmark)s has several responses to %(name)s")
NAME_MODEL = Wording("items.name_model", "name the model of each row in a column")
NO_RESPONSE_OF = Wording("items.no_response_of", "no response of %(model)s to %(name)s in benchmark %(benchmark)s")
LOAD_FIRST = Wording("items.load_first", "load its instructions and responses first")

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class ItemName:
    """What a row calls the response it is about; `item` is its own instruction where none is given."""

    item: str
    instruction: str = ""
    model: str = ""
    category: str = ""

    @property
    def instruction_id(self) -> str:
        return self.instruction or self.item

    @property
    def key(self) -> tuple[str, str, str]:
        return self.instruction_id, self.item, self.model


class Items:
    """A benchmark's responses of one experiment; new ones are made only where `may_create`."""

    def __init__(
        self,
        benchmark: Benchmark,
        *,
        may_create: bool,
        may_add_categories: bool,
        run: GenerationRun | None = None,
        experiment: str = MAIN_EXPERIMENT,
    ) -> None:
        self.benchmark, self.run = benchmark, run
        self.may_create, self.may_add_categories = may_create, may_add_categories
        self.instructions = Instructions(benchmark)
        self.models = Models(benchmark.workspace)
        self._by_key: dict[tuple[str, str, str], int] = {}
        self._by_model: dict[tuple[str, str], list[int]] = {}
        self._by_item: dict[str, list[tuple[int, str, str]]] = {}
        self._unnamed: set[int] = set()
        self._taken: dict[int, str] = {}
        responses = Response.objects.filter(instruction__benchmark=benchmark, kind=Response.Kind.RESPONSE)
        if experiment == MAIN_EXPERIMENT:
            responses = responses.exclude(run__in=benchmark.generation_runs.exclude(experiment=experiment))
        else:
            responses = responses.filter(run__experiment=experiment)
        self._known = responses.order_by("pk")
        self._read(self._known)

    def _read(self, responses: QuerySet[Response]) -> None:
        rows = responses.values_list("pk", "instruction__external_id", "external_id", "model__name")
        for pk, instruction, item, model in rows.iterator(2000):
            name = ItemName(item or instruction, instruction, model or "")
            if self._by_key.get(name.key) != pk:
                self._remember(pk, name)

    def learn(self, pks: Collection[int]) -> None:
        """Take in responses that were made elsewhere since."""
        for some in conditions("pk", pks):
            self._read(self._known.filter(some))

    def _remember(self, pk: int, name: ItemName) -> None:
        self._by_key[name.key] = pk
        self._by_model.setdefault((name.instruction_id, name.model), []).append(pk)
        if name.item == name.instruction_id:
            self._unnamed.add(pk)
        self._by_item.setdefault(name.item, []).append((pk, name.model, name.instruction_id))

    def find(self, name: ItemName) -> int | None:
        """The response's pk: by all that is named; else the only one of the item; else of instruction and model.

        So a response is one however many tables name it, whether by its own item or by instruction and model alone.
        Where items may be made, an item of its own takes a response without one, and a second item is another response.
        """
        found = self._by_key.get(name.key)
        if found is not None:
            return found
        same = [
            pk
            for pk, model, instruction in self._by_item.get(name.item, ())
            if (not name.model or model == name.model) and name.instruction in ("", instruction)
        ]
        if len(same) == 1:
            return same[0]
        if not name.model:
            return None
        same = self._by_model.get((name.instruction_id, name.model), [])
        if not self.may_create or name.item == name.instruction_id:
            return same[0] if len(same) == 1 else None
        free = [pk for pk in same if pk in self._unnamed]
        if len(free) == 1 and self._taken.setdefault(free[0], name.item) == name.item:
            return free[0]
        return None

    def check(self, place: Place, name: ItemName) -> int | None:
        """The pk of the item's category, if any; raises BadRow where the item may neither be found nor made."""
        slug = self.benchmark.slug
        for value in (name.item, name.instruction, name.model):
            if len(value) > LONGEST_NAME:
                raise place.bad(LONG_NAME(name=repr(value[:30])), of_tables.KEEP_NAMES(most=LONGEST_NAME))
        category = self.instructions.categories.find(name.category) if name.category else None
        if name.category and category is None and not self.may_add_categories:
            raise place.bad(NO_CATEGORY(benchmark=slug, category=repr(name.category)), NAME_CATEGORY())
        if not self.may_create and self.find(name) is None:
            if name.instruction_id not in self.instructions:
                known = name.instruction_id if name.model else name.item
                what = (NO_INSTRUCTION if name.model else NO_RESPONSE)(name=repr(known), benchmark=slug)
            elif name.model:
                what = NO_RESPONSE_OF(model=repr(name.model), name=repr(name.instruction_id), benchmark=slug)
            elif self._by_item.get(name.item):
                raise place.bad(SEVERAL_RESPONSES(benchmark=slug, name=repr(name.item)), NAME_MODEL())
            else:
                what = NO_RESPONSE(name=repr(name.item), benchmark=slug)
            raise place.bad(what, LOAD_FIRST())
        if name.instruction_id in self.instructions:
            return self.instructions.category_of(name.instruction_id)
        return category.pk if category else None

    def create(self, names: Iterable[tuple[Place, ItemName]]) -> None:
        """Rows for those that have none, in the order in which they are named."""
        new = {name.key: (place, name) for place, name in names if self.find(name) is None}
        if not new:
            return
        self.instructions.load(
            InstructionRecord(place, name.instruction_id, None, name.category) for place, name in new.values()
        )
        samples: dict[tuple[str, str], int] = {}
        rows = []
        for _place, name in new.values():
            same = name.instruction_id, name.model
            sample = samples.get(same, len(self._by_model.get(same, ())))
            samples[same] = sample + 1
            rows.append(
                Response(
                    instruction_id=self.instructions[name.instruction_id],
                    model_id=self.models.find_or_create(name.model) if name.model else None,
                    sample=sample if name.model else 0,
                    run=self.run,
                    external_id=name.item,
                )
            )
        note_created(stored := Response.objects.bulk_create(rows))
        for row, (_place, name) in zip(stored, new.values(), strict=True):
            self._remember(row.pk, name)
