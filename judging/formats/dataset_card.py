"""The card of a Hugging Face dataset folder with a study's answers, and the format itself. PURE."""

from collections.abc import Mapping

from judging.formats.answers import Answered, Files, WriteOptions
from judging.formats.writer import Writer

PARQUET = "data/train-00000-of-00001.parquet"


def dataset_card(title: str, licence: str, columns: Mapping[str, str], rows: int, size: int) -> str:
    """Return README.md with the front matter that Hugging Face reads; `columns` are types by name, `size` is in bytes."""
    features = [f"  - name: {_quoted(name)}\n    dtype: {kind}" for name, kind in columns.items()]
    front = [
        "---",
        f"license: {licence or 'other'}",
        "dataset_info:",
        "  features:",
        *features,
        "  splits:",
        "  - name: train",
        f"    num_bytes: {size}",
        f"    num_examples: {rows}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        "    path: data/train-*",
        "---",
    ]
    body = [
        "",
        f"# {' '.join(title.split())}",
        "",
        "Each row is one answer of a rater or a judge. Raters are named by pseudonym. A column for each criterion has the",
        "value on its own scale; in a pair a value is positive where response A is better, whatever was shown first. The",
        "column `not_counted` says why an answer does not count in results, and is empty where it does.",
        "",
        "Check before you publish: the licence, whether raters agreed to publication, and what the texts contain.",
        "",
    ]
    return "\n".join(front + body)


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_table(answered: Answered, files: Files, options: WriteOptions) -> int:
    """Raise: the rows of this format are those of the table of answers, which judging/archive writes."""
    raise NotImplementedError


HUGGING_FACE = Writer("huggingface", "Hugging Face dataset", write_table, several=True, texts=True, table=True)
