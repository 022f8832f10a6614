"""A small clone of LongGenBench in its repository's layout, with words and numbers of our own."""

import json
from pathlib import Path

DIARY = {
    "prompt": "Nora keeps bees. Write her diary of four weeks.\n*** started ***\n#*# Week 1 (January 1st - January 7th):",
    "checks_once": {"2": "the visit to the dentist"},
    "checks_range": {"3-4": "a walking tour along the coast"},
    "checks_periodic": {"1-4/2": "the swimming lesson"},
    "type": "Week",
    "prefix": "#*# Week 1 (January 1st - January 7th):",
    "number": "4",
}
TOWER = {
    "prompt": "Design a tower of three floors.\n*** started ***\n#*# Floor 1:",
    "checks_once": {"1": "bakery", "3": "bakery"},
    "checks_range": {},
    "checks_periodic": {"2": "sky garden"},
    "type": "Floor",
    "prefix": "#*# Floor 1:",
    "number": 3,
}
CITY = {
    "prompt": "Design a city of 120 blocks.\n*** started ***\n#*# Block 1 (0, 0):",
    "checks_once": {"5": "museum"},
    "checks_range": {"12": "harbour", "24": "harbour"},
    "checks_periodic": {"40": "kiosk", "80": "kiosk", "120": "kiosk"},
    "type": "Block",
    "prefix": "#*# Block 1 (0, 0):",
    "number": 120,
}
STATIC = """Filename,Total Checks,Total Results,Total Yes,Ratio Results/Checks,Ratio Yes/Results,Ratio Yes/Checks,\
Average Word Count,CR
Tiny-1B_maxlen16000.json,40,30,12,0.75,0.4,0.3,811.5,82.5
Huge_16K.json,40,40,20,1.0,0.5,0.5,,100
"""


def output(task: dict[str, object], *blocks: str) -> dict[str, object]:
    """A row of a file of outputs; the first block goes on after the first line that the prompt ends with."""
    return {
        "input": task["prompt"],
        "checks_once": task["checks_once"],
        "checks_range": task["checks_range"],
        "checks_periodic": task["checks_periodic"],
        "type": task["type"],
        "number": task["number"],
        "output_blocks": list(blocks),
        "word_count": 12,
    }


def make_clone(root: Path) -> Path:
    """Write the data of both versions, one model's outputs to the short one, and the authors' counts."""
    (root / "Dataset").mkdir(parents=True)
    (root / "Evalution" / "results").mkdir(parents=True)
    _write(root / "Dataset" / "Dataset_short.json", [DIARY, TOWER])
    _write(root / "Dataset" / "Dataset_long.json", [CITY])
    weeks = (" Nora swims.", " Week 2: Nora sees the dentist.", " Week 3: Nora walks by the sea.")
    _write(root / "Evalution" / "results" / "Tiny-1B_maxlen16000.json", [output(DIARY, *weeks), output(TOWER, "")])
    (root / "Evalution" / "results" / "static.csv").write_bytes(STATIC.replace("\n", "\r\n").encode())
    return root


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text(json.dumps(rows, indent=4, ensure_ascii=False), encoding="utf-8")
