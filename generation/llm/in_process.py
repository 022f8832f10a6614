"""Call vLLM in this process instead of a server, for batches on the machine's own GPU.

Requires the optional extra: pip install vllm. Requests that arrive together are passed to LLM.chat
together. The model's served name is a folder or a name that vLLM knows; its parameter "engine" goes to vllm.LLM.
"""

import asyncio
import importlib.util
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from generation.llm.errors import Refused, ServerFailed, TooLong
from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.bodies import Vectors
from generation.llm.requests import PromptScores, Reply, Request


def _whole(least: int, most: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _number(least: float, most: float) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int | float) and type(value) is not bool and least <= value <= most


def _one_of(*names: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and value in names


def _is_boolean(value: object) -> bool:
    return type(value) is bool


GATHER_SECONDS = 0.05
NO_WHITE_SPACE = {"backend": "xgrammar", "disable_any_whitespace": True}
"""Under a grammar a model may write white space until its tokens are used up; this setting of vLLM prevents it."""
TOO_LONG = ("maximum context length", "max_model_len", "maximum model length")

ENGINE_OPTIONS: Mapping[str, Callable[[object], bool]] = {
    "max_model_len": _whole(1, 10_000_000),
    "max_num_seqs": _whole(1, 100_000),
    "max_num_batched_tokens": _whole(1, 10_000_000),
    "max_logprobs": _whole(0, 1_000),
    "tensor_parallel_size": _whole(1, 1_024),
    "pipeline_parallel_size": _whole(1, 1_024),
    "data_parallel_size": _whole(1, 1_024),
    "block_size": _whole(1, 1_024),
    "seed": _whole(0, 2**31 - 1),
    "gpu_memory_utilization": _number(0, 1),
    "kv_cache_memory_bytes": _whole(1, 2**50),
    "swap_space": _number(0, 4_096),
    "cpu_offload_gb": _number(0, 4_096),
    "dtype": _one_of("auto", "half", "float16", "bfloat16", "float", "float32"),
    "kv_cache_dtype": _one_of("auto", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"),
    "quantization": _one_of("awq", "awq_marlin", "gptq", "gptq_marlin", "fp8", "bitsandbytes", "compressed-tensors"),
    "tokenizer_mode": _one_of("auto", "slow", "mistral"),
    "enforce_eager": _is_boolean,
    "enable_prefix_caching": _is_boolean,
    "enable_chunked_prefill": _is_boolean,
    "enable_expert_parallel": _is_boolean,
    "disable_custom_all_reduce": _is_boolean,
    "disable_sliding_window": _is_boolean,
}
"""The arguments of vllm.LLM that a model's parameters may set: sizes and switches, never code, a file or a model."""
SAMPLING_OPTIONS = frozenset(
    (
        *("temperature", "top_p", "top_k", "min_p", "seed", "stop", "stop_token_ids", "bad_words", "ignore_eos"),
        *("max_tokens", "min_tokens", "presence_penalty", "frequency_penalty", "repetition_penalty"),
        *("logit_bias", "logprobs", "skip_special_tokens", "include_stop_str_in_output"),
    )
)
"""The arguments of vllm.SamplingParams that may be set."""

TEMPLATE_OPTIONS = ("add_generation_prompt", "continue_final_message")
"""Parameters of a request that vLLM's chat takes beside those of sampling."""

_engines: dict[str, Any] = {}
_lock = threading.Lock()


def installed() -> bool:
    return importlib.util.find_spec("vllm") is not None


def checked_engine(options: object) -> Mapping[str, Any]:
    """Return a model's options for vllm.LLM if each is known and has an allowed value. Raises Refused."""
    if not isinstance(options, Mapping):
        raise Refused(call_messages.ENGINE_VALUE(name="'engine'"))
    for name, value in options.items():
        if name not in ENGINE_OPTIONS:
            known = ", ".join(ENGINE_OPTIONS)
            raise Refused(call_messages.ENGINE_OPTION(name=repr(str(name)[:60]), known=known))
        if not ENGINE_OPTIONS[name](value):
            raise Refused(call_messages.ENGINE_VALUE(name=repr(name)))
    return options


def engine_named(model: str, options: Mapping[str, Any]) -> Any:
    """Return the vllm.LLM of this model, loaded once a process. Raises Refused if vLLM is absent or cannot load it."""
    try:
        import vllm
    except ImportError as error:
        raise Refused(call_messages.NOT_INSTALLED()) from error
    key = f"{model} {sorted(options.items())}"
    with _lock:
        if key not in _engines:
            try:
                _engines[key] = vllm.LLM(model=model, **{"structured_outputs_config": NO_WHITE_SPACE, **options})
            except Exception as error:
                raise Refused(call_messages.NOT_LOADED(model=model, words=str(error)[:1000])) from error
        return _engines[key]


class InProcessChat:
    """Collects the requests of a twentieth of a second and lets vLLM answer them as one batch."""

    def __init__(self, model: str, options: Mapping[str, Any]) -> None:
        self._model, self._options = model, dict(options)
        self._waiting: list[tuple[Request, asyncio.Future[Reply]]] = []
        self._collector: asyncio.Task[None] | None = None

    async def complete(self, request: Request) -> Reply:
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))
        if self._collector is None or self._collector.done():
            self._collector = asyncio.create_task(self._collect())
        return await answer

    async def embeddings(self, model: str, texts: Sequence[str]) -> Vectors:
        raise Refused(call_messages.NO_EMBEDDING_HERE())

    async def prompt_log_probabilities(self, request: Request) -> PromptScores:
        started = time.monotonic()
        scores, reply = await asyncio.to_thread(self._scored, request, started)
        return PromptScores(reply, scores)

    async def close(self) -> None:
        if self._collector is not None:
            self._collector.cancel()

    async def _collect(self) -> None:
        while self._waiting:
            await asyncio.sleep(GATHER_SECONDS)
            batch, self._waiting = self._waiting, []
            try:
                await self._answer(batch)
            except Exception as error:
                if len(batch) == 1:
                    self._refuse(batch[0][1], error)
                    continue
                # One request that vLLM does not take fails the whole list; each is asked alone to find out which.
                for request, answer in batch:
                    try:
                        await self._answer([(request, answer)])
                    except Exception as its_own:
                        self._refuse(answer, its_own)

    async def _answer(self, batch: "Sequence[tuple[Request, asyncio.Future[Reply]]]") -> None:
        started = time.monotonic()
        outputs = await asyncio.to_thread(self._chat, [request for request, _answer in batch])
        for (_request, answer), output in zip(batch, outputs, strict=True):
            if not answer.done():
                answer.set_result(read_output(output, time.monotonic() - started))

    def _refuse(self, answer: "asyncio.Future[Reply]", error: Exception) -> None:
        if not answer.done():
            answer.set_exception(as_chat_error(error))

    def _chat(self, requests: Sequence[Request]) -> list[Any]:
        engine = engine_named(self._model, self._options)
        outputs: dict[int, Any] = {}
        for given, places in _by_template(requests).items():
            conversations = [[dict(message) for message in requests[place].messages] for place in places]
            parameters = [sampling_of(requests[place], leave_out=TEMPLATE_OPTIONS) for place in places]
            with _lock:
                answered = engine.chat(conversations, parameters, use_tqdm=False, **dict(given))
            outputs.update(zip(places, answered, strict=True))
        return [outputs[place] for place in range(len(requests))]

    def _scored(self, request: Request, started: float) -> tuple[list[Any], Reply]:
        engine = engine_named(self._model, self._options)
        extra = {"add_generation_prompt": True, "continue_final_message": False}
        given = {name: request.parameters[name] for name in extra if name in request.parameters}
        sampling = sampling_of(request, prompt_logprobs=0, leave_out=tuple(extra))
        try:
            with _lock:
                output = engine.chat(
                    [[dict(message) for message in request.messages]], sampling, use_tqdm=False, **{**extra, **given}
                )[0]
        except Exception as error:
            raise as_chat_error(error) from error
        scores = [None if entry is None else _plain(entry) for entry in output.prompt_logprobs or []]
        return scores, read_output(output, time.monotonic() - started)


