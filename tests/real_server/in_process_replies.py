"""Asks a model in this process through the same interface as a server; prints what came as JSON.

Run in the environment that holds vLLM, which has no Django: python in_process_replies.py MODEL
"""

import asyncio
import json
import sys

from generation.llm.errors import ChatError
from generation.llm.in_process import InProcessChat
from generation.llm.requests import Request

OPTIONS = {"max_model_len": 4096, "dtype": "float32", "enforce_eager": True, "max_num_seqs": 16}
SCHEMA = {
    "type": "object",
    "properties": {"bird": {"type": "string", "enum": ["kestrel", "plover"]}},
    "required": ["bird"],
    "additionalProperties": False,
}
HELLO = [{"role": "user", "content": "Hello"}]


async def replies(model: str) -> dict[str, object]:
    chat = InProcessChat(model, OPTIONS)
    greedy = {"temperature": 0.0, "max_tokens": 8}
    asked = [chat.complete(Request("tiny", HELLO, greedy)) for _ in range(6)]
    plain = await asyncio.gather(*asked)
    bird = {"temperature": 0.0, "max_tokens": 64}
    structured = await chat.complete(Request("tiny", HELLO, bird, schema=SCHEMA, structured=True))
    said = [*HELLO, {"role": "assistant", "content": "The river"}]
    open_end = {"max_tokens": 1, "add_generation_prompt": False, "continue_final_message": True}
    scored = await chat.prompt_log_probabilities(Request("tiny", said, open_end))
    long = Request("tiny", [{"role": "user", "content": "river house " * 2500}], greedy)
    mixed = await asyncio.gather(
        chat.complete(Request("tiny", HELLO, greedy)), chat.complete(long), return_exceptions=True
    )
    problems = {}
    for name, request in {
        "unknown parameter": Request("tiny", HELLO, {"max_tokens": 4, "warmth": 1}),
        "too long": long,
    }.items():
        try:
            await chat.complete(request)
        except ChatError as error:
            problems[name] = type(error).__name__
    await chat.close()
    return {
        "texts": [reply.text for reply in plain],
        "tokens": [[reply.input_tokens, reply.output_tokens, reply.finish_reason] for reply in plain],
        "structured": structured.text,
        "scores": scored.log_probabilities,
        "prompt_tokens": scored.reply.input_tokens,
        "problems": problems,
        "mixed": [type(one).__name__ for one in mixed],
    }


if __name__ == "__main__":
    print("RESULT " + json.dumps(asyncio.run(replies(sys.argv[1]))))
