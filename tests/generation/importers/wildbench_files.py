"""A small clone of WildBench's repository and its tasks, in the layouts of the repository, with words of our own."""

import json

JUDGE = "gpt-4-turbo-2024-04-09"
GPT4T, HAIKU, LLAMA = JUDGE, "claude-3-haiku-20240307", "Llama-2-70b-chat-hf"
CUT_PAIR = ("words... (truncated)", "of the baseline")
TASKS = (
    ("t1", "Math", ["Reasoning"], ["Is the sum right?", "Is each step shown?"]),
    ("t2", "Coding & Debugging", [], ["Does the code run?"]),
    ("t3", "Creative Writing", ["Editing", "Coding & Debugging"], ["Is it a poem?"]),
    ("t4", "Advice seeking", ["Math"], []),
)


def task_row(name, primary, secondary, checklist, /, **changed):
    messages = [
        {"role": "user", "content": f"First question of {name}", "language": "English", "redacted": False},
        {"role": "assistant", "content": "First answer", "language": "English", "redacted": False},
        {"role": "user", "content": f"Second question of {name}", "language": "English", "redacted": False},
    ]
    return {
        "id": name,
        "session_id": f"session-{name}",
        "conversation_input": messages,
        "checklist": checklist,
        "primary_tag": primary,
        "secondary_tags": secondary,
        "intent": "To know.",
        **changed,
    }


def task_rows():
    return [task_row(*task) for task in TASKS]


def score_row(task, score, text="Some words\n", model="openai/m", /, **changed):
    return {
        "session_id": task,
        "parsed_result": {"strengths": "short", "weaknesses": "none", "score": str(score)},
        "meta_data": {},
        "model_test": model,
        "score": str(score),
        "model_output": text,
        **changed,
    }


def pair_row(task, winner, extent, model="openai/m", baseline=HAIKU, texts=("of m", "of the baseline"), **changed):
    return {
        "session_id": task,
        "parsed_result": {"analysis of A": "good", "reason of A>B": "clear", "choice": "A+"},
        "meta_data": {},
        "model_A": model,
        "model_B": baseline,
        "winner": winner,
        "extent": extent,
        "model_outputs": dict(zip((model, baseline), texts, strict=True)),
        **changed,
    }


def put(root, name, rows):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(rows if isinstance(rows, str) else json.dumps(rows, indent=1), encoding="utf-8")
    return path


def scores_of(model, version="v2.0522", judge=JUDGE):
    return f"eval_results/{version}/score.v2/eval={judge}/{model}.json"


def pairs_of(model, baseline=HAIKU, version="v2.0522", judge=JUDGE):
    return f"eval_results/{version}/pairwise.v2/eval={judge}/ref={baseline}/{model}.json"
