"""Ratings that others published, audited as they are."""

import csv
import gzip

import pytest

from calibration.statistics.agreement.leave_one_out import leave_one_out, outer_leave_one_out
from judging.audit.auditing import audit
from judging.audit.ratings import read_ratings
from judging.audit.roles import AuditOptions, find_layout, read_table


def rows_of(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def test_pandalm_is_a_wide_table_of_pairs_whose_judges_agree_less_than_its_people(shared_data):
    path = shared_data("pandalm_wide.csv")
    report = audit(path, AuditOptions())
    assert report.kind == "pairs" and report.items == 999 and report.unreadable == 0
    assert report.people == ("annotator1", "annotator2", "annotator3")
    assert report.judges == ("judge_gpt35", "judge_pandalm7b")
    assert {(one.judge, one.kind) for one in report.findings} == {(name, "agreement") for name in report.judges}
    # As the statistics of the pages say, over tasks with a usable verdict.
    table = read_table(path)
    ratings = read_ratings(table, find_layout(table, AuditOptions()))
    labels = (2 * ratings.value).astype(int)
    judged = ratings.judges["judge_pandalm7b"]
    (found,) = [one for one in report.agreement if one.judge == "judge_pandalm7b"]
    assert found.ceiling.value == pytest.approx(leave_one_out(ratings.task, labels).rate, abs=1e-12)
    outer = outer_leave_one_out(ratings.task, labels, (2 * judged).astype(int)).rate
    assert found.value.value == pytest.approx(outer, abs=1e-12)


def test_hanna_is_a_long_table_with_criteria_and_repeats(shared_data, tmp_path):
    path = tmp_path / "hanna.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item_id", "system", "rater", "rater_kind", "criterion", "score"])
        for row in rows_of(shared_data("hanna_human.csv.gz")):
            if int(row["item_id"]) < 200:
                writer.writerow(
                    [row["item_id"], row["system"], row["annotator_slot"], "human", row["criterion"], row["score"]]
                )
        for row in rows_of(shared_data("hanna_judges.csv.gz")):
            if int(row["item_id"]) < 200 and row["judge"] == "ChatGPT":
                writer.writerow([row["item_id"], row["system"], row["judge"], "llm", row["criterion"], row["score"]])
    report = audit(path, AuditOptions())
    assert report.kind == "numbers" and report.judges == ("ChatGPT",) and len(report.people) == 3
    (agreement,) = report.agreement
    # People hardly agree here (the data's own description), and the judge is much more severe than they are.
    assert agreement.ceiling.value < 0.4
    (severity,) = [one for one in report.checks if one.kind == "severity"]
    assert severity.finding and severity.effect.value < -0.5
    (repeats,) = report.repeats
    assert not repeats.swapped and repeats.n == 200 * 6 * 3


def test_llmeval2_has_one_person_and_says_what_that_leaves_open(shared_data):
    report = audit(shared_data("llmeval2/stars.csv.gz"), AuditOptions())
    assert (report.people, report.judges, report.items) == (("human",), ("gpt4",), 240)
    assert report.agreement == () and report.alpha is None
    assert any("no task has the answers of two people" in text for text in report.cannot_say)
    assert all(one.population == "these" and one.effect.such is None for one in report.checks)


def test_dices_has_labels_without_an_order_and_no_judge(shared_data, tmp_path):
    report = audit(shared_data("dices350_crowd.csv.gz"), AuditOptions())
    assert report.kind == "labels" and len(report.people) == 123 and report.judges == ()
    assert report.alpha is not None and 0 < report.alpha.value < 0.3 and report.checks == ()
    path = tmp_path / "both.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item_id", "annotator_pos", "label"])
        writer.writerows(
            [r["item_id"], r["annotator_pos"], r["label"]] for r in rows_of(shared_data("dices350_crowd.csv.gz"))
        )
        writer.writerows(
            [r["item_id"], "expert", r["expert_label"]] for r in rows_of(shared_data("dices350_expert.csv"))
        )
    report = audit(path, AuditOptions(judges=("expert",)))
    (agreement,) = report.agreement
    assert agreement.measure == "share" and agreement.tasks == 350
    assert any("labels without an order" in text for text in report.cannot_say)
