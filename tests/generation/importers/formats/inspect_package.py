"""inspect_ai.log for tests: the package itself where it is installed, else the part of it that the reader uses."""

import importlib.util
import json
import sys
import zipfile
from types import ModuleType, SimpleNamespace

INSTALLED = importlib.util.find_spec("inspect_ai") is not None


def provide(monkeypatch):
    """Make `import inspect_ai.log` give something that reads samples."""
    if INSTALLED:
        return
    package, log = ModuleType("inspect_ai"), ModuleType("inspect_ai.log")
    log.EvalSample = SimpleNamespace(model_validate=_sample)
    log.resolve_sample_attachments = _resolved
    package.log = log
    monkeypatch.setitem(sys.modules, "inspect_ai", package)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", log)


def take_away(monkeypatch):
    """Make `import inspect_ai.log` fail as where it is not installed."""
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)


def _text(content):
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content if "text" in part)


def _sample(row):
    if not isinstance(row["id"], int | str) or not isinstance(row["epoch"], int):
        raise ValueError("id and epoch")
    if not isinstance(row["target"], str | list) or not isinstance(row["input"], str | list):
        raise ValueError("target and input")
    output = dict(row.get("output") or {"choices": []})
    choices = [
        SimpleNamespace(stop_reason=one["stop_reason"], text=_text(one["message"]["content"]))
        for one in output.get("choices") or []
    ]
    usage, error = output.get("usage"), row.get("error")
    scores = row.get("scores")
    return SimpleNamespace(
        id=row["id"],
        epoch=row["epoch"],
        input=row["input"]
        if isinstance(row["input"], str)
        else [SimpleNamespace(role=turn["role"], text=_text(turn["content"])) for turn in row["input"]],
        choices=row.get("choices"),
        target=row["target"],
        output=SimpleNamespace(
            model=str(output.get("model", "")),
            choices=choices,
            completion=choices[0].text if choices else "",
            usage=SimpleNamespace(**usage) if usage else None,
            time=output.get("time"),
        ),
        scores=None if scores is None else {name: _score(score) for name, score in scores.items()},
        metadata=dict(row.get("metadata") or {}),
        error=None if error is None else SimpleNamespace(message=error["message"]),
        invalidation=row.get("invalidation"),
        attachments=dict(row.get("attachments") or {}),
    )


def _score(score):
    kept = {name: score.get(name) for name in ("answer", "explanation", "metadata")}
    return SimpleNamespace(value=score["value"], **kept)


def _resolved(sample, what):
    assert what == "core"
    for turn in sample.input if isinstance(sample.input, list) else []:
        turn.text = sample.attachments.get(turn.text.removeprefix("attachment://"), turn.text)
    return sample


def sample(name, reply, scores, *, epoch=1, **more):
    """A sample as inspect_ai writes it into a log."""
    return {
        "id": name,
        "epoch": epoch,
        "input": f"Ask {name}.",
        "target": "4",
        "messages": [
            {"content": f"Ask {name}.", "role": "user"},
            {"content": reply, "source": "generate", "role": "assistant"},
        ],
        "output": {
            "model": "gpt-4o-2024-08-06",
            "choices": [{"message": {"content": reply, "role": "assistant"}, "stop_reason": "stop"}],
            "completion": reply,
            "usage": {"input_tokens": 5, "output_tokens": 9, "total_tokens": 14},
            "time": 1.5,
        },
        "scores": scores,
        "metadata": {},
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
        **more,
    }


def header(*, epochs=1, model="openai/gpt-4o"):
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": "2026-01-01T00:00:00+00:00",
            "task": "arith",
            "dataset": {"name": "d", "samples": 1},
            "model": model,
            "config": {"epochs": epochs},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "stats": {"started_at": "", "completed_at": ""},
    }


def as_json(samples, **more):
    return json.dumps({**header(**more), "samples": samples}, indent=1)


def write_archive(path, samples, **more):
    """Write a .eval file, whose samples stand in the order in which they were finished."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps(header(**more)))
        for row in samples:
            archive.writestr(f"samples/{row['id']}_epoch_{row['epoch']}.json", json.dumps(row))
        archive.writestr("summaries.json", "[]")
        archive.writestr("header.json", json.dumps(header(**more)))
