import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

# A busy machine is no failure; in CI every run draws the same examples, elsewhere new ones.
hypothesis_settings.register_profile(
    "plumbline",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
hypothesis_settings.load_profile("plumbline")

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
def quick_passwords(settings: object) -> None:
    """Hashing as slowly as in production would take most of the suite's time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # type: ignore[attr-defined]
