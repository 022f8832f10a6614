"""The generated part of the client is that of the current schema."""

import importlib.util
import inspect
import sys

import pytest

from plumbline.client.generated.operations import Operations
from tests.client.conftest import ROOT


@pytest.fixture(scope="module")
def client_code():
    found = importlib.util.spec_from_file_location("client_code", ROOT / "tests" / "client_code.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_it_is_of_the_current_schema(client_code):
    old = [name for name, text in client_code.generated().items() if (client_code.FOLDER / name).read_text() != text]
    assert old == [], "run make client"


def test_every_operation_has_a_method(client_code):
    operations = [one["operationId"] for path in client_code.schema()["paths"].values() for one in path.values()]
    methods = {name for name, _method in inspect.getmembers(Operations, inspect.isfunction)} - {"__init__"}
    assert len(operations) == len(set(operations)) > 80 and methods == set(operations)
    assert all(name.isidentifier() and "_w_" not in f"_{name}" for name in methods)


def test_the_generator_is_not_needed_to_use_it():
    assert "datamodel_code_generator" not in sys.modules
