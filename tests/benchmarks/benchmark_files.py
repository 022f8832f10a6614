"""Synthetic files of LLMEval-2 and WildBench in full size, in the layout of their repositories, for import.py."""

import json
import random
from pathlib import Path

from generation.importers.llmeval2 import SUBJECTS

QUESTIONS, MODELS = 40, 20
"""Questions of each subject, and models that answer them: 480 questions and 9,600 responses."""

CHARACTERS = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出"
    "就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"
)
OBJECTIVE = {"Correctness": (1, 3), "Explanation Correctness": (1, 2)}
SUBJECTIVE = {"Accuracy": (1, 5), "Informativeness": (1, 3), "Fluency": (1, 3), "Logicality": (1, 3)}
TASKS = 1024
"""Tasks of a score file of WildBench, of 4 kB each."""


def chinese(rng: random.Random, most: int) -> str:
    text = "".join(rng.choices(CHARACTERS, k=rng.randint(most // 8, most)))
    return "。".join(text[start : start + 24] for start in range(0, len(text), 24)) + "。"


def write_llmeval2(root: Path, seed: int) -> int:
    """Both folders of results and the dialogs without stars; returns the number of stars."""
    rng = random.Random(seed)
    stars = 0
    for subject in SUBJECTS.values():
        rows = []
        for question in range(1, QUESTIONS + 1):
            asked, hint = chinese(rng, 120), chinese(rng, 240)
            for model in range(MODELS):
                name = f"model{model:02}"
                dialog = [{"role": "user", "content": asked}, {"role": "llm", "content": chinese(rng, 800)}]
                rows.append(
                    {
                        "question_uuid": f"{subject}_{question}",
                        "dialog_uuid": f"{name}_{subject}_{question}",
                        "llm_name": name,
                        "dialog": dialog,
                        "hint": hint,
                        "type": "A" if question <= QUESTIONS * 3 // 4 else "B",
                    }
                )
        write_json(root / "data" / f"{subject}_data.json", rows)
        for folder in ("human-score", "gpt-score"):
            graded = []
            for row in rows:
                scales = OBJECTIVE if row["type"] == "A" else SUBJECTIVE
                graded.append(row | {"stars": {name: rng.randint(*ends) for name, ends in scales.items()}})
                stars += len(scales)
            write_json(root / "results" / folder / f"{subject}_data.json", graded)
    return stars


def write_wildbench(root: Path, words: list[str], seed: int) -> float:
    """One score file; returns its megabytes."""
    rng = random.Random(seed)

    def text(count: int) -> str:
        return " ".join(rng.choices(words, k=count)) + "."

    rows = []
    for number in range(TASKS):
        score = str(rng.randint(1, 10))
        rows.append(
            {
                "session_id": f"{number:016x}",
                "parsed_result": {"strengths": text(60), "weaknesses": text(80), "score": score},
                "meta_data": {"usage": {"prompt_tokens": 2543, "completion_tokens": 220, "total_tokens": 2763}},
                "model_test": "lab/model",
                "score": score,
                "model_output": text(rng.randint(100, 600)),
            }
        )
    path = root / "eval_results" / "v2.0522" / "score.v2" / "eval=gpt-4-turbo-2024-04-09" / "model.json"
    write_json(path, rows)
    return path.stat().st_size / 1e6


def write_json(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=2), encoding="utf-8")
