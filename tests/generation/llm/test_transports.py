"""Connections go only to addresses that may be called, and hostile replies are read to a bounded size."""

import asyncio
import gzip
import io
import json
import socket

import pytest
from hypothesis import example, given, strategies as st

from generation.llm import batch_api, connections, transports
from generation.llm.chat import OpenAIChat
from generation.llm.connections import Events
from generation.llm.errors import ChatError, HostNotAllowed, Refused, ReplyNotRead, Unreachable
from generation.llm.protocol.allowed_hosts import Reach, read_hosts
from generation.llm.requests import Request
from generation.models import Endpoint
from generation.responses import batch
from tests.factories import make_workspace
from tests.generation.hostile_server import HERE, Act, HostileServer, completion, says_or_streams, streams

QUESTION = Request("m", [{"role": "user", "content": "Hi"}])
STREAMED = Request("m", [{"role": "user", "content": "Hi"}], stall_seconds=30.0)
WAYS = pytest.mark.parametrize("request_", [QUESTION, STREAMED], ids=["whole", "streamed"])
"""Whole replies and streams are read by different code."""
NAME = "models.example"


def ask(base_url, request, *, reach=HERE, calls=1, connections=10):
    async def send():
        chat = OpenAIChat(base_url=base_url, key="k", timeout_seconds=30.0, connections=connections, reach=reach)
        try:
            return [await chat.complete(request) for _ in range(calls)]
        finally:
            await chat.close()

    return asyncio.run(send())


@pytest.fixture
def resolving(monkeypatch):
    """Lets a name resolve to what the list says, one entry an enquiry, the last one ever after; the names asked for."""
    plain, asked = socket.getaddrinfo, []

    def answers(*answers):
        left = list(answers)

        def look_up(host, port, *args, **kwargs):
            if host != NAME:
                return plain(host, port, *args, **kwargs)
            asked.append(host)
            found = left.pop(0) if len(left) > 1 else left[0]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        return asked

    return answers


def by_name(server):
    return server.base_url.replace("127.0.0.1", NAME)


@WAYS
def test_a_public_name_that_leads_to_this_machine_is_not_called(resolving, request_):
    resolving(["127.0.0.1"])
    with HostileServer(lambda request, n: says_or_streams(request, "yes")) as server:
        with pytest.raises(HostNotAllowed, match=r"PLUMBLINE_MODEL_HOSTS=models\.example"):
            ask(by_name(server), request_, reach=Reach())
        assert not server.requests


@WAYS
def test_one_private_answer_among_public_ones_is_enough_to_refuse(resolving, request_):
    resolving(["93.184.215.14", "127.0.0.1"])
    with HostileServer(lambda request, n: says_or_streams(request, "yes")) as server:
        with pytest.raises(HostNotAllowed):
            ask(by_name(server), request_, reach=Reach())
        assert not server.requests


@WAYS
def test_what_was_judged_is_what_is_connected_to_and_it_is_resolved_once_a_connection(resolving, request_):
    """The second answer would lead elsewhere."""
    asked = resolving(["127.0.0.1"], ["127.0.0.2"])
    with HostileServer(lambda request, n: says_or_streams(request, "yes")) as server:
        port = server.base_url.split(":")[2].split("/")[0]
        reach = Reach(read_hosts([f"127.0.0.1:{port}"]))
        replies = ask(by_name(server), request_, reach=reach, calls=5, connections=1)
    assert [reply.text for reply in replies] == ["yes"] * 5
    assert len(asked) == 1


@WAYS
def test_a_name_that_resolves_elsewhere_later_is_refused_then(resolving, request_):
    resolving(["127.0.0.1"], ["127.0.0.2"])
    with HostileServer(lambda request, n: says_or_streams(request, "yes")) as server:
        port = server.base_url.split(":")[2].split("/")[0]
        reach = Reach(read_hosts([f"127.0.0.1:{port}"]))
        assert ask(by_name(server), request_, reach=reach)[0].text == "yes"
        with pytest.raises(HostNotAllowed):
            ask(by_name(server), request_, reach=reach)
        assert len(server.requests) == 1


