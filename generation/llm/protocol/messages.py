"""Sentences about calls that failed and runs that stopped; they are stored and read back for a page. PURE.

They quote an endpoint's own words unchanged.
"""

from core.messages.message import Wording

NO_REPLY = Wording("call.no_reply", "no reply in %(seconds)s seconds")
SILENT = Wording("call.silent", "the stream was silent for %(seconds)s seconds after %(n)s characters")
BROKE_OFF = Wording("call.broke_off", "the stream broke off after %(n)s characters")
NOT_DONE = Wording("call.not_done", "the reply was not complete after %(seconds)s seconds and %(n)s characters")
ERROR_AMID = Wording("call.error_amid", "the endpoint reported an error during the reply: %(words)s")
NOT_JSON = Wording("call.not_json", "status 200 with a body that is not JSON: %(words)s")
NO_PROMPT_SCORES = Wording("call.no_prompt_scores", "status 200 without the requested log-probabilities of the prompt")
OTHER_COUNT = Wording("call.other_count", "%(n)s replies instead of the %(asked)s requested")
NO_COMPLETION = Wording("call.no_completion", "no completion: %(words)s")
BAD_BODY = Wording("call.bad_body", "status 200 with %(what)s")
NO_EMBEDDINGS = Wording("call.no_embeddings", "no embeddings: %(words)s")
OTHER_EMBEDDINGS = Wording("call.other_embeddings", "embeddings of %(n)s texts instead of the %(asked)s requested")
BAD_EMBEDDING = Wording("call.bad_embedding", "an embedding that is empty or not finite")
NO_LIST = Wording("call.no_list", "no list of models: %(words)s")
OTHER_STREAM = Wording("call.other_stream", "a stream of something else: %(words)s")

NO_MODEL_SERVER = Wording("call.no_model_server", "The server at this address does not answer like a model server.")
NO_MODEL_ANSWER = Wording("call.no_model_answer", "The server answered with status 200, but not like a model server.")
NO_MODEL_ERROR = Wording(
    "call.no_model_error", "The server answered with status %(status)s (%(meaning)s), but not like a model server."
)

OWN_VARIABLE = Wording(
    "call.own_variable", "The variable %(variable)s belongs to this program and is not sent to any endpoint."
)
KEY_NOT_ALLOWED = Wording(
    "call.key_not_allowed",
    "The key in %(variable)s may not be sent to %(host)s; the operator can allow it with the setting "
    "PLUMBLINE_MODEL_KEYS=%(entry)s",
)
HOST_NOT_ALLOWED = Wording(
    "call.host_not_allowed",
    "%(host)s may not be called, because it is not a public address; the operator can allow it with the setting "
    "PLUMBLINE_MODEL_HOSTS=%(entry)s",
)
HOST_ELSEWHERE = Wording(
    "call.host_elsewhere",
    "%(host)s may not be called, because it resolves to an address that is not allowed by listing its name; "
    "the operator can list that address in PLUMBLINE_MODEL_HOSTS.",
)
PROXY_NOT_USED = Wording(
    "call.proxy_not_used",
    "%(words)s (the proxy of the environment is used only for hosts that the operator lists in PLUMBLINE_MODEL_HOSTS, here "
    "%(entry)s)",
)
VLLM_NOT_ALLOWED = Wording(
    "call.vllm_not_allowed",
    "vLLM may not load %(model)s in the worker; the operator can allow it with the command: allow_endpoint '%(endpoint)s'",
)
TOO_LARGE = Wording("call.too_large", "The reply is larger than %(most)s MB, the limit for a reply.")
OTHER_ENCODING = Wording("call.other_encoding", "The reply is compressed in a way that was not requested.")
NO_KEY = Wording(
    "call.no_key", "The environment variable %(variable)s, which should hold the endpoint's key, is not set."
)
NO_ENDPOINT = Wording("call.no_endpoint", "Model %(model)s has no endpoint. Choose the endpoint that serves it first.")
NO_ADDRESS = Wording("call.no_address", "Endpoint %(endpoint)s: %(address)s is not an http:// or https:// address.")

NOT_INSTALLED = Wording(
    "call.not_installed",
    "vLLM is not installed in this environment; install it with: pip install vllm, "
    "or serve the model with `vllm serve` and use its address.",
)
NOT_LOADED = Wording("call.not_loaded", "vLLM cannot load %(model)s: %(words)s")
NO_EMBEDDING_HERE = Wording(
    "call.no_embedding_here",
    "vLLM in the worker's process does not compute embeddings; serve an embedding model instead",
)
ENGINE_OPTION = Wording(
    "call.engine_option", "vLLM in the worker's process does not take the option %(name)s; it takes %(known)s."
)
ENGINE_VALUE = Wording(
    "call.engine_value", "vLLM in the worker's process does not take this value of the option %(name)s."
)
NO_SAMPLING_OPTION = Wording(
    "call.no_sampling_option", "vLLM in the worker's process does not take the parameter %(name)s."
)
NOT_TAKEN = Wording("call.not_taken", "vLLM does not take these parameters: %(words)s")

