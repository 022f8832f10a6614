"""A judge's value that was off the scale is counted where its agreement on that criterion is shown."""

from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.models import Study
from calibration.reports.agreement import agreement_report

pytestmark = pytest.mark.django_db

ROWS = """item,rater,criterion,value
a,ann,clear,3
a,bob,clear,3
a,ann,fair,2
a,bob,fair,2
b,ann,clear,4
b,bob,clear,4
b,ann,fair,1
b,bob,fair,2
a,judge:j,clear,3
a,judge:j,fair,9
b,judge:j,clear,0.33
b,judge:j,fair,77
"""


def loaded(folder: Path) -> Study:
    file = folder / "rows.csv"
    file.write_text(ROWS)
    names = [f"--column={name}={name}" for name in ("item", "rater", "criterion", "value")]
    call_command(
        "load_table",
        "ratings",
        str(file),
        "--study=s",
        *names,
        "--scale=*=1:5",
        "--judge-prefix=judge:",
        "--off-scale=unscored",
    )
    return Study.objects.get(slug="s")


def test_unusable_values_are_counted_by_criterion(tmp_path: Path) -> None:
    # Of a: clear is usable, fair is not: one answer with an unusable value. Of b: neither is: unscored as a whole.
    study = loaded(tmp_path)
    clear = agreement_report(study, "clear").judges["j"]
    assert (clear.n, clear.unscored) == (1, 1)
    fair = agreement_report(study, "fair").judges["j"]
    assert (fair.n, fair.unscored) == (0, 2)