def test_addresses_that_may_not_be_called_are_refused_before_anything_is_opened():
    for address in (
        "http://127.0.0.1:1/v1",
        "http://[::ffff:127.0.0.1]:1/v1",
        "http://169.254.169.254/v1",
        "http://0.0.0.0:1",
    ):
        with pytest.raises(HostNotAllowed):
            ask(address, QUESTION, reach=Reach())


@WAYS
def test_no_redirect_is_followed(request_):
    """The key would go wherever the answer points."""
    with HostileServer(lambda request, n: says_or_streams(request, "yes")) as other:
        away = Act(status=307, body={}, headers={"Location": f"{other.base_url}/chat/completions"})
        with HostileServer(lambda request, n: away) as server, pytest.raises(Refused, match="307"):
            ask(server.base_url, request_)
        assert not other.requests and not other.keys


@WAYS
def test_a_proxy_is_used_for_a_listed_host_and_for_no_other(monkeypatch, resolving, request_):
    """It would resolve the name itself, and could be led to anything near it."""
    resolving(["192.0.2.1"])
    for name in ("https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with HostileServer(lambda request, n: says_or_streams(request, "by proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))
        listed = Reach(read_hosts([NAME]))
        assert ask(f"http://{NAME}/v1", request_, reach=listed)[0].text == "by proxy"
        before = len(proxy.requests)
        with pytest.raises(HostNotAllowed):
            ask(f"http://{NAME}/v1", request_, reach=Reach())
        assert len(proxy.requests) == before


def test_where_a_proxy_is_left_out_a_failure_says_how_to_have_it(monkeypatch, resolving):
    resolving(["93.184.215.14"])
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setattr(transports.aiohttp.TCPConnector, "_wrap_create_connection", _nobody)
    with pytest.raises(Unreachable, match=r"PLUMBLINE_MODEL_HOSTS, here models\.example:80\)"):
        ask(f"http://{NAME}/v1", QUESTION, reach=Reach())


async def _nobody(self, *args, req, client_error, **kwargs):
    raise client_error(req.connection_key, OSError("nobody listens"))


def packed(body):
    return Act(body=gzip.compress(body), headers={"Content-Encoding": "gzip"})


@WAYS
def test_a_compressed_reply_is_read(request_):
    whole = says_or_streams({"stream": request_ is STREAMED}, "packed well")
    body = whole.body if isinstance(whole.body, bytes) else json.dumps(whole.body).encode()
    kind = whole.headers.get("Content-Type", "application/json")

    def play(request, number):
        return Act(body=gzip.compress(body), headers={"Content-Encoding": "gzip", "Content-Type": kind})

    with HostileServer(play) as server:
        assert ask(server.base_url, request_)[0].text == "packed well"


@WAYS
@pytest.mark.parametrize("status", [200, 500])
def test_a_bomb_is_not_unpacked(monkeypatch, request_, status):
    """A hundred megabytes in a hundred kilobytes; what is unpacked is counted."""
    unpacked = counted(monkeypatch)
    bomb = gzip.compress(b" " * 100_000_000)

    def play(request, number):
        kind = "text/event-stream" if request.get("stream") else "application/json"
        return Act(status=status, body=bomb, headers={"Content-Encoding": "gzip", "Content-Type": kind})

    limit(monkeypatch, 1_000_000)
    with HostileServer(play) as server, pytest.raises(ReplyNotRead, match="larger than 1 MB"):
        ask(server.base_url, request_)
    assert sum(unpacked) <= 1_000_000 + transports.PIECE


def limit(monkeypatch, size):
    monkeypatch.setattr(connections, "LARGEST_REPLY", size)
    monkeypatch.setattr(connections, "LARGEST_STREAM", size)


