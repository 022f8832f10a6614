import pytest

from tests.installed.built_wheel import build_wheel, install


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def programs(wheel, tmp_path_factory):
    """The folder of the programs of an environment in which the wheel is installed."""
    return install(wheel, tmp_path_factory.mktemp("environment") / "env")
