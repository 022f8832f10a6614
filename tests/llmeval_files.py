"""Small files in the layouts of LLMEval-1's and LLMEval-2's repositories, with texts and numbers of our own."""

import json

MODELS = ("GPT-4", "moss", "NewBing")
CRITERIA = ("fluency", "accuracy", "logicality", "informativeness", "harmlessness")
STAR_HEAD = "id,question_uuid,llm_name,dialog_uuid,user_id,user_type,metric,score\n"
PAIR_HEAD = "id,question_uuid,llm_name_1,llm_name_2,user_id,user_type,choice\n"


def dialog(question, model, words, *, hint="", **more):
    turns = [{"role": "user", "content": f"What about {question}?"}, {"role": "llm", "content": words}]
    named = {"question_uuid": question, "dialog_uuid": f"{model}_{question}", "llm_name": model}
    return {**named, "dialog": turns, "hint": hint, **more}


def star_rows(*answers):
    """Lines of a table of stars, from (question, model, user, type of user, the five stars)."""
    rows = [
        (question, model, f"{model}_{question}", user, kind, metric, star)
        for question, model, user, kind, stars in answers
        for metric, star in zip(CRITERIA, stars, strict=True)
    ]
    return STAR_HEAD + "".join(f"{n},{','.join(map(str, row))}\n" for n, row in enumerate(rows, start=1))


def write_llmeval1(root):
    """Two questions, three models; GPT-4 rated one reply twice, and two of three persons are left after denoising."""
    data = root / "data"
    data.mkdir(parents=True)
    questions = ("Math-Solving_1", "Story_Generation_2")
    dialogs = [dialog(q, m, "word " * (n * 40 + 10), hint="42") for q in questions for n, m in enumerate(MODELS)]
    (data / "dialogs.json").write_text(json.dumps(dialogs, indent=1), encoding="utf-8")
    judged = [(q, m, -1, -1, (3, 3 - n, 3 - n, 3, 3)) for q in questions for n, m in enumerate(MODELS)]
    again = (questions[0], "NewBing", -1, -1, (3, 3, 3, 3, 3))
    (data / "分项测评_gpt4.csv").write_text(star_rows(*judged, again), encoding="utf-8")
    people = [(q, m, user, 0, (3, 2, 2, 3, 3)) for q in questions for m in MODELS for user in (7, 8)]
    noise = [(q, m, 9, 0, (1 + n, 1 + 2 * n, 1 + 2 * n, 1 + n, 1 + n)) for n, q in enumerate(questions) for m in MODELS]
    (data / "分项测评_manual.csv").write_text(star_rows(*people, *noise), encoding="utf-8")
    (data / "分项测评_manual_denoised.csv").write_text(star_rows(*people), encoding="utf-8")
    pairs = [("GPT-4", "moss", "A"), ("moss", "NewBing", "C"), ("GPT-4", "NewBing", "D"), ("NewBing", "moss", "B")]
    for who, user, kind in (("gpt4", -1, -1), ("manual", 7, "crowd"), ("manual_denoised", 7, "crowd")):
        rows = [f"{n},{questions[0]},{a},{b},{user},{kind},{c}\n" for n, (a, b, c) in enumerate(pairs, start=1)]
        (data / f"对比测评_{who}.csv").write_text(PAIR_HEAD + "".join(rows), encoding="utf-8")
    return root


def write_llmeval2(root, **more):
    """Two subjects with an objective and a subjective question each, two models, stars by people and by GPT-4."""
    for folder, gain in (("human-score", 0), ("gpt-score", 1)):
        place = root / "results" / folder
        place.mkdir(parents=True)
        for subject in ("Law", "Chinese_Language_and_Literature"):
            rows = []
            for n, model in enumerate(("GPT4", "360")):
                objective = {"Correctness": 3 if n == 0 else 1 + gain * 2, "Explanation Correctness": 2 - n}
                subjective = {"Accuracy": 5 - 2 * n, "Fluency": 3, "Logicality": 2 + gain, "Informativeness": 3 - n}
                rows.append(dialog(f"{subject}_1", model, "yes", hint="yes", type="A", stars=objective, **more))
                rows.append(dialog(f"{subject}_2", model, "well", type="B", stars=subjective, **more))
            (place / f"{subject}_data.json").write_text(json.dumps(rows, indent=2), encoding="utf-8")
    return root
