"""Connections of an endpoint: as many at once as allowed, kept open between calls, the environment's proxy."""

import asyncio

import pytest

from generation.llm.chat import OpenAIChat
from generation.llm.connections import Connections, proxy_to
from generation.llm.requests import Request
from tests.generation.hostile_server import HERE, Act, HostileServer, says

QUESTION = Request("m", [{"role": "user", "content": "Hi"}])


def replies_of(server, *, calls, connections):
    async def ask():
        chat = OpenAIChat(base_url=server.base_url, key="k", timeout_seconds=20, connections=connections, reach=HERE)
        try:
            return await asyncio.gather(*(chat.complete(QUESTION) for _ in range(calls)))
        finally:
            await chat.close()

    return asyncio.run(ask())


def test_calls_are_on_their_way_together_and_never_more_than_allowed():
    reply = Act(body=says("yes").body, seconds=0.3)
    with HostileServer(lambda request, n: reply) as server:
        replies = replies_of(server, calls=24, connections=12)
    assert [reply.text for reply in replies] == ["yes"] * 24
    assert 9 <= server.most_at_once <= 12


def test_what_was_never_used_is_closed_without_a_word():
    async def open_and_close():
        await Connections(
            base_url="http://127.0.0.1:1/v1", key="k", timeout_seconds=5, connections=4, reach=HERE
        ).close()

    asyncio.run(open_and_close())


def test_the_key_is_sent_and_no_cookie_is_kept():
    def play(request, number):
        return Act(body=says("yes").body, headers={"Set-Cookie": "a=b"})

    with HostileServer(play) as server:
        assert len(replies_of(server, calls=3, connections=1)) == 3
    assert server.keys == ["Bearer k"] * 3
    assert server.cookies == [""] * 3


def test_a_redirect_is_not_followed():
    """The key would go wherever the answer points."""
    with HostileServer(lambda request, n: says("yes")) as other:
        away = Act(status=307, body={}, headers={"Location": f"{other.base_url}/chat/completions"})
        with HostileServer(lambda request, n: away) as server, pytest.raises(Exception, match="307"):
            replies_of(server, calls=1, connections=1)
        assert not other.requests


@pytest.mark.parametrize(
    ("variables", "address", "proxy"),
    [
        ({}, "https://host.example/v1", None),
        ({"https_proxy": "http://p:3128"}, "https://host.example/v1", "http://p:3128"),
        ({"https_proxy": "http://p:3128"}, "http://host.example/v1", None),
        ({"all_proxy": "http://p:3128"}, "http://host.example/v1", "http://p:3128"),
        ({"http_proxy": "http://p:3128", "no_proxy": "host.example"}, "http://host.example/v1", None),
    ],
)
def test_the_proxy_is_the_one_that_the_environment_names(monkeypatch, variables, address, proxy):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxy_to(address) == proxy
