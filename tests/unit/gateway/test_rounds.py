"""Who shares a round, and what becomes of those who leave it."""

import asyncio

import pytest

from gateway.rounds import _MOMENT_SECONDS, Rounds


def test_clients_that_were_answered_together_come_back_together() -> None:
    sizes: list[int] = []

    async def run(items: list[int]) -> list[int]:
        sizes.append(len(items))
        await asyncio.sleep(0.005)
        return items

    async def client(rounds: Rounds[int, int], number: int) -> None:
        for _ in range(10):
            for _ in range(number):
                await asyncio.sleep(0)  # each is a little later than the one before
            assert await rounds.take_part(number) == number

    async def all_clients() -> None:
        rounds = Rounds(run)
        await asyncio.gather(*(client(rounds, number) for number in range(4)))

    asyncio.run(all_clients())
    assert sum(sizes) == 40
    assert 4 in sizes


def test_the_first_waits_as_long_as_others_come_back() -> None:
    sizes: list[int] = []

    async def run(items: list[int]) -> list[int]:
        sizes.append(len(items))
        return items

    async def settle() -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def all_clients() -> None:
        rounds = Rounds(run)
        loop = asyncio.get_running_loop()
        now = loop.time()
        loop.time = lambda: now  # type: ignore[method-assign]
        await asyncio.gather(*(rounds.take_part(number) for number in range(5)))
        back = [asyncio.create_task(rounds.take_part(0))]
        for number in (1, 2):
            await settle()
            back.append(asyncio.create_task(rounds.take_part(number)))
            await settle()
            now += _MOMENT_SECONDS * 1.1
        await settle()
        assert sizes == [5]
        now += _MOMENT_SECONDS * 1.1  # nobody else comes
        await asyncio.gather(*back)

    asyncio.run(all_clients())
    assert sizes == [5, 3]


def test_a_client_that_leaves_takes_nothing_from_the_others() -> None:
    async def run(items: list[str]) -> list[str]:
        await asyncio.sleep(0.005)
        return [it.upper() for it in items]

    async def leave() -> str:
        rounds = Rounds(run)
        await asyncio.gather(*(rounds.take_part("before") for _ in range(3)))
        leaving = asyncio.create_task(rounds.take_part("leaves"))
        staying = asyncio.create_task(rounds.take_part("stays"))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        return await staying

    assert asyncio.run(leave()) == "STAYS"
