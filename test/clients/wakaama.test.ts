// The LwM2M gateway with Wakaama's client: section F5 of the gateway contract.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { type Scope, shared, startBroker } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { startWakaama } from './wakaama-client.ts'
import { longTest } from '../test-length.ts'

const key = '7369787465656e2d627974652d6b6579'

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

const startShared = shared(async (scope) => {
  const ports = { udp: await reservePort(scope), dtls: await reservePort(scope) }
  const dtls = 'gateway.lwm2m.listeners.dtls.default'
  const { port } = await startBroker(scope, {
    set: [
      `gateway.lwm2m.listeners.udp.default.bind=127.0.0.1:${ports.udp}`,
      `${dtls}.bind=127.0.0.1:${ports.dtls}`,
      `${dtls}.dtls_options.psk=["meter:${key}"]`,
      'gateway.lwm2m.update_msg_publish_condition=always',
      'event_message.client_disconnected=true',
      'node.shards=2',
    ],
  })
  return { port, ports }
})

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
  const ended = new Promise<readonly [string, Buffer]>((resolve) =>
    events.once('message', (topic, payload) => resolve([topic, payload])),
  )
  device.child.stdin?.write('quit\n')
  await device.ended
  const [topic, payload] = await ended
  const { clientid, reason } = JSON.parse(payload.toString()) as Document
  assert.deepEqual([topic, clientid, reason], ['$event/client_disconnected', 'wakaama', 'normal'])
})

// Daily: Wakaama over UDP above, libcoap over DTLS in test/clients/dtls.test.ts.
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
