"""Long texts are rendered once for all processes of a machine, and never shown stale."""

from pathlib import Path

import pytest

from annotation.texts import rendering
from annotation.texts.rendered_files import KEPT_FROM, kept, rendering_version

LONG = "# One\n\nSome words — 一些字 𝒳 — and so on.\n\n" * 100


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(rendering, "_folder", lambda: tmp_path)
    rendering.render_text.cache_clear()
    yield tmp_path
    rendering.render_text.cache_clear()


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_long_text_is_rendered_by_one_process_and_read_by_the_next(folder, monkeypatch):
    first = rendering.render_text(LONG)
    assert len(files(folder)) == 1
    assert first == rendering._rendered(LONG)
    rendering.render_text.cache_clear()
    monkeypatch.setattr(rendering, "_rendered", lambda text: pytest.fail("rendered again"))
    again = rendering.render_text(LONG)
    assert again == first
    assert all(hasattr(block, "__html__") for block in again.blocks)


def test_a_short_text_is_not_kept(folder):
    assert rendering.render_text("x" * (KEPT_FROM - 1)).words == 1
    assert files(folder) == []


def test_a_damaged_file_is_made_again(folder):
    first = rendering.render_text(LONG)
    (path,) = files(folder)
    for damaged in (b"", b"{", b"\xff\xfe"):
        path.write_bytes(damaged)
        rendering.render_text.cache_clear()
        assert rendering.render_text(LONG) == first


def test_without_a_folder_to_write_to_the_text_is_shown_all_the_same(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert kept(tmp_path / "file" / "below", LONG, lambda: {"made": True}) == {"made": True}


def test_lone_surrogates_are_kept_as_they_are(tmp_path):
    made = {"blocks": ["\ud800 stands alone"]}
    assert kept(tmp_path, LONG + "\ud800", lambda: made) == made
    assert kept(tmp_path, LONG + "\ud800", lambda: {}) == made


def test_another_way_of_rendering_is_another_folder(tmp_path):
    source = tmp_path / "rendering.py"
    source.write_text("one")
    before = rendering_version(source)
    source.write_text("two")
    assert rendering_version(source) != before
    assert rendering_version(Path(rendering.__file__)) == rendering_version(Path(rendering.__file__))
