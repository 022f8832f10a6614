"""Runs, reports and sweeps stand in queues of their own, so that none holds up another."""

from contextlib import ExitStack
from threading import Event

import pytest
from celery import Celery, current_app
from celery.contrib.testing.worker import start_worker
from celery.signals import setup_logging
from django.conf import settings

from accounts.management.commands import serve

QUEUES = {settings.RUNS, settings.REPORTS, settings.SWEEPS}


def test_every_task_is_routed_to_a_queue_that_a_worker_takes_from():
    current_app.loader.import_default_modules()
    # Tests before this one may have tasks of their own.
    own = {name for name in current_app.tasks if not name.startswith(("celery.", "test."))}
    assert own == set(settings.CELERY_TASK_ROUTES)
    assert {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()} == QUEUES
    assert {queue.name for queue in settings.CELERY_TASK_QUEUES} == set(serve.THREADS) == QUEUES


def test_each_queue_has_a_process_and_none_needs_a_scheduler():
    commands = serve._workers()
    taken = [command[command.index("-Q") + 1] for command in commands.values()]
    assert sorted(taken) == sorted(QUEUES)
    assert not any("--beat" in command for command in commands.values())
    assert len({command[command.index("-n") + 1] for command in commands.values()}) == 3


@pytest.fixture
def app(tmp_path):
    """An app with the routes of the settings and messages as files, whose tasks wait for events."""
    (tmp_path / "messages").mkdir()
    own = current_app._get_current_object()
    app = Celery("queues", broker="files://", set_as_current=False)
    app.conf.update(
        task_queues=settings.CELERY_TASK_QUEUES,
        task_default_queue=settings.CELERY_TASK_DEFAULT_QUEUE,
        task_routes=settings.CELERY_TASK_ROUTES,
        worker_prefetch_multiplier=settings.CELERY_WORKER_PREFETCH_MULTIPLIER,
        task_acks_late=settings.CELERY_TASK_ACKS_LATE,
        task_ignore_result=True,
        worker_hijack_root_logger=False,
        broker_transport_options={
            "data_folder_in": str(tmp_path / "messages"),
            "data_folder_out": str(tmp_path / "messages"),
            "control_folder": str(tmp_path / "control"),
            "polling_interval": 0.02,
        },
    )
    app.finalize()  # registers the product's tasks, which the tests replace

    def leave_logging_as_it_is(**_given):
        """Where somebody listens to this signal, Celery configures nothing."""

    setup_logging.connect(leave_logging_as_it_is)
    yield app
    setup_logging.disconnect(leave_logging_as_it_is)
    app.close()
    # A worker makes its app the current one and the default, by which later tests would find the tasks of these.
    own.set_current()
    own.set_default()


def task_of(app, name, act):
    app.tasks.pop(name)
    return app.task(name=name, shared=False)(act)


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("calibration.build_report", "judging.work"),
        ("calibration.build_report", "judging.sweep"),
        ("generation.work", "calibration.build_report"),
        ("judging.work", "generation.sweep"),
    ],
)
def test_long_work_of_one_kind_does_not_hold_up_another(app, long, short):
    begun, let_go, done = Event(), Event(), Event()

    def wait():
        begun.set()
        let_go.wait(30)

    def finish():
        done.set()

    long_task, short_task = task_of(app, long, wait), task_of(app, short, finish)
    queues = [settings.CELERY_TASK_ROUTES[name]["queue"] for name in (long, short)]
    with ExitStack() as stack:
        for queue in queues:
            stack.enter_context(
                start_worker(
                    app,
                    pool="threads",
                    concurrency=serve.THREADS[queue],
                    queues=[queue],
                    hostname=f"{queue}@here",
                    perform_ping_check=False,
                )
            )
        stack.callback(let_go.set)
        for _more_than_its_threads in range(serve.THREADS[queues[0]] + 2):
            long_task.delay()
        assert begun.wait(10)
        short_task.delay()
        assert done.wait(10) and not let_go.is_set()
