// Gateways with the clients stomp.py of Debian and Wakaama: sections F5 (LwM2M) and F6 (STOMP) of the gateway requirements.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt, { connectAsync, type MqttClient } from 'mqtt'
import { runProgram, type Scope, shared, type WatchedProcess } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { shareConfigurableBroker } from '../management/api.ts'
import { longTest, versionsOf } from '../test-length.ts'
import { startWakaama } from './wakaama-client.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

const key = '7369787465656e2d627974652d6b6579'

const sharedPorts = shared(async (scope) => ({
  stomp: await reservePort(scope),
  udp: await reservePort(scope),
  dtls: await reservePort(scope),
}))

/** One broker for all tests. `more`: settings of a test. */
async function startShared(more: readonly string[] = []) {
  const ports = await sharedPorts()
  const dtls = 'gateway.lwm2m.listeners.dtls.default'
  const { port } = await configuredBroker([
    `gateway.stomp.listeners.tcp.default.bind="127.0.0.1:${ports.stomp}"`,
    `gateway.lwm2m.listeners.udp.default.bind="127.0.0.1:${ports.udp}"`,
    `${dtls}.bind="127.0.0.1:${ports.dtls}"`,
    `${dtls}.dtls_options.psk=["meter:${key}"]`,
    'gateway.lwm2m.update_msg_publish_condition=always',
    'event_message.client_disconnected=true',
    ...more,
  ])
  return { port, ports, stompPort: ports.stomp }
}

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
  const broker = await startShared(['auth.allow_anonymous=false'])
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

type Document = Readonly<Record<string, unknown>>

/** Messages that the gateway publishes for one device. */
class Uplink {
  readonly #client: MqttClient
  readonly #endpoint: string
  readonly #documents: Document[] = []
  readonly #waiting = new Set<() => void>()

