"""CoAP with aiocoap. See ../README.md for commands and events."""

import asyncio
import sys
import aiocoap

base, client_id = sys.argv[1:3]


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def uri(topic, more=""):
    return f"{base}/ps/{topic}?clientid={client_id}{more}"


def text_of(payload):
    return f"#{len(payload)}" if len(payload) > 1000 else payload.decode()


async def main():
    context = await aiocoap.Context.create_client_context()
    tasks = set()

    async def put(topic, name, payload, more):
        request = aiocoap.Message(code=aiocoap.PUT, uri=uri(topic, more), payload=payload)
        try:
            response = await context.request(request).response
            say(f"done {name} {response.code.dotted}")
        except aiocoap.error.Error as problem:
            say(f"failed {name} {type(problem).__name__}")

    async def observe(topic):
        pending = context.request(aiocoap.Message(code=aiocoap.GET, uri=uri(topic), observe=0))
        response = await pending.response
        say(f"observing {topic} {response.code.dotted}")
        async for notification in pending.observation:
            say(f"note {text_of(notification.payload)}")

    async def get(topic):
        response = await context.request(aiocoap.Message(code=aiocoap.GET, uri=uri(topic))).response
        say(f"value {response.code.dotted} {text_of(response.payload)}")

    def start(work):
        task = asyncio.ensure_future(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    say("ready")
    while line := (await reader.readline()).decode().rstrip("\n"):
        word, topic, *rest = line.split(" ")
        if word == "put":
            start(put(topic, rest[0], rest[0].encode(), "&qos=1"))
        elif word == "big":
            start(put(topic, "big", b"x" * int(rest[0]), "&qos=1&retain=true"))
        elif word == "observe":
            start(observe(topic))
        elif word == "get":
            start(get(topic))


asyncio.run(main())
