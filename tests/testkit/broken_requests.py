"""Requests whose bytes were damaged: cut, lengthened, changed, in the body and in the header.

Requests that change something are sent by somebody without any right: a damaged one may ask for
ten thousand partitions.
"""

import random
from collections.abc import Iterator

from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from testkit.conversation_cases import OPEN
from testkit.conversations import Conversation, Turn, header, sized
from testkit.random_requests import RandomRequests

OF_READERS = ("Metadata", "Describe", "List", "ApiVersions", "Find")


SOUND = Turn(sized(header(18, 0)), ApiVersionsResponse, 0, name="ApiVersionsRequest")
"""What is asked behind it: an answer shows that the connection is still open, and in step."""


def broken_conversations(seed: int) -> Iterator[Conversation]:
    """Yield, without end, conversations of one damaged request and a sound one behind it."""
    chance = random.Random(seed)
    stream = RandomRequests(seed)
    while True:
        step = stream.step()
        name = type(step.request).__name__
        head = header(step.request.API_KEY, step.version)
        body = damaged(step.request.encode(step.version), chance)
        turn = Turn(sized(head + body), step.response, step.version, name=name)
        is_reader = name.startswith(OF_READERS)
        listener, before = ("plain", ()) if is_reader else ("sasl", OPEN)
        what = f"{name} v{step.version} {body.hex()}"
        yield Conversation(what, listener, (*before, turn, SOUND))


def damaged(body: bytes, chance: random.Random) -> bytes:
    """Return the bytes with one or two things wrong."""
    for _ in range(chance.choice((1, 1, 2))):
        place = chance.randint(0, len(body))
        kind = chance.randrange(4)
        if kind == 0:
            body = body[:place]
        elif kind == 1:
            body = (
                body[:place] + chance.choice((b"\0", b"\xff", b"\x7f", b"\1")) + body[place + 1 :]
            )
        elif kind == 2:
            body = body[:place] + chance.randbytes(chance.randint(1, 4)) + body[place:]
        else:
            body += chance.randbytes(chance.randint(1, 6))
    return body