SCRIPT_UNREADABLE = Wording("call.script_unreadable", "The script %(script)s cannot be read: %(words)s")
SCRIPT_NAME = Wording(
    "call.script_name",
    "Name the script by its file name, such as actor.json, in the folder that the operator sets with "
    "PLUMBLINE_SCRIPT_DIR.",
)
SCRIPT_ABSENT = Wording(
    "call.script_absent",
    "The folder that PLUMBLINE_SCRIPT_DIR names contains no script %(script)s; the operator can put it there.",
)
SCRIPT_NO_JSON = Wording("call.script_no_json", "The script %(script)s is not a JSON object.")
SCRIPT_OPTION = Wording("call.script_option", "A script does not have the option %(name)s; its options are %(known)s.")
NO_SCRIPT = Wording(
    "call.no_script",
    "A script is a mapping with 'answers', 'replies', 'seed', 'writes', or the name of a JSON file that holds one.",
)
SCRIPT_NUMBER = Wording("call.script_number", "A script's %(name)s is a number from %(least)s to %(most)s.")
SCRIPT_MAPPING = Wording(
    "call.script_mapping", "A script's %(name)s must be a mapping from what is asked to the reply."
)
NO_SCRIPTED_SCORES = Wording("call.no_scripted_scores", "a scripted model has no log-probabilities")
NOT_IN_SCRIPT = Wording(
    "call.not_in_script",
    "a scripted model answers only requests that have a schema or are in its script; with the option writes, a number of "
    "words, its script also answers others",
)

NO_TASK_SENTENCE = Wording(
    "call.no_task_sentence", "A prompt needs a task sentence; the data alone does not say what to do with it."
)
NO_PLACE_FOR_LENGTH = Wording("call.no_place_for_length", "A chat without a user message has no place for a length.")

NO_BATCHES = Wording(
    "call.no_batches",
    "Endpoint %(endpoint)s does not take batches; start a run of model %(model)s without the batch API.",
)
NO_BATCH_API = Wording(
    "call.no_batch_api",
    "Endpoint %(endpoint)s does not list batches (%(words)s), so it seems to have no batch API; start a run "
    "without it.",
)
BATCHES_AWAY = Wording(
    "call.batches_away",
    "The batch API does not answer at the moment (%(words)s). It is asked again every minute, and nothing is lost.",
)
BATCH_REFUSED = Wording("call.batch_refused", "Batch %(batch)s was refused: %(words)s")
NO_REASON_GIVEN = Wording("call.no_reason_given", "the endpoint gave no reason")
LEFT_OUT_OF_BATCH = Wording("call.left_out_of_batch", "batch %(batch)s was completed without a reply to this request")

JOURNAL_FAILED = Wording(
    "call.journal_failed",
    "The folder %(folder)s, where replies are kept until they are stored, cannot be used (%(words)s); make it "
    "writable or free space, and resume.",
)
DISK_FULL = Wording(
    "call.disk_full", "The disk of the folder %(folder)s is full. The run continues by itself once there is space."
)
DATABASE_FULL = Wording(
    "call.database_full", "The disk of the database is full. The run continues by itself once there is space."
)
FAULT = Wording(
    "call.fault",
    "Plumbline itself failed (%(kind)s: %(words)s). The worker's log has the details. Report the fault, or "
    "fix it and resume the run.",
)
NONE_USABLE = Wording(
    "call.none_usable",
    "The last %(n)s replies could not be used, so the run stopped; the last one: %(reason)s. Check the model and the "
    "method; to continue all the same, start the run again.",
)
NO_TEXT = Wording("call.no_text", "it has no text (finish reason: %(finish)s)")
PUT_OFF = Wording("call.put_off", "Calls are being delayed and will be sent again: %(words)s")
OVER_BUDGET = Wording("call.over_budget", "The next call might exceed the budget. Raise the budget and resume the run.")
BATCH_OVER_BUDGET = Wording(
    "call.batch_over_budget", "The next batch might exceed the budget. Raise the budget and resume the run."
)
INTERRUPTED = Wording("call.interrupted", "The run was interrupted; everything generated so far is kept.")
