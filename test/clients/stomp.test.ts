// The STOMP gateway with stomp.py, the client that Debian has: section F6 of the gateway contract.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { type Broker, runProgram, type Scope, shared, startBroker, type WatchedProcess } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { versionsOf } from '../test-length.ts'

interface StompBroker extends Broker {
  readonly stompPort: number
}

async function startStomp(t: Scope, more: readonly string[] = []): Promise<StompBroker> {
  const stompPort = await reservePort(t)
  const set = [`gateway.stomp.listeners.tcp.default.bind=127.0.0.1:${stompPort}`, 'node.shards=2', ...more]
  return { ...(await startBroker(t, { set })), stompPort }
}

/** One broker for tests that store nothing. */
const startShared = shared((scope) => startStomp(scope))

/**
 * A Python program with a connected `connection`, and with `show`, which prints received messages. The program ends when its input ends.
 * Another thread prints, which does not keep the program running.
 */
function python(t: Scope, port: number, version: '10' | '11' | '12', body: string): WatchedProcess {
  const program = `
import os, stomp, sys
def show(*words):
    os.write(1, (" ".join(words) + "\\n").encode())
class Listener(stomp.ConnectionListener):
    def on_message(self, frame):
        headers = frame.headers
        show("MESSAGE", headers["destination"], frame.body, headers.get("kind", "-"))
        if "ack" in headers: connection.ack(headers["ack"])
    def on_receipt(self, frame):
        show("RECEIPT", frame.headers["receipt-id"])
    def on_error(self, frame):
        show("ERROR", frame.headers["message"])
    def on_disconnected(self):
        show("DISCONNECTED")
connection = stomp.Connection${version}([("127.0.0.1", ${port})], heartbeats=(10000, 10000)) if "${version}" != "10" else stomp.Connection10([("127.0.0.1", ${port})])
connection.set_listener("", Listener())
try:
    connection.connect("device", "secret", wait=True)
    show("CONNECTED")
    ${body.trim().replaceAll('\n', '\n    ')}
except stomp.exception.ConnectFailedException:
    show("FAILED")
sys.stdin.read()
`
  return runProgram(t, '/usr/bin/python3', ['-c', program])
}

for (const version of versionsOf('10', '11', '12')) {
  test(`[F6] stomp.py sends and receives with version ${version.split('').join('.')}, across shards`, async (t) => {
    const broker = await startShared()
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5 })
    t.after(() => client.end(true))
    const message = new Promise<string>((resolve) =>
      client.once('message', (topic, payload, { qos, properties }) =>
        resolve(`${topic} ${payload.toString()} ${qos} ${JSON.stringify(properties?.userProperties)}`),
      ),
    )
    await client.subscribeAsync('up/#', { qos: 1 })
    const device = python(
      t,
      broker.stompPort,
      version,
      `
connection.subscribe("down/#", id="1", ack="${version === '12' ? 'client-individual' : 'auto'}", receipt="subscribed")
sys.stdin.readline()
connection.send("up/1", "21.5", receipt="sent", kind="a\\nb" if "${version}" != "10" else "a")
sys.stdin.readline()
connection.disconnect(receipt="gone")
`,
    )
    await device.until(/RECEIPT subscribed/)
    for (const number of [1, 2, 3])
      await client.publishAsync('down/1', String(number), { qos: 1, properties: { userProperties: { kind: 'k' } } })
    const [, received] = await device.until(/RECEIPT subscribed\n([^]* 3 k\n)/)
    assert.equal(received, [1, 2, 3].map((number) => `MESSAGE down/1 ${number} k\n`).join(''))
    device.child.stdin?.write('\n')
    await device.until(/RECEIPT sent/)
    assert.equal(await message, `up/1 21.5 1 {"kind":${JSON.stringify(version === '10' ? 'a' : 'a\nb')}}`)
    device.child.stdin?.write('\n')
    await device.until(/RECEIPT gone/)
    device.child.stdin?.end()
    assert.equal(await device.ended, 0, device.errors)
  })
}

test('[F6] a wrong password is refused with ERROR', async (t) => {
  const broker = await startStomp(t, ['auth.allow_anonymous=false'])
  const refused = python(t, broker.stompPort, '12', '')
  await refused.until(/ERROR the login was refused/)
  await refused.until(/FAILED/)
})

test('[F6] messages of a committed transaction of stomp.py are delivered, those of an aborted one are not', async (t) => {
  const broker = await startShared()
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.end(true))
  const received: string[] = []
  const last = new Promise<void>((resolve) =>
    client.on('message', (_, payload) => {
      received.push(payload.toString())
      if (payload.toString() === 'end') resolve()
    }),
  )
  await client.subscribeAsync('up', { qos: 1 })
  const device = python(
    t,
    broker.stompPort,
    '12',
    `
one = connection.begin()
connection.send("up", "committed", transaction=one)
two = connection.begin()
connection.send("up", "aborted", transaction=two)
connection.send("up", "outside")
connection.abort(two)
connection.commit(one)
connection.send("up", "end", receipt="end")
`,
  )
  await device.until(/RECEIPT end/)
  await last
  assert.deepEqual(received, ['outside', 'committed', 'end'])
})
