"""A small clone of WildBench in the database, by the loaders that every table goes through."""

import io

from django.core.management import call_command

from annotation.importing.instruction_rubrics import InstructionRubrics
from annotation.importing.preferences import PreferenceLoader
from annotation.importing.ratings import RatingLoader
from annotation.importing.study import Destination
from annotation.rubrics.scales import Rules, parse_scale
from core.tables.bad_rows import refuse
from generation.importers.records import InstructionRecord, PreferenceRecord, ResponseRecord
from generation.importers.wildbench import Wildbench
from generation.library.loading import Instructions, Responses, import_run
from generation.models import Benchmark


def load_clone(root, tasks=None):
    call_command("load_library", stdout=io.StringIO())
    benchmark = Benchmark.objects.get(slug="wildbench")
    for part in Wildbench(root, tasks).parts():
        records = list(part.records(refuse))
        if isinstance(records[0], InstructionRecord):
            Instructions(benchmark, compare=True).load(records)
            InstructionRubrics(benchmark).load(records, refuse)
        elif isinstance(records[0], ResponseRecord):
            Responses(Instructions(benchmark), import_run(benchmark, part.experiment)).load(records)
        else:
            _load_answers(benchmark, part, records)
    return benchmark


def _load_answers(benchmark, part, records):
    shape = part.study
    where = Destination(
        study=shape.slug, kind=shape.kind, benchmark="wildbench", experiment=shape.experiment, create_items=True
    )
    study, items = where.open(benchmark.workspace)
    rules = Rules(
        scales={key: parse_scale(text) for key, text in shape.scales.items()},
        overall=shape.overall,
        off_scale="unscored",
    )
    if isinstance(records[0], PreferenceRecord):
        PreferenceLoader(study, items, rules, both_bad=False).load(records, refuse)
    else:
        RatingLoader(study, items, rules).load(records, refuse)
