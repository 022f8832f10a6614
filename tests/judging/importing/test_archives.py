"""Archives: what they hold is unpacked, and none writes elsewhere, follows a link, or fills the disk."""

import io
import stat
import tarfile
import zipfile

import pytest

from core.errors import UserError
from judging.importing.archives import Limits, root_in, unpack


@pytest.fixture
def into(tmp_path):
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def tarred(path, files, **extra):
    with tarfile.open(path, "w:gz") as packed:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
        for name, kind in extra.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            packed.addfile(info)
    return path


FILES = {"bench-main/data/a.jsonl": b"1\n", "bench-main/README": b"hello"}


@pytest.mark.parametrize(("make", "name"), [(zipped, "a.zip"), (tarred, "a.tar.gz"), (tarred, "A.TGZ")])
def test_an_archive_is_unpacked_and_its_only_folder_is_the_root(tmp_path, into, make, name):
    assert unpack(make(tmp_path / name, FILES), into) == []
    root = root_in(into)
    assert root == into / "bench-main"
    assert (root / "data" / "a.jsonl").read_bytes() == b"1\n"


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/tmp/out", "..\\out", "C:\\out"])
@pytest.mark.parametrize(("make", "ending"), [(zipped, "zip"), (tarred, "tar.gz")])
def test_a_path_that_leads_out_is_refused(tmp_path, into, make, ending, name):
    archive = make(tmp_path / f"a.{ending}", {name: b"x"})
    with pytest.raises(UserError, match="leads out of the archive"):
        unpack(archive, into)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"a.{ending}", "into"])
    assert list(into.iterdir()) == []


def test_links_are_named_and_not_followed(tmp_path, into):
    archive = tarred(
        tmp_path / "a.tar.gz", {"x": b"1"}, soft=tarfile.SYMTYPE, hard=tarfile.LNKTYPE, pipe=tarfile.FIFOTYPE
    )
    assert unpack(archive, into) == ["soft", "hard", "pipe"]
    assert [path.name for path in into.iterdir()] == ["x"]


def test_links_of_a_zip_are_named_and_not_followed(tmp_path, into):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr(link, "/etc/passwd")
        packed.writestr("x", "1")
    assert unpack(tmp_path / "a.zip", into) == ["link"]
    assert [path.name for path in into.iterdir()] == ["x"]


@pytest.mark.parametrize(("make", "ending"), [(zipped, "zip"), (tarred, "tar.gz")])
def test_a_bomb_is_stopped_while_it_is_written(tmp_path, into, make, ending):
    archive = make(tmp_path / f"a.{ending}", {"zeros": bytes(30_000_000)})
    assert archive.stat().st_size < 100_000
    limits = Limits(always=1_000_000)
    with pytest.raises(UserError, match=r"unpacks to more than \d+ MB"):
        unpack(archive, into, limits)
    assert sum(path.stat().st_size for path in into.iterdir()) <= 100 * archive.stat().st_size


def test_too_many_files_are_refused(tmp_path, into):
    archive = zipped(tmp_path / "a.zip", {f"f{number}": b"" for number in range(11)})
    with pytest.raises(UserError, match="holds more than 10 files"):
        unpack(archive, into, Limits(files=10))


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04broken", b"\x1f\x8b\x08broken"])
def test_a_damaged_archive_is_named(tmp_path, into, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match="is damaged or no archive of its kind"):
        unpack(tmp_path / name, into)


def test_an_archive_that_ends_early_is_named(tmp_path, into):
    archive = tarred(tmp_path / "a.tar.gz", {"x": bytes(range(256)) * 4000})
    archive.write_bytes(archive.read_bytes()[:-2000])
    with pytest.raises(UserError, match="is damaged"):
        unpack(archive, into)


def test_another_kind_and_an_empty_one_are_refused(tmp_path, into):
    (tmp_path / "a.rar").write_bytes(b"x")
    with pytest.raises(UserError, match=r"pack it as \.zip or \.tar\.gz"):
        unpack(tmp_path / "a.rar", into)
    with pytest.raises(UserError, match="holds no file"):
        unpack(zipped(tmp_path / "b.zip", {}), into)
