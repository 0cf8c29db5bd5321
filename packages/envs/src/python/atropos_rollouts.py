"""The bridge's `rollout` shape: Python runs whole episodes against secret URLs of ours, many at the same time.

Requests are JSON lines as in `bridge.py`. `rollout` {index, seats: {name: [URL, ...]}, model} -> {ok, errors, traces};
a trace says by which URL of its seat it asked, so that what was recorded there is its own. `cancel` {id} gives up the
rollout that was asked for under that id.
"""

import asyncio
import json
import threading


class Urls:
    """The secret URLs of one rollout: each run of a seat takes the next of its seat's."""

    def __init__(self, seats):
        self.seats, self.taken = seats, {name: 0 for name in seats}
        # The number of the URL that was taken last, among those of its seat.
        self.newest = 0
        # Why a run had none; the package may hide it in a group of exceptions.
        self.shortage = None

    def take(self, seat):
        number = self.taken[seat]
        urls = self.seats[seat]
        if number >= len(urls):
            self.shortage = (
                f"the seat {seat} was run more than {len(urls)} times in one rollout: raise the setting runs_per_seat"
            )
            raise RuntimeError(self.shortage)
        self.taken[seat] = number + 1
        self.newest = number
        return urls[number]


async def serve(lines, request, environment, answered, failed):
    """
    Handles requests as they come, each in a task of its own, until there are no more. `request` is the one that opens
    the environment, which `environment` does.
    """
    loop, tasks, done = asyncio.get_running_loop(), {}, asyncio.Event()
    cancelled = set()
    opened = None

    async def handle(number, operation, values):
        nonlocal opened
        try:
            if operation == "open":
                opened, answer = environment(values)
                await opened.start()
            elif operation == "rollout":
                del values["handle"]
                answer = await opened.rollout(**values)
            else:
                raise ValueError(f"unknown operation {operation}")
            answered(number, answer)
        except asyncio.CancelledError:
            if number in cancelled or done.is_set():
                raise
            failed(number, RuntimeError("the package cancelled the rollout: a reward or tool raised CancelledError"))
        except Exception as error:  # An environment may raise anything; it is the answer.
            failed(number, error)
        finally:
            del tasks[number]
            cancelled.discard(number)

    def take(values):
        number, operation = values.pop("id"), values.pop("op")
        if operation != "cancel":
            tasks[number] = loop.create_task(handle(number, operation, values))
        elif number in tasks:
            cancelled.add(number)
            tasks[number].cancel()

    def read():
        for line in lines:
            loop.call_soon_threadsafe(take, json.loads(line))
        loop.call_soon_threadsafe(done.set)

    take(request)
    threading.Thread(target=read, daemon=True).start()
    await done.wait()
    under_way = list(tasks.values())
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)
    if opened is not None:
        await opened.close()
