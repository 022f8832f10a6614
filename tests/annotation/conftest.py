"""Calls at the same moment, each in a thread with its own connection."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from django.db import connections

from tests.many_connections import many_connections


@pytest.fixture
def at_once(tmp_path):
    """Runs calls at the same moment, each in a thread; what they returned. A call that raises fails the test.

    From the first call on, what is stored is read and written in such calls only.
    """
    with ExitStack() as stack:

        def run(*calls):
            if not run.begun:
                stack.enter_context(many_connections(tmp_path))
                run.begun = True
            gate = threading.Barrier(len(calls))

            def one(call):
                try:
                    gate.wait(30)
                    return call()
                finally:
                    connections.close_all()

            with ThreadPoolExecutor(len(calls)) as pool:
                return list(pool.map(one, calls))

        run.begun = False
        yield run
