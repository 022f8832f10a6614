"""The sentences that rows held before messages had codes, and how they were read back. Frozen: only migrations use it.

A stored text is read by the template that fits it with the most letters of its own. `(code, template, shapes)`: a shape is
a regular expression that a value must match where the sentence could be mistaken for somebody's own words.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

COUNT = r"\d+"
QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
NUMBER = r"-?[\d.e+-]+|-?inf|nan"
LEVEL = r"(?:-?[\d.]+|a_much|a|tie|both_bad|b|b_much)"
JURY = {"how": "mean|median|majority", "values": f"{LEVEL}(?:, {LEVEL})*"}
LONGEST_READ = 20_000
DEEPEST = 4
BATCH = 2_000
HOLE = re.compile(r"%%|%\((\w+)\)s")
NEXT_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")
NEXT_IN_LIST = re.compile("; ")
REASONS = (
    "prose empty unreadable cut_off missing_item doubled_item unknown_item off_scale refused too_long no_text endpoint"
).split()
"""What the stored reason of an item without a verdict begins with, before a colon."""

TEMPLATES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("judge.nothing_left", "Nothing is left that this run could ask; start another one, or cancel this one.", {}),
    ("judge.declined", "the model declined", {}),
    ("judge.tokens_unknown", "The endpoint does not count the tokens that it reads, which a likelihood needs.", {}),
    ("judge.held_back", "the endpoint's filter held the reply back", {}),
    ("judge.ended_without", "the reply ended (%(reason)s) without a word", {"reason": '\\w+'}),
    ("judge.tokens_used_up", "the reply reached its token limit before the answer was complete", {}),
    ("judge.no_json", "no JSON in: %(start)s", {}),
    ("judge.empty_reply", "an empty reply", {}),
    ("judge.breaks_off", "the JSON breaks off at: %(end)s", {}),
    ("judge.no_named_questions", "no JSON object that names the questions", {}),
    ("judge.no_answer_to", "no JSON object that answers %(item)s", {"item": QUOTED}),
    ("judge.twice", "%(item)s is answered twice", {"item": QUOTED}),
    ("judge.so_often", "%(item)s is answered %(n)s times", {"item": QUOTED}),
    ("judge.given_twice", "%(item)s is given twice", {"item": QUOTED}),
    ("judge.two_verdicts", "%(item)s has two verdicts", {"item": QUOTED}),
    ("judge.two_scores", "%(item)s has two scores", {"item": QUOTED}),
    ("judge.no_such_question", "%(name)s is none of the %(n)s questions", {"name": QUOTED}),
    ("judge.left_out", "%(n)s of %(all)s questions answered; %(item)s is missing", {"n": COUNT, "all": COUNT, "item": QUOTED}),
    ("judge.no_score", "%(item)s has no score", {"item": QUOTED}),
    ("judge.lacks", "%(item)s has no %(what)s", {"item": QUOTED}),
    ("judge.off_scale", "%(item)s has %(score)s, which is none of %(scale)s", {"item": QUOTED}),
    ("judge.neither", "%(item)s has %(score)s, which is neither yes nor no", {"item": QUOTED}),
    ("judge.no_text", "the response has no text", {}),
    ("judge.other_number_of_texts", "%(n)s texts to judge where the method takes %(wanted)s", {"n": COUNT}),
    ("judge.no_hint", "the instruction has no hint", {}),
    ("judge.no_reference", "the instruction has no human reference", {}),
    ("judge.no_guideline", "the study has no guideline", {}),
    ("judge.no_guides", "the task has no checklist to be guided by", {}),
    ("judge.cannot_be_asked", "This question cannot be asked: %(lack)s.", {}),
    ("judge.longer_than_context", "the question is longer than the context of %(n)s tokens", {}),
    ("judge.empty_embedded", "one of the two texts is empty and has no embedding", {}),
    ("judge.other_vectors", "three vectors of one length are needed, not %(found)s", {}),
    ("judge.zero_vector", "a vector is zero or not finite", {}),
    ("judge.not_served", "model not served: %(model)s has no endpoint that gives log-probabilities", {}),
    ("judge.not_served_why", "model not served: %(model)s has no endpoint that gives log-probabilities (%(words)s)", {}),
    ("judge.other_scores", "The endpoint gave %(found)s for a prompt of more than %(n)s tokens.", {}),
    ("judge.no_log_probability", "%(entry)s is no log-probability.", {"entry": QUOTED}),
    ("judge.not_asked", "not asked", {}),
    ("judge.not_sent", "not sent, because the run was stopped", {}),
    ("judge.no_verdict", "no verdict", {}),
    ("judge.too_few_verdicts", "%(n)s of %(all)s gave a verdict, %(needed)s are needed; %(detail)s", {"n": COUNT, "all": COUNT}),
    ("judge.no_method_chosen", "no method was chosen for category %(category)s", {}),
    ("judge.method_without_verdict", "method %(method)s has no verdict on this task", {}),
    ("judge.cosines", "Cosine with the reference: %(first)s for A, %(second)s for B.", {"first": NUMBER, "second": NUMBER}),
    ("judge.log_probabilities", "Log-probability of the reference: %(first)s under A's writer, %(second)s under B's.", {"first": NUMBER, "second": NUMBER}),
    ("judge.log_probabilities_a_token", "Log-probability of the reference a token: %(first)s under A's writer, %(second)s under B's.", {"first": NUMBER, "second": NUMBER}),
    ("judge.same_level", "The same in both orders. [A first] %(first)s [B first] %(second)s", {}),
    ("judge.same_side", "The same side in both orders. [A first] %(first)s [B first] %(second)s", {}),
    ("judge.orders_disagree", "A tie, since the orders disagree. [A first] %(first)s [B first] %(second)s", {}),
    ("judge.hows_mean", "mean", {}),
    ("judge.hows_median", "median", {}),
    ("judge.hows_majority", "majority", {}),
    ("judge.combined", "The %(how)s of %(values)s.", JURY),
    ("judge.combined_why", "The %(how)s of %(values)s. %(reasons)s", JURY),
    ("judge.combined_silent", "The %(how)s of %(values)s (%(n)s of %(all)s gave no verdict).", JURY),
    ("judge.combined_silent_why", "The %(how)s of %(values)s (%(n)s of %(all)s gave no verdict). %(reasons)s", JURY),
    ("judge.drawn", "Drawn at random.", {}),
    ("judge.always_first", "Always the first of the two.", {}),
    ("judge.always_second", "Always the second of the two.", {}),
    ("judge.measured_characters", "Characters: %(first)s for A, %(second)s for B.", {"first": NUMBER, "second": NUMBER}),
    ("judge.measured_rouge", "ROUGE-L against the reference: %(first)s for A, %(second)s for B.", {"first": NUMBER, "second": NUMBER}),
    ("judge.measured_rouge_1", "ROUGE-1 against the reference: %(first)s for A, %(second)s for B.", {"first": NUMBER, "second": NUMBER}),
    ("judge.scripted_0_0", "Scripted: the quality is missing.", {}),
    ("judge.scripted_0_25", "Scripted: only traces of the quality are there.", {}),
    ("judge.scripted_0_5", "Scripted: half of it is there.", {}),
    ("judge.scripted_0_75", "Scripted: there but for small lapses.", {}),
    ("judge.scripted_1_0", "Scripted: there throughout.", {}),
    ("judge.judge_fell", "The judge fell for %(n)s planted text(s) that deserve nothing (%(which)s). Change the prompt or the model before trusting this run.", {}),
    ("judge.canary_names_empty", "empty: %(what)s", {}),
    ("judge.canary_names_refusal", "refusal: %(what)s", {}),
    ("judge.canary_names_null", "null: %(what)s", {}),
    ("judge.canary_names_order", "order: %(what)s", {}),
    ("judge.scored_above", "it scored %(value)s where the median of the run is %(middle)s", {}),
    ("judge.tied", "it tied with an ordinary response (%(order)s)", {}),
    ("judge.beat", "it beat an ordinary response (%(order)s)", {}),
    ("judge.a_first", "A first", {}),
    ("judge.b_first", "B first", {}),
    ("judge.no_canary_judged", "The judge gave no verdict on any planted text, so nothing shows that it can be believed.", {}),
    ("judge.no_model", "Judge %(judge)s has no model; make it anew with one.", {}),
    ("judge.over_budget", "The next call might cross the budget; raise it and resume.", {}),
    ("judge.interrupted", "Interrupted; everything answered so far is kept.", {}),
    ("judge.interrupted_deciding", "Interrupted; everything decided so far is kept.", {}),
    ("judge.none_held_out", "Method %(method)s judged none of the held-out tasks.", {}),
    ("judge.no_agreement", "There is no agreement to choose a method by.", {}),
    ("judge.too_few_instructions", "Category %(category)s has %(n)s instruction; two halves need at least 2.", {}),
    ("judge.no_method_judged", "In category %(category)s no method judged %(share)s of the %(n)s tasks.", {}),
    ("judge.none_held_out_in", "In category %(category)s method %(method)s judged none of the held-out tasks.", {}),
    ("study.one_names_itself", "in %(n)s task a response says which model wrote it. Choose whether to mask the words, to drop the task, or to leave it, then launch again", {}),
    ("study.some_name_themselves", "in %(n)s tasks a response says which model wrote it. Choose whether to mask the words, to drop the tasks, or to leave them, then launch again", {}),
    ("study.bad_order", "Study %(study)s: order %(order)s is not one of %(known)s.", {}),
    ("study.bad_qualification", "Study %(study)s: qualification %(value)s needs whole numbers, pass from 1 to of.", {}),
    ("study.no_share", "Study %(study)s: %(name)s %(value)s is not a share from 0 to %(most)s.", {}),
    ("study.not_whole", "Study %(study)s: %(name)s %(value)s is not a whole number from %(low)s to %(high)s.", {}),
    ("study.bad_pace", "Study %(study)s: reading_pace %(value)s needs whole numbers, words 0 or from 300, told and paused from 1.", {}),
    ("study.bad_checks", "Study %(study)s: checks %(value)s needs whole numbers, failed from 1 to window.", {}),
    ("scripted.stock_reasons_0", "Looked for it and found little or nothing of it.", {}),
    ("scripted.stock_reasons_1", "Present in parts, with gaps that a reader notices.", {}),
    ("scripted.stock_reasons_2", "Present nearly throughout; the lapses are small.", {}),
    ("call.no_reply", "no reply in %(seconds)s seconds", {}),
    ("call.silent", "silent for %(seconds)s seconds after %(n)s characters", {}),
    ("call.broke_off", "the stream broke off after %(n)s characters", {}),
    ("call.not_done", "not at its end after %(seconds)s seconds and %(n)s characters", {}),
    ("call.error_amid", "an error amid the reply: %(words)s", {}),
    ("call.not_json", "status 200 with a body that is not JSON: %(words)s", {}),
    ("call.no_prompt_scores", "status 200 without the log-probabilities of the prompt that were asked for", {}),
    ("call.other_count", "%(n)s replies where n was %(asked)s", {"n": '\\d+'}),
    ("call.no_completion", "no completion: %(words)s", {}),
    ("call.bad_body", "status 200 with %(what)s", {}),
    ("call.no_embeddings", "no embeddings: %(words)s", {}),
    ("call.other_embeddings", "embeddings of %(n)s texts where %(asked)s were asked for", {}),
    ("call.bad_embedding", "an embedding that is empty or not finite", {}),
    ("call.no_list", "no list of models: %(words)s", {}),
    ("call.other_stream", "a stream of something else: %(words)s", {}),
    ("call.no_model_server", "What answers at this address does not speak HTTP as a model server does.", {}),
    ("call.no_model_answer", "It answered with status 200, but not as a model server does.", {}),
    ("call.no_model_error", "It answered with status %(status)s (%(meaning)s), but not as a model server does.", {"status": '\\d+'}),
    ("call.own_variable", "The variable %(variable)s belongs to this program and is sent to no endpoint.", {}),
    ("call.key_not_allowed", "The key in %(variable)s may not be sent to %(host)s; the operator can allow it with the setting PLUMBLINE_MODEL_KEYS=%(entry)s", {}),
    ("call.host_not_allowed", "%(host)s may not be called, because it is not a public address; the operator can allow it with the setting PLUMBLINE_MODEL_HOSTS=%(entry)s", {}),
    ("call.host_elsewhere", "%(host)s may not be called, because it resolves to an address that listing its name does not allow; the operator can list that address in PLUMBLINE_MODEL_HOSTS.", {}),
    ("call.proxy_not_used", "%(words)s (the proxy of the environment is used only for hosts that the operator lists in PLUMBLINE_MODEL_HOSTS, here %(entry)s)", {}),
    ("call.vllm_not_allowed", "vLLM may not load %(model)s in the worker; the operator can allow it with: manage.py allow_endpoint '%(endpoint)s'", {}),
    ("call.too_large", "The reply is larger than %(most)s MB, which is the most that is read.", {}),
    ("call.other_encoding", "The reply is compressed in a way that was not asked for.", {}),
    ("call.no_key", "The environment variable %(variable)s, which should hold the endpoint's key, is not set.", {}),
    ("call.no_endpoint", "Model %(model)s has no endpoint; say first where it is served.", {}),
    ("call.no_address", "Endpoint %(endpoint)s: %(address)s is no http:// or https:// address.", {}),
    ("call.not_installed", "vLLM is not installed in this environment; install it with: pip install 'plumbline[vllm]', or serve the model with `vllm serve` and use its address.", {}),
    ("call.not_loaded", "vLLM cannot load %(model)s: %(words)s", {}),
    ("call.no_embedding_here", "a model in process generates and embeds nothing; serve an embedding model for that", {}),
    ("call.engine_option", "vLLM in process takes no option %(name)s here; it takes %(known)s.", {}),
    ("call.engine_value", "The option %(name)s of vLLM in process does not take the value that was given.", {}),
    ("call.no_sampling_option", "vLLM in process takes no parameter %(name)s here.", {}),
    ("call.not_taken", "vLLM does not take these parameters: %(words)s", {}),
    ("call.script_unreadable", "The script %(script)s cannot be read: %(words)s", {}),
    ("call.script_name", "A script is named by the name of a file, such as actor.json, in the folder that the operator sets with PLUMBLINE_SCRIPT_DIR.", {}),
    ("call.script_absent", "The folder that PLUMBLINE_SCRIPT_DIR names has no script %(script)s; the operator can put it there.", {}),
    ("call.script_no_json", "The script %(script)s is not a JSON object.", {}),
    ("call.script_option", "A script has no option %(name)s; it has %(known)s.", {}),
    ("call.no_script", "A script is a mapping with 'answers', 'replies', 'seed', or the name of a JSON file that holds one.", {}),
    ("call.script_number", "A script's %(name)s is a number from %(least)s to %(most)s.", {}),
    ("call.script_mapping", "A script's %(name)s is a mapping from what is asked about to what is said.", {}),
    ("call.no_scripted_scores", "a scripted model has no log-probabilities", {}),
    ("call.not_in_script", "a scripted model answers only what has a schema or stands in its script", {}),
    ("call.no_task_sentence", "A prompt needs a task sentence; the data alone does not say what to do with it.", {}),
    ("call.no_place_for_length", "A chat without a message of its user has no place for a length.", {}),
    ("call.no_batches", "Endpoint %(endpoint)s takes no batches; start a run of model %(model)s that does not go through the batch API.", {}),
    ("call.no_batch_api", "Endpoint %(endpoint)s lists no batches (%(words)s), so it seems to have no batch API; start a run without.", {}),
    ("call.batches_away", "The batch API gives no answer just now (%(words)s); it is asked again every minute, and nothing is lost.", {}),
    ("call.batch_refused", "Batch %(batch)s was refused: %(words)s", {}),
    ("call.no_reason_given", "the endpoint gave no reason", {}),
    ("call.left_out_of_batch", "batch %(batch)s was completed without an answer to this", {}),
    ("call.journal_failed", "The folder %(folder)s, where replies are kept until they are stored, cannot be used (%(words)s); make it writable or free space, and resume.", {}),
    ("call.fault", "Plumbline itself failed (%(kind)s: %(words)s); the worker's log has the whole of it. Report that, or put it right and resume.", {}),
    ("call.put_off", "Calls are put off for now and sent again later: %(words)s", {}),
    ("call.batch_over_budget", "The next batch might cross the budget; raise it and resume.", {}),
    ("call.interrupted", "Interrupted; everything generated so far is kept.", {}),
)


class Template:
    def __init__(self, code: str, text: str, shapes: dict[str, str]) -> None:
        self.code, self.letters = code, len(HOLE.sub("", text))
        self.pieces = [re.sub("%%", "%", piece) for piece in re.split(r"%\(\w+\)s", text)]
        parts, place = [], 0
        for hole in HOLE.finditer(text):
            parts.append(re.escape(text[place : hole.start()]))
            name, place = hole[1], hole.end()
            parts.append(f"(?P<{name}>{shapes.get(name, '.*?')})" if name else "%")
        self.shape = re.compile("".join([*parts, re.escape(text[place:])]), re.DOTALL)

    def read(self, text: str) -> dict[str, str] | None:
        """The values in the text; its own pieces are looked for first, since the shape alone may take very long."""
        first, last = self.pieces[0], self.pieces[-1]
        if not (text.startswith(first) and text.endswith(last)):
            return None
        place = len(first)
        for piece in self.pieces[1:-1]:
            place = text.find(piece, place)
            if place < 0:
                return None
            place += len(piece)
        found = self.shape.fullmatch(text)
        return None if found is None else found.groupdict()


READERS = tuple(Template(*template) for template in TEMPLATES)


def message_of(text: str, depth: int = 0) -> dict[str, Any] | None:
    """The message that a stored text is, as its column holds it; None for a text of somebody else."""
    found = _messages(text, NEXT_SENTENCE, depth)
    if len(found) > 1:
        return {"code": "sentences", "params": {"parts": found}}
    return found[0] if found else None


def reason_of(text: str) -> dict[str, Any] | None:
    """The message of an item or an assignment without a verdict, 'off_scale: item ...'."""
    why, colon, detail = text.partition(": ")
    if not colon or why not in REASONS:
        return message_of(text)
    return {"code": "judge.unscored", "params": {"why": why, "detail": message_of(detail) or detail}}


def _messages(text: str, between: re.Pattern[str], depth: int) -> list[dict[str, Any]]:
    """The messages that a text consists of, none where a part of it is something else."""
    if not text or len(text) > LONGEST_READ:
        return []
    parts = [_message(part, depth) for part in between.split(text)]
    found = [part for part in parts if part is not None]
    if len(found) == len(parts):
        return found
    whole = _message(text, depth)
    return [] if whole is None else [whole]


def _message(text: str, depth: int) -> dict[str, Any] | None:
    fitting = [(reader.letters, reader.code, values) for reader in READERS if (values := reader.read(text)) is not None]
    if not fitting:
        return None
    _letters, code, values = max(fitting, key=lambda entry: entry[0])
    return {"code": code, "params": {name: _value(value, depth) for name, value in values.items()}}


def _value(text: str, depth: int) -> Any:
    """A value may itself be a message, or a list of them, DEEPEST times within one another."""
    if depth >= DEEPEST:
        return text
    listed = _messages(text, NEXT_IN_LIST, depth + 1)
    return listed if len(listed) > 1 else message_of(text, depth + 1) or text


def fill(rows: Any, name: str, read: Any = message_of) -> None:
    """Fills the JSON column beside a text column of these rows, by the text; a text of somebody else leaves it empty."""
    column = f"{name}_json"
    for batch in _batches(rows.filter(**{f"{column}__isnull": True}).exclude(**{name: ""}), name):
        changed = []
        for row in batch:
            message = read(getattr(row, name))
            if message is not None:
                setattr(row, column, message)
                changed.append(row)
        rows.model._base_manager.bulk_update(changed, [column], batch_size=200)


def _batches(rows: Any, *names: str) -> Iterator[Iterable[Any]]:
    """Some thousand rows at a time by their keys, so that writing goes on beside reading."""
    last = 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk").only("pk", *names)[:BATCH]):
        yield batch
        last = batch[-1].pk
