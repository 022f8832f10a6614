"""The files that the pages of docs/benchmarks name, small, where they name them; the repositories of benchmarks are cut."""

import csv
import json
import shutil

from tests.conftest import shared_path
from tests.generation.importers.href_files import write_href, write_parquet
from tests.generation.importers.wildbench_files import (
    HAIKU,
    pair_row,
    pairs_of,
    put,
    score_row,
    scores_of,
    task_row,
    task_rows,
)
from tests.llmeval_files import write_llmeval1, write_llmeval2

CHATS = ("follows_instructions", "complete_length", "understandable", "accurate", "flawless")
"""Keys that the checklists of all chats share."""


def write_files(writer, place):
    writer(place)
    put(place, "script.json", json.dumps({"seed": 1, "writes": 200}))


def hellobench(place):
    """The cut repository, with one model's stories once more as those for 4,000 and 16,000 words."""
    root = cut_clone("hellobench", place / "HelloBench")
    task = "heuristic_text_generation"
    constrained = root / "data" / "length_constrained_data"
    constrained.mkdir()
    for length in ("4k", "16k"):
        shutil.copyfile(root / "data" / "main_data" / f"{task}.jsonl", constrained / f"{task}_{length}.jsonl")
        for kind in ("generations", "judgements"):
            results = root / "results" / kind
            target = results / "length_constrained_exp" / "claude35"
            target.mkdir(parents=True, exist_ok=True)
            story = results / "main_exp" / "claude35" / f"{task}_results.jsonl"
            shutil.copyfile(story, target / f"{task}_{length}_results.jsonl")
    chats = root / "data" / "main_data" / "chat.jsonl"
    names = [json.loads(line)["id"] for line in chats.read_text(encoding="utf-8").splitlines()]
    rows = []
    for number, name in enumerate(names):
        for rater, moved in zip("opqrstuv", range(8), strict=True):
            scores = [(number + moved * (n + 1) + n * n) % 7 % 5 / 4 for n in range(len(CHATS))]
            whole = round(10 * sum(scores) / len(scores))
            for key, score in zip((*CHATS, "overall"), (*scores, whole), strict=True):
                rows.append({"id": name, "model": "claude35", "annotator": rater, "criterion": key, "score": score})
    table(place / "people.csv", rows)
    rows = [{"id": name, "model": "claude35", "perplexity": 8.5 + number} for number, name in enumerate(names)]
    table(place / "perplexity.csv", rows)


def href(place):
    write_href(place / "FOLDER")
    task = {"instruction": "Name a river.", "reference": "The Elbe.", "category": "Brainstorm"}
    put(place, "mine.jsonl", json.dumps(task) + "\n")


def llmeval1(place):
    write_llmeval1(place / "path" / "to" / "LLMEval-1")
    table(
        place / "stars.csv",
        [
            {
                "question_uuid": f"Math-Solving_{number}",
                "llm_name": "moss",
                "user_id": user,
                "metric": "Accuracy",
                "score": 3 - (number + user) % 3,
                "kind": kind,
                "seconds": 20 + number,
                "saw_hint": "yes" if user else "no",
            }
            for number in range(1, 4)
            for user, kind in enumerate(("onsite", "crowd", "public"))
        ],
    )


def llmeval2(place):
    write_llmeval2(place / "path" / "to" / "LLMEval-2")


def longgenbench(place):
    cut_clone("longgenbench", place / "LongGenBench")


def wildbench(place):
    """Tasks, grades, pairs against three baselines; a table of tasks, one of pairs, and a pool of conversations."""
    root = place / "path" / "to" / "WildBench"
    for model in ("m", "n"):
        grades = [score_row(f"t{n}", n + 2, f"Answer {n}", f"openai/{model}") for n in range(1, 5)]
        put(root, scores_of(model), grades)
    wildbench_pairs_and_tasks(place, root, [f"t{n}" for n in range(1, 4)], task_rows())


def cut_wildbench(place):
    """The cut repository's grades, with pairs of our own and with tasks that its rows are about."""
    root = cut_clone("wildbench", place / "path" / "to" / "WildBench")
    grades = next(root.glob("eval_results/*/score.v2/*/*.json"))
    names = [row["session_id"] for row in json.loads(grades.read_text(encoding="utf-8"))]
    tasks = [task_row(name, "Math", ["Reasoning"], ["Is the sum right?"]) for name in names]
    wildbench_pairs_and_tasks(place, root, names[:3], [*tasks, *task_rows()])


def wildbench_pairs_and_tasks(place, root, asked, tasks):
    for model in ("m", "n"):
        for baseline in ("gpt-4-turbo-2024-04-09", HAIKU, "Llama-2-70b-chat-hf"):
            texts = [(task, (f"Answer {n}", f"Words of {baseline}")) for n, task in enumerate(asked, start=1)]
            name = f"openai/{model}"
            rows = [pair_row(task, name, 1, name, baseline, texts=words) for task, words in texts]
            put(root, pairs_of(model, baseline), rows)
    write_parquet(place / "path" / "to" / "test-00000-of-00001.parquet", tasks)
    put(place, "tasks.jsonl", json_lines(tasks))
    labels = ("A++", "A+", "A=B", "B+")
    pairs = [(task["id"], label) for task, label in zip(tasks, labels, strict=False)]
    table(
        place / "pairs.csv",
        [{"session_id": task, "model_a": "m", "model_b": "n", "choice": label} for task, label in pairs],
    )
    put(
        place,
        "pool.jsonl",
        json_lines(
            {
                "conversation_hash": f"c{number}",
                "conversation": [{"role": "user", "content": asked}],
                "hashed_ip": f"u{number}",
                "levels": ["hard"],
            }
            for number, asked in enumerate(
                (
                    "Please explain how gravity bends the path of light near a very heavy star.",
                    "Write a short story about a clockmaker who refuses to sell the last of his clocks.",
                    "Compare three ways of sorting a long list and say when each of them is best.",
                )
            )
        ),
    )


def cut_llmeval1(place):
    """The cut repository's one table, of stars by GPT-4, in place of ours among the other files."""
    llmeval1(place)
    cut_clone("llmeval1", place / "path" / "to" / "LLMEval-1")


def cut_llmeval2(place):
    cut_clone("llmeval2", place / "path" / "to" / "LLMEval-2")


def cut_clone(name, root):
    shutil.copytree(shared_path(f"{name}/sample_repo"), root, copy_function=shutil.copyfile, dirs_exist_ok=True)
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)
    return root


def json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


WRITERS = {
    "hellobench": hellobench,
    "href": href,
    "llmeval1": llmeval1,
    "llmeval2": llmeval2,
    "longgenbench": longgenbench,
    "wildbench": wildbench,
}

CUT_WRITERS = {
    "llmeval1": (cut_llmeval1, "ChatYuan-Large"),
    "llmeval2": (cut_llmeval2, "AquilaChat-7b"),
    "wildbench": (cut_wildbench, "gemma-2b-it"),
}
"""Pages whose commands are typed on a cut copy of the repository too, and a model that our own files lack."""
