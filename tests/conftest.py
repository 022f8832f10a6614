import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import translation
from hypothesis import HealthCheck, settings as hypothesis_settings

# A busy machine is no failure; in CI every run draws the same examples, elsewhere new ones.
hypothesis_settings.register_profile(
    "plumbline", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=os.environ.get("CI") == "true"
)
hypothesis_settings.load_profile("plumbline")

ON_A_DATABASE = {"db", "transactional_db", "live_server"}


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "leave out what says the same on every database"
    parser.addoption("--database-only", action="store_true", help=words)
    words = "of a test with parameters, run the first set alone, but for those about the database itself"
    parser.addoption("--first-sets", action="store_true", help=words)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = [item for item in items if _touches_a_database(item)] if config.getoption("--database-only") else items
    if config.getoption("--first-sets"):
        kept = _first_sets(kept)
    left = set(kept)
    if without := [item for item in items if item not in left]:
        config.hook.pytest_deselected(items=without)
        items[:] = kept


EVERY_SET = (
    "tests/annotation/assignment/test_parallel.py",
    "tests/annotation/counters/",
    "tests/config/test_busy.py",
    "tests/core/db/",
    "tests/generation/execution/",
    "tests/judging/runs/test_preparing_killed.py",
)
"""What asks most of a database: locks, counters kept by triggers, lost connections, several processes at one row."""


def _first_sets(items: list[pytest.Item]) -> list[pytest.Item]:
    seen: set[str] = set()
    kept = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test not in seen or test.startswith(EVERY_SET):
            kept.append(item)
        seen.add(test)
    return kept


ONE_DATABASE = (
    "tests/accounts/api/test_tokens.py",
    "tests/annotation/api/",
    "tests/annotation/authoring/",
    "tests/annotation/drafting/",
    "tests/annotation/importing/test_load_real_tables.py",
    "tests/annotation/questionnaires/",
    "tests/annotation/rubrics/",
    "tests/annotation/uploads/test_every_mistake.py",
    "tests/annotation/web/",
    "tests/calibration/management/",
    "tests/calibration/reports/test_degenerate.py",
    "tests/calibration/web/",
    "tests/client/",
    "tests/docs/",
    "tests/generation/curation/",
    "tests/generation/web/",
    "tests/judging/alignment/",
    "tests/judging/api/",
    "tests/judging/archive/test_equal_numbers.py",
    "tests/judging/cards/",
    "tests/judging/comparison/",
    "tests/judging/documents/",
    "tests/judging/leaderboards/",
    "tests/judging/probes/",
    "tests/judging/published/",
    "tests/judging/runs/test_bad_inputs.py",
    "tests/judging/test_other_answers.py",
    "tests/judging/trials/",
    "tests/judging/web/",
)
"""Pages, addresses of the API and commands over what other tests store and compute on both databases: on SQLite alone.

tests/large looks at every page of a lead on both, and tests/benchmarks/fuzz.py calls every address on either.
"""


def _touches_a_database(item: pytest.Item) -> bool:
    if item.get_closest_marker("one_database") or item.nodeid.startswith(ONE_DATABASE):
        return False
    marked = item.get_closest_marker("django_db") is not None
    return marked or bool(ON_A_DATABASE & set(getattr(item, "fixturenames", ())))


SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def shared_path(name: str = "") -> Path:
    """A file of the shared real data; skips where it is absent, fails where CI must have it."""
    path = SHARED / name
    if not path.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must have {path}")
        pytest.skip(f"the shared data is not here: {path}")
    return path


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    return shared_path


@pytest.fixture(autouse=True)
def quick_passwords(settings: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hashing as slowly as in production would take most of the suite's time; tests beside this one take no slots."""
    settings.HASHING_DIR = tmp_path_factory.getbasetemp() / "hashing"  # type: ignore[attr-defined]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # type: ignore[attr-defined]


os.environ.setdefault("PLUMBLINE_BIND", "127.0.0.1")
"""Servers and workers that tests start are those of one person's machine."""


@pytest.fixture(autouse=True)
def on_loopback(settings: object) -> None:
    """Model servers of tests listen on 127.0.0.1, as those of a single user do."""
    settings.ON_LOOPBACK = True  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def files_looked_up_when_asked_for(settings: object) -> None:
    """Every client of a test loads the middleware anew, which would list all static files each time."""
    settings.WHITENOISE_AUTOREFRESH = True  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def in_english() -> None:
    """A page asked for in Chinese by an earlier test leaves its language behind in the thread."""
    translation.activate("en")


@pytest.fixture(autouse=True)
def own_journal(settings: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Replies that wait to be stored are kept beside no one's data."""
    settings.JOURNAL_DIR = tmp_path_factory.getbasetemp() / "journal"  # type: ignore[attr-defined]