def _by_template(requests: Sequence[Request]) -> dict[tuple[tuple[str, Any], ...], list[int]]:
    """Return the places of the requests by what they say of the chat template, which one call has in common."""
    places: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for place, request in enumerate(requests):
        given = tuple((name, request.parameters[name]) for name in TEMPLATE_OPTIONS if name in request.parameters)
        places.setdefault(given, []).append(place)
    return places


def sampling_of(request: Request, *, leave_out: Sequence[str] = (), **more: Any) -> Any:
    """Build vllm.SamplingParams from parameters named as in the chat protocol. Raises Refused for an unknown name."""
    names = {"max_completion_tokens": "max_tokens"}
    given = {names.get(name, name): value for name, value in request.parameters.items() if name not in leave_out}
    for name in given:
        if name not in SAMPLING_OPTIONS:
            raise Refused(call_messages.NO_SAMPLING_OPTION(name=repr(str(name)[:60])))
    if request.structured and request.schema is not None:
        from vllm.sampling_params import StructuredOutputsParams

        given["structured_outputs"] = StructuredOutputsParams(json=dict(request.schema))
    import vllm

    try:
        return vllm.SamplingParams(**{**given, **more})
    except (TypeError, ValueError) as error:
        raise Refused(call_messages.NOT_TAKEN(words=error)) from error


def read_output(output: Any, seconds: float) -> Reply:
    """Convert a vllm.RequestOutput into a reply."""
    first = output.outputs[0]
    return Reply(
        text=first.text,
        finish_reason=str(first.finish_reason or ""),
        input_tokens=len(output.prompt_token_ids or ()),
        output_tokens=len(first.token_ids),
        seconds=seconds,
    )


def as_chat_error(error: Exception) -> Exception:
    """Convert an exception of vLLM into one of the ChatError family."""
    if isinstance(error, Refused):
        return error
    words = str(error)[:2000] or type(error).__name__
    if any(sign in words for sign in TOO_LONG):
        return TooLong(words)
    if isinstance(error, ValueError | TypeError):
        return Refused(words)
    return ServerFailed(words)


def _plain(entry: Mapping[int, Any]) -> dict[str, dict[str, float]]:
    """Return {token id: {"logprob": number}} as a server would send it."""
    return {str(token): {"logprob": float(one.logprob)} for token, one in entry.items()}