def counted(monkeypatch):
    """The sizes of the pieces that are unpacked from now on."""
    plain, sizes = transports.Unpacked._counted, []

    def count(self, piece):
        sizes.append(len(piece))
        return plain(self, piece)

    monkeypatch.setattr(transports.Unpacked, "_counted", count)
    return sizes


@WAYS
def test_a_plain_reply_is_read_up_to_its_size(monkeypatch, request_):
    limit(monkeypatch, 100_000)
    long = HostileServer(lambda request, n: says_or_streams(request, "word " * 30_000))
    with long as server, pytest.raises(ReplyNotRead):
        ask(server.base_url, request_)


@WAYS
@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "nonsense"])
def test_only_what_was_asked_for_is_unpacked(request_, encoding):
    odd = HostileServer(lambda request, n: Act(body=b"x" * 100, headers={"Content-Encoding": encoding}))
    with odd as server, pytest.raises(ReplyNotRead, match="not requested"):
        ask(server.base_url, request_)


def test_broken_compression_is_an_error_of_the_reply():
    def play(request, number):
        return Act(body=b"no gzip at all", headers={"Content-Encoding": "gzip"})

    with HostileServer(play) as server, pytest.raises(ReplyNotRead):
        ask(server.base_url, QUESTION)


def test_what_stands_behind_the_end_of_the_compressed_part_is_left():
    unpack = transports.Unpacked({"Content-Encoding": "gzip"}, 1_000)
    raw = gzip.compress(b"{}") + gzip.compress(b" " * 10_000) * 50
    assert b"".join(unpack.pieces(raw)) == b"{}"


def test_an_event_without_an_end_is_given_up(monkeypatch):
    monkeypatch.setattr(connections, "LARGEST_EVENT", 50_000)
    endless = Act(body=b"data: x\n" * 20_000, headers={"Content-Type": "text/event-stream"})
    with HostileServer(lambda request, n: endless) as server, pytest.raises(ReplyNotRead):
        ask(server.base_url, STREAMED)


def test_an_event_is_put_together_in_steps_that_grow_with_its_size_alone():
    """Bytes copied, counted: each line goes once into the line's buffer and once out of it."""
    events, moved = Events(), 0

    class Counting(bytearray):
        def __iadd__(self, more):
            nonlocal moved
            moved += len(more)
            return super().__iadd__(more)

    events._line = Counting()
    for _ in range(300):
        assert not list(events.read(b"data: xx\n" * 1_000))
    assert moved == 300 * 9_000


BODY = 'event: a\r\ndata: {"x": 1}\r\n\r\n: ping\n\ndata: one\rdata: two\r\rdata: 字\n\nid: 7\n\ndata: cut off'


@example([9, 9])
@example(list(range(len(BODY.encode()))))
@given(st.lists(st.integers(0, len(BODY.encode())), max_size=8))
def test_events_are_the_same_however_the_body_is_cut(cuts):
    body, places = BODY.encode(), sorted(cuts)
    pieces = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]
    events = Events()
    found = [event for piece in pieces for event in events.read(piece)]
    assert found == [("a", '{"x": 1}'), (None, "one\ntwo"), (None, "字")]


def test_events_that_are_no_text_are_refused():
    with pytest.raises(ValueError, match="utf-8"):
        list(Events().read(b"data: \xff\xff\n\n"))


def test_an_ordinary_stream_is_as_before():
    with HostileServer(lambda request, n: streams("Two words.")) as server:
        (reply,) = ask(server.base_url, STREAMED)
    assert (reply.text, reply.finish_reason, reply.input_tokens) == ("Two words.", "stop", 100)


def test_what_a_server_calls_itself_is_kept_short():
    body = {**completion("yes"), "model": "m" * 10_000_000}
    with HostileServer(lambda request, n: Act(body=body)) as server:
        assert len(ask(server.base_url, QUESTION)[0].served) == 200


