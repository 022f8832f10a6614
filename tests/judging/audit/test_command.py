"""The command: exit statuses, formats, languages, hostile cells, broken files, and no Django."""

import gzip
import json
import re
import subprocess
import sys
import time
from html.parser import HTMLParser

import pytest
from django.conf import settings
from hypothesis import given, strategies as st

from core.errors import UserError
from judging.audit.auditing import audit
from judging.audit.command import main
from judging.audit.roles import AuditOptions
from tests.judging.audit.tables import as_long, pairs, scores, write

HOSTILE = "</title><script>alert(1)</script><img src=//x.example onerror=alert(2)>\u202e\x1b[31m\"' &amp; =cmd()"


def test_the_exit_status_says_clean_finding_or_error(tmp_path, capsys):
    assert main([str(write(tmp_path / "a.csv", scores(items=60, seed=0)))]) == 0
    assert "No finding" in capsys.readouterr().out
    assert main([str(write(tmp_path / "b.csv", scores(items=60, seed=0, severity=-1.0)))]) == 2
    assert "This is a finding" in capsys.readouterr().out
    assert main([str(tmp_path / "missing.csv")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    for wrong in ([], ["a.csv", "--colour"], ["a.csv", "--language", "fr"], ["a.csv", "--json", "more"]):
        with pytest.raises(SystemExit) as ended:
            main(wrong)
        assert ended.value.code == 1


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.gz", "t.tsv", "t.json", "t.json.gz", "t.jsonl", "t.jsonl.gz", "t.parquet"]
)
def test_every_format_gives_the_same_audit(tmp_path, capsys, name):
    expected = audit(write(tmp_path / "first.csv", pairs(items=60, seed=1)), AuditOptions())
    assert main([str(write(tmp_path / name, pairs(items=60, seed=1))), "--json"]) in (0, 2)
    found = json.loads(capsys.readouterr().out)
    assert [one["p"] for one in found["checks"]] == [one.p for one in expected.checks]
    assert found["kind"] == "pairs" and found["items"] == 60 and found["findings"] == len(expected.findings)


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]


def test_what_a_file_holds_neither_runs_nor_leaves_the_page_or_the_terminal(tmp_path, capsys):
    rows = []
    for row in scores(items=30, seed=2, severity=1.0):
        renamed = {f"judge {HOSTILE}" if name == "gpt4_score" else name: value for name, value in row.items()}
        rows.append({**renamed, "model": f"{row['model']}{HOSTILE}"})
    out = tmp_path / "page.html"
    assert main([str(write(tmp_path / "t.csv", rows)), "--html", str(out)]) == 2
    printed, text = capsys.readouterr().out, out.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert not {"script", "img", "link", "iframe", "object", "a", "form"} & set(page.tags)
    assert not [a for a in page.attributes if a[1].startswith("on") or a[1] in ("src", "href", "action", "style")]
    assert "&lt;script&gt;alert(1)" in text and "<script" not in text
    assert "\u202e" not in text + printed and "\x1b" not in text + printed
    assert "Content-Security-Policy" in text and not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert page.tags.count("figure") == 2


def test_the_page_and_the_text_come_in_chinese(tmp_path, capsys, monkeypatch):
    file, out = str(write(tmp_path / "t.csv", pairs(items=60, seed=3, first=0.5))), tmp_path / "page.html"
    assert main([file, "--html", str(out), "--language", "zh-hans"]) == 2
    assert "这是一个问题" in capsys.readouterr().out and '<html lang="zh-hans">' in out.read_text(encoding="utf-8")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    main([file])
    assert "发现问题" in capsys.readouterr().out
    main([file, "--language", "en"])
    assert "Findings" in capsys.readouterr().out


