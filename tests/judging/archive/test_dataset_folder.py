"""The Hugging Face dataset folder: Parquet beside a card whose front matter says what is in it."""

import zipfile

import pyarrow.parquet
import pytest
import yaml
from django.core.management import call_command

from annotation.models import Assignment
from judging.archive.answer_table import columns_of
from tests.calibration.pair_studies import pair_study

pytestmark = pytest.mark.django_db


def test_the_card_says_what_the_parquet_file_holds(tmp_path):
    study = pair_study(models=2, instructions=3)
    study.benchmark.licence = "CC BY 4.0"
    study.benchmark.save()
    Assignment.objects.filter(pk=Assignment.objects.first().pk).update(status="excluded")
    call_command("export", "duels", "--format", "huggingface", "--out", str(tmp_path / "d.zip"))
    with zipfile.ZipFile(tmp_path / "d.zip") as archive:
        archive.extractall(tmp_path / "d")
    card = (tmp_path / "d" / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(card.split("---\n")[1])
    table = pyarrow.parquet.read_table(tmp_path / "d" / "data" / "train-00000-of-00001.parquet")
    assert front["license"] == "cc-by-4.0"
    assert [one["name"] for one in front["dataset_info"]["features"]] == table.column_names
    assert list(columns_of(study, texts=True)) == table.column_names
    assert front["dataset_info"]["splits"] == [
        {
            "name": "train",
            "num_bytes": (tmp_path / "d" / "data" / "train-00000-of-00001.parquet").stat().st_size,
            "num_examples": 9,
        }
    ]
    assert table.num_rows == 9 and table.column("not_counted").to_pylist().count("excluded") == 1
