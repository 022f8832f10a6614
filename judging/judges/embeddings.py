"""One call for the vectors of a question's texts, whose cosines are kept."""

import json
import math
import time
from collections.abc import Mapping, Sequence

from generation.endpoints.clients import endpoint_of, served_name
from generation.endpoints.grants import read_grants
from generation.endpoints.pricing import prices_of
from generation.execution.worker import ChatMaker
from generation.llm.protocol.prices import Spend
from generation.llm.requests import Chat, Reply, Request
from judging.judges.judge_calls import JudgeCall, OneCall, model_of, subject_of
from judging.methods.guided import GuidedQuestion
from judging.methods.pairs import embedding
from judging.methods.parsing import Unscored, Verdict
from judging.methods.prompts import estimated_tokens, request_hash
from judging.models import Judge, PlannedItem


class EmbeddingTransport(OneCall):
    """One call for three vectors. Their cosines with the reference are stored; the verdict follows from them."""

    corrects = False

    def __init__(self, judge: Judge) -> None:
        self.judge, self.model = judge, model_of(judge)
        self.endpoint = endpoint_of(self.model)
        read_grants(self.endpoint)
        self.prices = prices_of(self.model)
        self._chat: Chat | None = None

    def begin(self, item: PlannedItem, question: GuidedQuestion) -> JudgeCall | Unscored:
        messages = [{"role": "user", "content": text} for text in embedding.texts(question)]
        return JudgeCall(item=item, question=question, messages=messages)

    def prepare(self, call: JudgeCall) -> None:
        call.request = Request(model=served_name(self.model), messages=call.messages, subject=subject_of(call.item))
        call.request_hash = request_hash(
            model=self.model.name, messages=call.messages, parameters={"embed": True}, repeat=call.item.repeat
        )
        read = sum(estimated_tokens(message["content"]) for message in call.messages)
        call.reserve = Spend(1, read, self.prices.cost(read, 0))

    def shorten(self, call: JudgeCall, error: str) -> bool:
        return False

    def open(self, chat_for: ChatMaker) -> None:
        self._chat = chat_for(self.model)

    async def send(self, call: JudgeCall) -> Reply:
        assert self._chat is not None
        begun = time.monotonic()
        texts = [message["content"] for message in call.request.messages]
        found = await self._chat.embeddings(call.request.model, texts)
        text = json.dumps(plane_of(found.vectors))
        return Reply(text, "stop", found.input_tokens, 0, time.monotonic() - begun)

    async def close(self) -> None:
        if self._chat is not None:
            await self._chat.close()

    def parse(self, call: JudgeCall, reply: Reply) -> Verdict | Unscored:
        return embedding.decide(call.question, json.loads(reply.text)["vectors"])

    def correction(self, unscored: Unscored) -> Mapping[str, str]:
        return {}


def plane_of(vectors: Sequence[Sequence[float]]) -> dict[str, object]:
    """Return three vectors as vectors in a plane with the same cosines to the first: {"dimensions", "vectors"}.

    A zero vector stays one; vectors of different lengths are returned unchanged.
    """
    sizes = [math.hypot(*vector) for vector in vectors]
    if len(vectors) != 3 or len({len(vector) for vector in vectors}) != 1 or not sizes[0]:
        return {"dimensions": [len(vector) for vector in vectors], "vectors": [list(v) for v in vectors]}
    flat = [[1.0, 0.0]]
    for vector, size in zip(vectors[1:], sizes[1:], strict=True):
        if not size:
            flat.append([0.0, 0.0])
            continue
        cosine = math.fsum(a / sizes[0] * (b / size) for a, b in zip(vectors[0], vector, strict=True))
        cosine = max(-1.0, min(1.0, cosine))
        flat.append([cosine, math.sqrt(1.0 - cosine * cosine)])
    return {"dimensions": len(vectors[0]), "vectors": flat}
