"""The notebook of the main job, run as it stands on an empty server with its own worker, and what needs a worker."""

import json
import os
import subprocess
import sys

import pytest

from plumbline.client import Plumbline, PlumblineError
from tests.client.conftest import ROOT

NOTEBOOK = ROOT / "docs" / "notebooks" / "main_job.ipynb"


def code_cells() -> list[str]:
    """The code of the notebook, a cell each; it has no magic commands, so that Python runs it as it stands."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_the_notebook_holds_no_results_of_an_earlier_run():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    kept = [cell for cell in cells if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"])]
    assert kept == []


def test_the_main_job_from_an_empty_server_to_a_judged_leaderboard(served, tmp_path):
    said = {
        "PLUMBLINE_URL": served.url,
        "PLUMBLINE_TOKEN": served.token,
        "PLUMBLINE_ENDPOINT": json.dumps({"kind": "scripted"}),
        "PLUMBLINE_MODEL": json.dumps({"name": "scripted-judge", "parameters": {"script": {"seed": 7}}}),
    }
    program = tmp_path / "main_job.py"
    found = "{'board': board, 'scores': len(table), 'weights': fit['categories'][0]['weights'], 'card': card}"
    found = f"import json\nprint('FOUND', json.dumps({found} | {{'run': run.state(), 'study': study.state()}}))"
    program.write_text("\n\n".join([*code_cells(), found]))
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, **said, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.partition("FOUND ")[2])
    assert found["scores"] == 8 * 3 * 3 * 3
    assert sum(found["weights"]) == pytest.approx(100)
    assert (found["run"]["state"], found["run"]["done"]) == ("done", 24)
    assert (found["study"]["answers_of_people"], found["study"]["answers_of_judges"]) == (72, 24)
    assert {row["model"] for row in found["board"]["models"]} == {"careful", "brief", "vague"}
    assert [row["categories"]["essay"]["n"] for row in found["board"]["models"]] == [8, 8, 8]
    assert found["board"]["scripted_judges"] == ["first judge"]
    assert [one["study"] for one in found["card"]["studies"]] == ["short-essays"]


@pytest.fixture
def lab(served):
    with Plumbline(served.url, served.token) as server:
        yield server.workspace(served.workspace)


def test_a_file_is_loaded_by_a_worker_and_a_broken_one_leaves_nothing(lab, tmp_path):
    file = tmp_path / "more.csv"
    file.write_text("instruction,prompt,category\nm1,Say one.,essay\nm2,Say two.,essay\n")
    loaded = lab.load(file, kind="instructions", into="more")
    assert loaded["state"] == "loaded" and loaded["counts"]["created"] == 2
    assert {one["external_id"] for one in lab.benchmark("more").instructions()} == {"m1", "m2"}
    with pytest.raises(PlumblineError):
        lab.load(file, kind="responses", into="more")


def test_an_export_is_made_by_a_worker_and_fetched(lab, tmp_path):
    lab.add(
        "ratings",
        [{"item": "a", "model": "m", "rater": "ann", "criteria": {"clear": 4}}],
        into="exported",
        options={"scale": "*=1:5"},
    )
    saved = lab.study("exported").export(tmp_path / "answers.csv", kind="csv")
    header, row = saved.read_text(encoding="utf-8-sig").splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["clear"] == "4.0"


def test_a_study_goes_away_and_comes_back_from_its_archive(lab, tmp_path):
    rows = [
        {"item": f"moved-{n}", "model": "mover", "rater": "bea", "criteria": {"clear": 1 + n % 5}} for n in range(6)
    ]
    stored = lab.add("ratings", rows, into="moved", options={"scale": "*=1:5"})
    archive = lab.study("moved").export(tmp_path / "moved.zip", kind="archive", texts=True)
    with pytest.raises(PlumblineError, match="already"):
        lab.load_archive(archive)
    lab._operations.undo_loading(stored["imported"])
    loaded = lab.load_archive(archive)
    assert (loaded["state"], loaded["study"], loaded["rows"]["annotation.score"]) == ("loaded", "moved", 6)
