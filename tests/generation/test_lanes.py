"""Connections of an endpoint: a few to a lane, another lane where all are busy, the first free one used again."""

import asyncio

from generation.chat import OpenAIChat, Request
from generation.lanes import WIDTH, Lanes
from tests.generation.hostile_server import Act, HostileServer, says


def lanes(connections):
    return Lanes(base_url="http://127.0.0.1:1/v1", key="k", timeout_seconds=5, connections=connections)


def test_a_lane_is_opened_only_where_the_others_are_full_and_never_more_than_allowed():
    async def look():
        opened = lanes(2 * WIDTH)
        held = [opened.lane() for _ in range(2 * WIDTH + 2)]
        for number, one in enumerate(held, start=1):
            one.__enter__()
            assert sum(opened.busy) == number
            assert len(opened.busy) == (1 if number <= WIDTH else 2)
        # Beyond what may be open at once, calls wait in the least busy lane.
        assert sorted(opened.busy) == [WIDTH + 1, WIDTH + 1]
        for one in held:
            one.__exit__(None, None, None)
        assert opened.busy == [0, 0]
        with opened.lane() as first, opened.lane() as second:
            assert first is second
        await opened.close()

    asyncio.run(look())


def test_a_call_that_fails_leaves_its_place_free():
    async def look():
        opened = lanes(WIDTH)
        try:
            with opened.lane():
                raise RuntimeError
        except RuntimeError:
            assert opened.busy == [0]
        await opened.close()

    asyncio.run(look())


def test_more_calls_than_a_lane_holds_are_on_their_way_at_once():
    reply = Act(body=says("yes").body, seconds=0.4)
    with HostileServer(lambda request, n: reply) as server:

        async def ask():
            chat = OpenAIChat(base_url=server.base_url, key="k", timeout_seconds=20, connections=64)
            question = Request("m", [{"role": "user", "content": "Hi"}])
            try:
                return await asyncio.gather(*(chat.complete(question) for _ in range(3 * WIDTH)))
            finally:
                await chat.close()

        replies = asyncio.run(ask())
    assert [reply.text for reply in replies] == ["yes"] * 3 * WIDTH
    assert server.most_at_once > WIDTH