CSV = b"item_id,human,gpt4\n"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.csv", b"", "the file is empty"),
        ("t.csv", CSV, "no rows below its header"),
        ("t.csv.gz", gzip.compress(CSV + b"1,2,3\n" * 99, mtime=0)[:30], "the gzip file ends early"),
        ("t.csv", "item_id,human\n1,2".encode("utf-16"), "UTF-16"),
        ("t.parquet", b"PAR1 and then nothing", "not valid Parquet"),
        ("t.json", b'[{"a": 1}', "neither a comma nor a closing bracket"),
        ("t.txt", CSV, "the name does not end in"),
        ("t.csv", b"item_id,colour\n1,red\n2,blue\n", "no column for judges was found"),
        ("t.csv", CSV + b"".join(b"%d,much,word%d\n" % (n, n) for n in range(30)), "no column for judges was found"),
        ("t.csv", b"item_id,rater,score\n" + b"".join(b"%d,ann,word%d\n" % (n, n) for n in range(30)), "holds neither"),
        ("t.csv", b"id,model_1,model_2,human,judge_x\n" + b"1,a,b,better,2\n2,a,b,1,2\n" * 9, "says for no side"),
        ("t.csv", CSV + b",,\n" * 5, "was found"),
    ],
)
def test_a_file_that_cannot_be_audited_is_said_in_one_sentence(tmp_path, capsys, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    assert main([str(tmp_path / name), "--html", str(tmp_path / "out.html")]) == 1
    said = capsys.readouterr()
    assert sentence in said.err and said.err.count("\n") == 1 and said.out == ""
    assert not (tmp_path / "out.html").exists()


def test_a_page_that_cannot_be_written_and_rows_that_cannot_be_read_are_said(tmp_path, capsys):
    file = write(tmp_path / "t.csv", scores(items=30, seed=4))
    assert main([str(file), "--html", str(tmp_path / "none" / "out.html")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    file.write_text(file.read_text() + "i1,gpt-4o\n")
    main([str(file)])
    assert "Rows that could not be read and were left out: 1; the first: t.csv line 122" in capsys.readouterr().out


def test_it_starts_without_django_and_takes_a_large_table_in_seconds(tmp_path):
    """The limit is wide of the goal of 5 s, which docs/performance.md measures: a busy machine is no failure."""
    file = write(tmp_path / "t.csv", as_long(scores(items=420, seed=5)))
    code = (
        f"import sys; from judging.audit.command import main; status = main([{str(file)!r}]); "
        "print([name for name in ('django', 'celery', 'pandas', 'config') if name in sys.modules], status)"
    )
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=settings.BASE_DIR, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1].startswith("[]") and time.perf_counter() - begun < 60
    assert "Rows: 10,080" in done.stdout


def test_manage_py_runs_it_and_lists_it(tmp_path):
    file = str(write(tmp_path / "t.csv", scores(items=60, seed=0, severity=-1.0)))
    done = subprocess.run(
        [sys.executable, "manage.py", "audit", file], cwd=settings.BASE_DIR, capture_output=True, check=False
    )
    assert done.returncode == 2, done.stderr
    done = subprocess.run(
        [sys.executable, "manage.py", "audit", "--wrong"],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "manage.py audit" in done.stderr


CELLS = st.sampled_from(
    ["", "1", "2", "3", "4.5", "tie", "a", "gpt-4", "nan", "inf", "-1e308", "1e308", "=1+1", "好", "\x00", "0"]
)
NAMES = [
    "item_id",
    "model",
    "model_1",
    "model_2",
    "rater",
    "human",
    "annotator1",
    "annotator2",
    "gpt4",
    "judge_x",
    "score",
    "criterion",
    "response_length",
    "position",
    "response",
    "kind",
    "note",
]


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique=True), st.data())
def test_whatever_the_shape_there_is_a_report_or_one_sentence(tmp_path_factory, names, data):
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(names, CELLS)), min_size=1, max_size=30))
    file = write(tmp_path_factory.mktemp("shapes") / "t.jsonl", rows)
    said = ""
    try:
        report = audit(file, AuditOptions())
    except UserError as error:
        said = str(error)
    if said:
        assert "\n" not in said
        return
    assert report.rows == len(rows) and all(0 <= one.p <= one.corrected <= 1 for one in report.checks)
    assert all(one.effect.value == one.effect.value for one in report.checks)
