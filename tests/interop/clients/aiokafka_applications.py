"""A consumer in a group, with aiokafka."""

import asyncio

from aiokafka import AIOKafkaConsumer
from application import GROUP, LIMIT_S, PYTHON_CLIENT, TOPIC, run


async def consume():
    client = AIOKafkaConsumer(
        TOPIC,
        **PYTHON_CLIENT,
        group_id=GROUP,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    async with asyncio.timeout(LIMIT_S):
        await client.start()
        try:
            await client.getone()
            await client.commit()
        finally:
            await client.stop()


def consumer():
    asyncio.run(consume())


run(consumer)