  private constructor(client: MqttClient, endpoint: string) {
    this.#client = client
    this.#endpoint = endpoint
    client.on('message', (_, payload) => {
      this.#documents.push(JSON.parse(payload.toString()) as Document)
      for (const look of this.#waiting) look()
    })
  }

  static async open(t: Scope, port: number, endpoint: string): Promise<Uplink> {
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`)
    t.after(() => client.end(true))
    const uplink = new Uplink(client, endpoint)
    await client.subscribeAsync(`lwm2m/${endpoint}/up/#`, { qos: 1 })
    return uplink
  }

  /** Returns and removes the first document with this type. */
  next(msgType: string): Promise<Document> {
    return new Promise((resolve) => {
      const look = (): void => {
        const at = this.#documents.findIndex((document) => document['msgType'] === msgType)
        if (at === -1) return
        this.#waiting.delete(look)
        resolve(this.#documents.splice(at, 1)[0] ?? assert.fail('no document'))
      }
      this.#waiting.add(look)
      look()
    })
  }

  /** The list of objects in the next update. */
  async nextObjects(): Promise<readonly string[]> {
    return ((await this.next('update'))['data'] as Document)['objectList'] as readonly string[]
  }

  async send(msgType: string, data: Document): Promise<void> {
    const command = JSON.stringify({ reqID: msgType, msgType, data })
    await this.#client.publishAsync(`lwm2m/${this.#endpoint}/dn/command`, command, { qos: 1 })
  }

  /** `data` of the response without the path of the request. */
  async request(msgType: string, data: Document): Promise<Document> {
    await this.send(msgType, data)
    const { reqID, data: response } = await this.next(msgType)
    assert.equal(reqID, msgType)
    const { reqPath: _, ...rest } = response as Document
    return rest
  }
}

const changed = { code: '2.04', codeMsg: 'changed' }
const content = (path: string, value: unknown) => ({ code: '2.05', codeMsg: 'content', content: [{ path, value }] })

test('[F5] Wakaama registers; commands over MQTT read, write, execute, observe and create objects', async (t) => {
  const { port, ports } = await startShared()
  const own = await reservePort(t)
  const uplink = await Uplink.open(t, port, 'wakaama')
  const device = await startWakaama(t, 'udp', { own, server: ports.udp }, ['-n', 'wakaama', '-t', '60'])
  const { data } = await uplink.next('register')
  const { ep, lt, b, objectList } = data as Document
  assert.deepEqual([ep, lt, b], ['wakaama', 60, 'U'])
  assert.deepEqual((objectList as readonly string[]).slice(0, 3), ['/1/0', '/2/0', '/3/0'])

  assert.deepEqual(await uplink.request('read', { path: '/3/0/0' }), content('/3/0/0', 'Open Mobile Alliance'))
  const whole = (await uplink.request('read', { path: '/3/0' }))['content'] as readonly Document[]
  const valueAt = (path: string): unknown => whole.find((one) => one['path'] === path)?.['value']
  assert.deepEqual(['/3/0/7/1', '/3/0/9', '/3/0/14'].map(valueAt), [5_000, 100, '+01:00'])
  const { content: links } = await uplink.request('discover', { path: '/3/0' })
  assert.deepEqual((links as readonly string[]).slice(0, 2), ['</3/0>', '</3/0/0>'])

  assert.deepEqual(await uplink.request('write', { path: '/3/0/14', type: 'String', value: '+02:00' }), changed)
  assert.deepEqual(await uplink.request('read', { path: '/3/0/14' }), content('/3/0/14', '+02:00'))
  assert.deepEqual(await uplink.request('execute', { path: '/3/0/12' }), changed)
  const instance = { basePath: '/31024', content: [{ path: '/31024/13/1', type: 'Integer', value: 42 }] }
  assert.deepEqual(await uplink.request('create', instance), { code: '2.01', codeMsg: 'created' })
  assert.ok((await uplink.nextObjects()).includes('/31024/13'))
  assert.deepEqual(await uplink.request('delete', { path: '/31024/13' }), { code: '2.02', codeMsg: 'deleted' })
  assert.ok(!(await uplink.nextObjects()).includes('/31024/13'))
  assert.deepEqual(await uplink.request('read', { path: '/9/0' }), { code: '4.04', codeMsg: 'not_found' })

  assert.deepEqual(await uplink.request('observe', { path: '/3/0/9' }), content('/3/0/9', 100))
  device.child.stdin?.write('change /3/0/9 77\n')
  const notified = (await uplink.next('notify'))['data'] as Document
  assert.deepEqual(notified, { reqPath: '/3/0/9', ...content('/3/0/9', 77) })

  device.child.stdin?.write('update 123\n')
  assert.equal((await uplink.next('update'))['msgType'], 'update')
  const events = await connectAsync(`mqtt://127.0.0.1:${port}`)
  t.after(() => events.end(true))
  await events.subscribeAsync('$event/client_disconnected', { qos: 1 })
  const ended = new Promise<readonly [string, Document]>((resolve) =>
    events.on('message', (topic, payload) => {
      const event = JSON.parse(payload.toString()) as Document
      if (event['clientid'] === 'wakaama') resolve([topic, event])
    }),
  )
  device.child.stdin?.write('quit\n')
  await device.ended
  const [topic, { reason }] = await ended
  assert.deepEqual([topic, reason], ['$event/client_disconnected', 'normal'])
})

// Daily: Wakaama over UDP above, libcoap over DTLS in test/clients/coap.test.ts.
longTest(
  '[F5, F7] Wakaama registers over DTLS with a pre-shared key and tinydtls, and responds to commands',
  async (t) => {
    const { port, ports } = await startShared()
    const own = await reservePort(t)
    const uplink = await Uplink.open(t, port, 'secure')
    await startWakaama(t, 'dtls', { own, server: ports.dtls }, ['-n', 'secure', '-t', '60', '-i', 'meter', '-s', key])
    const { data } = await uplink.next('register')
    assert.equal((data as Document)['ep'], 'secure')
    const read = await uplink.request('read', { path: '/3/0/0' })
    assert.deepEqual(read['content'], [{ path: '/3/0/0', value: 'Open Mobile Alliance' }])
    assert.deepEqual(await uplink.request('execute', { path: '/3/0/12' }), changed)
  },
)
