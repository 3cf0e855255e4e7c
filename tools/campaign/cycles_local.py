"""Both sides of a connection in one process, opened and closed again and again: `python -m campaign.cycles_local CYCLES`.

The socket is real, and so is the code of either side; only the process between them is left out.
"""

import asyncio
import json
import socket
import sys
import time
import tracemalloc
from typing import Any

from support.process_marks import PATIENCE_S

from campaign.cycling import Account
from engine_intelligence import (
    Completed,
    Deadlines,
    IntelligenceLimits,
    PortEnded,
    create_intelligence_port_client,
)
from engine_intelligence.host.config import HostPlan, plan_host
from engine_intelligence.host.server import HostServer
from engine_intelligence.ports.realm_link import SocketLink
from engine_intelligence.ports.realm_stream import RealmStream
from engine_intelligence.protocol.bootstrap import ProviderSource


async def cycle(plan: HostPlan) -> str | None:
    """Open, submit, poll to the end and close; what was said, or `None` if there was no end to it."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    server = HostServer(plan, None)
    await asyncio.get_running_loop().create_connection(lambda: server.stream, sock=theirs)
    serving = asyncio.ensure_future(server.run())
    stream = RealmStream(SocketLink(ours))
    client = create_intelligence_port_client("scripted", stream.open("scripted"))
    output = None
    client.submit("hello")
    end = time.monotonic() + PATIENCE_S
    while output is None and not client.closed and time.monotonic() < end:
        await asyncio.sleep(0)
        output = next((event.output for event in client.poll() if isinstance(event, Completed)), None)
    await client.close()
    stream.end(PortEnded("cycle-over", "This cycle is over."))
    await serving
    return output


async def main(cycles: int) -> dict[str, Any]:
    """So many cycles, and what this process holds before and after them."""
    tracemalloc.start()
    source = ProviderSource("scripted", "scripted", {"text": "one two three", "interval_s": 0})
    plan = plan_host(source, IntelligenceLimits(), Deadlines())
    account = Account(cycles, tasks=True)
    for number in account.cycles():
        account.check(await cycle(plan), number)
    return account.record()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1])))))