@pytest.mark.django_db
def test_a_file_of_a_batch_is_unpacked_up_to_its_size(monkeypatch):
    monkeypatch.setattr(batch_api, "LARGEST_FILE", 1_000_000)
    unpacked = counted(monkeypatch)
    endpoint = Endpoint(workspace=make_workspace(), name="far", timeout_seconds=30)

    def play(request, number):
        body = b'{"a": 1}\n' * 3 if number == 0 else b" " * 100_000_000
        return Act(body=gzip.compress(body), headers={"Content-Encoding": "gzip"})

    with HostileServer(play) as server:
        endpoint.base_url = server.base_url
        with batch._Files(endpoint) as files, files.content("f") as content:
            assert list(batch._rows(content)) == [{"a": 1}] * 3
        unpacked.clear()
        with batch._Files(endpoint) as files, pytest.raises(ReplyNotRead), files.content("f"):
            pass
    assert sum(unpacked) <= 1_000_000 + transports.PIECE


@pytest.mark.django_db
def test_what_is_not_the_file_of_a_batch_is_read_as_any_reply(monkeypatch):
    monkeypatch.setattr(batch_api, "LARGEST_REPLY", 100_000)
    endpoint = Endpoint(workspace=make_workspace(), name="far", timeout_seconds=30)
    for status in (200, 400):
        with HostileServer(lambda request, n, status=status: Act(status, b" " * 1_000_000)) as server:
            endpoint.base_url = server.base_url
            with batch._Files(endpoint) as files, pytest.raises(ReplyNotRead), batch._as_chat_errors():
                list(files._client.batches.list())


def test_a_line_that_is_longer_than_a_reply_answers_nothing(monkeypatch):
    monkeypatch.setattr(batch, "LARGEST_REPLY", 100)
    lines = [{"n": 1}, {"n": "x" * 100}, {"n": "x" * 500}, {"n": 2}, {"n": 3}]
    content = io.BytesIO("\n".join(json.dumps(line) for line in lines).encode())
    assert [row["n"] for row in batch._rows(content)] == [1, 2, 3]


@pytest.mark.django_db
def test_a_batch_connects_to_what_was_judged(resolving, settings):
    settings.ON_LOOPBACK = False
    asked = resolving(["127.0.0.1"], ["127.0.0.2"])
    with HostileServer(lambda request, n: Act(body={"object": "list", "data": []})) as server:
        port = server.base_url.split(":")[2].split("/")[0]
        settings.MODEL_HOSTS = read_hosts([f"127.0.0.1:{port}"])
        endpoint = Endpoint(workspace=make_workspace(), name="far", timeout_seconds=30, base_url=by_name(server))
        with batch._Files(endpoint) as files:
            assert list(files._client.batches.list()) == []
        assert len(asked) == 1
        with batch._Files(endpoint) as files, pytest.raises(HostNotAllowed), batch._as_chat_errors():
            list(files._client.batches.list())
        assert len(server.requests) == 1


@pytest.mark.django_db
def test_no_header_that_the_environment_names_goes_anywhere(monkeypatch):
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway-Key: environment-1\nAuthorization: environment-2")
    monkeypatch.setenv("OPENAI_ORG_ID", "environment-3")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "environment-4")
    with HostileServer(lambda request, n: says_or_streams(request, "yes")) as server:
        ask(server.base_url, QUESTION)
        ask(server.base_url, STREAMED)

        async def list_models():
            chat = OpenAIChat(base_url=server.base_url, key="k", timeout_seconds=30.0, connections=1, reach=HERE)
            try:
                await chat.models()
            finally:
                await chat.close()

        with pytest.raises(ChatError):  # a completion is no list of models
            asyncio.run(list_models())
        assert set(server.keys) == {"Bearer k"}
        endpoint = Endpoint(workspace=make_workspace(), name="far", timeout_seconds=30, base_url=server.base_url)
        with batch._Files(endpoint) as files:
            list(files._client.batches.list())
        assert server.keys[3] == "Bearer none"
    assert len(server.headers) == 4
    assert not [one for one in server.headers if "environment-" in one or "OpenAI-" in one]
