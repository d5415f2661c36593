// Messages for another MQTT broker, which the test simulates with packets in memory, and the outcome of each message.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generate, parser, type Packet } from 'mqtt-packet'
import { MqttSink, mqttSinkType, type MqttConnection } from '../../src/sinks/mqtt/mqtt-sink.ts'
import { ConnectionEnded, type PublishResult } from '../../src/mqtt-client/index.ts'
import { MqttPublisher, type PublisherSettings } from '../../src/sinks/mqtt/mqtt-publisher.ts'
import type { TopicName } from '../../src/protocol/index.ts'
import { FakeStream } from '../shard/fake-stream.ts'
import { compileTemplate } from '../../src/rules/index.ts'
import { RuleError } from '../../src/values/index.ts'
import type { CompileTemplate } from '../../src/sinks/index.ts'

const settings = {
  version: 5,
  clientId: 'c',
  username: undefined,
  password: undefined,
  keepAliveMs: 0,
  dial: { connectTimeoutMs: 60_000 },
} as PublisherSettings

/** A remote broker behind a stream in memory. */
class Remote {
  readonly stream = new FakeStream()
  readonly packets: Packet[] = []
  readonly #parser = parser({ protocolVersion: 5 })
  #look: () => void = () => {}

  constructor() {
    this.#parser.on('packet', (packet) => this.packets.push(packet))
    this.stream.onTaken = (bytes) => {
      this.#parser.parse(bytes)
      this.#look()
    }
  }

  send(packet: Packet): void {
    this.stream.onData(generate(packet, { protocolVersion: 5 }))
  }

  /** Resolves with the packets of a type when there are `count` of them. */
  async until(cmd: Packet['cmd'], count: number): Promise<readonly Packet[]> {
    for (;;) {
      const found = this.packets.filter((packet) => packet.cmd === cmd)
      if (found.length >= count) return found
      await new Promise<void>((resolve) => (this.#look = resolve))
    }
  }
}

async function connected(properties: object): Promise<{ readonly remote: Remote; readonly publisher: MqttPublisher }> {
  const remote = new Remote()
  const publisher = new MqttPublisher(settings, remote.stream)
  await remote.until('connect', 1)
  remote.send({ cmd: 'connack', sessionPresent: false, reasonCode: 0, properties })
  await publisher.opened
  return { remote, publisher }
}

const message = (text: string, qos: 0 | 1 | 2 = 1) => ({
  topic: 't' as TopicName,
  qos,
  retain: true,
  payload: Buffer.from(text),
})

test('[MQTT5-3.3.4-7] the number of messages in flight is at most the Receive Maximum of the remote broker', async () => {
  const { remote, publisher } = await connected({ receiveMaximum: 2 })
  const results = ['a', 'b', 'c'].map((text) => publisher.publish(message(text)))
  const [first] = await remote.until('publish', 2)
  publisher.ping().catch(() => {})
  await remote.until('pingreq', 1)
  assert.equal(remote.packets.filter(({ cmd }) => cmd === 'publish').length, 2)
  remote.send({ cmd: 'puback', messageId: first.messageId ?? 0, reasonCode: 0 })
  const all = await remote.until('publish', 3)
  for (const { messageId = 0 } of all.slice(1)) remote.send({ cmd: 'puback', messageId, reasonCode: 0 })
  assert.deepEqual(
    (await Promise.all(results)).map(({ result }) => result),
    ['accepted', 'accepted', 'accepted'],
  )
  publisher.close()
})

test('[MQTT5-4.3.3-4] a QoS 2 message is released after PUBREC, and delivered with PUBCOMP', async () => {
  const { remote, publisher } = await connected({})
  let isTaken = false
  const result = publisher.publish(message('a', 2)).then(() => (isTaken = true))
  const [{ messageId = 0 }] = await remote.until('publish', 1)
  remote.send({ cmd: 'pubrec', messageId, reasonCode: 0 })
  await remote.until('pubrel', 1)
  assert.equal(isTaken, false)
  remote.send({ cmd: 'pubcomp', messageId, reasonCode: 0 })
  await result
  publisher.close()
})

test('QoS and retain are reduced to the maximum of the remote broker, but QoS 1 is not reduced to 0', async () => {
  const { remote, publisher } = await connected({ maximumQoS: 1, retainAvailable: false })
  void publisher.publish(message('a', 2))
  const [packet] = await remote.until('publish', 1)
  assert.ok(packet.cmd === 'publish')
  assert.deepEqual([packet.qos, packet.retain], [1, false])
  const { publisher: other } = await connected({ maximumQoS: 0 })
  const result = await other.publish(message('a', 1))
  assert.match('why' in result ? result.why : '', /QoS 0 only/)
})

test('messages in flight fail with the reason of the remote broker', async () => {
  const { remote, publisher } = await connected({})
  const result = publisher.publish(message('a'))
  await remote.until('publish', 1)
  remote.send({ cmd: 'disconnect', reasonCode: 0x95 })
  await assert.rejects(result, (error) => error instanceof ConnectionEnded && error.by === 'for-packet')
  await assert.rejects(publisher.ping(), /packet too large \(0x95\)/)
})

/** Each connection accepts the messages that `fate` accepts, and closes at the first other one. */
class FatefulConnection implements MqttConnection {
  isOpen = true
  readonly #fate: (payload: string) => PublishResult | ConnectionEnded
  #ended: ConnectionEnded | undefined

  constructor(fate: (payload: string) => PublishResult | ConnectionEnded) {
    this.#fate = fate
  }

  async publish({ payload }: { readonly payload: Buffer }): Promise<PublishResult> {
    if (this.#ended !== undefined) throw this.#ended
    const fate = this.#fate(payload.toString())
    if (!(fate instanceof ConnectionEnded)) return fate
    this.isOpen = false
    this.#ended = fate
    throw fate
  }

  async ping(): Promise<void> {
    if (this.#ended !== undefined) throw this.#ended
  }

  close(): void {
    this.isOpen = false
  }
}

const entries = (texts: readonly string[], flags = '1') =>
  texts.map((text) => ({
    payload: Buffer.from(text),
    attributes: [
      ['topic', 't'],
      ['flags', flags],
    ] as const,
  }))

const sinkWith = (fate: (payload: string) => PublishResult | ConnectionEnded): MqttSink =>
  new MqttSink(async () => new FatefulConnection(fate), { connectTimeoutMs: 60_000, requestTimeoutMs: 60_000 })

const write = async (sink: MqttSink, texts: readonly string[], flags?: string): Promise<string> =>
  (await sink.write(entries(texts, flags))).map(({ outcome }) => outcome).join(' ')

test('a message for which the remote broker closes the connection is identified and refused, and the others are delivered', async () => {
  const sink = sinkWith((payload) =>
    payload === 'bad' ? new ConnectionEnded('packet too large', 'for-packet') : { result: 'accepted' },
  )
  assert.equal(await write(sink, ['a', 'bad', 'b']), 'done retry retry')
  assert.equal(await write(sink, ['bad', 'b']), 'refused retry')
  assert.equal(await write(sink, ['b']), 'done')
})

test('if the remote broker closes the connection without a reason, the message is refused after the third time', async () => {
  const sink = sinkWith((payload) =>
    payload === 'bad' ? new ConnectionEnded('closed', 'remote') : { result: 'accepted' },
  )
  assert.equal(await write(sink, ['bad', 'a']), 'retry retry')
  assert.equal(await write(sink, ['bad', 'a']), 'retry retry')
  assert.equal(await write(sink, ['bad', 'a']), 'retry retry')
  assert.equal(await write(sink, ['bad', 'a']), 'refused retry')
  assert.equal(await write(sink, ['a']), 'done')
})

test('a message is not refused because the network fails', async () => {
  const sink = sinkWith(() => new ConnectionEnded('no response within 60000 ms', 'this-side'))
  for (let round = 0; round < 10; round++) assert.equal(await write(sink, ['a']), 'retry')
})

test('a message with a temporary reason is sent again, one with another reason is refused', async () => {
  const sink = sinkWith((payload) => ({ result: 'rejected', reasonCode: Number(payload), why: 'why' }))
  assert.equal(
    await write(sink, ['151', '137', '150', '135', '153', '128']),
    'retry retry retry refused refused refused',
  )
})

test('a QoS 0 message is delivered when the remote broker has responded to a later PINGREQ', async () => {
  let pings = 0
  const connection: MqttConnection = {
    isOpen: true,
    publish: async () => ({ result: 'accepted' }),
    ping: async () => {
      pings++
      throw new ConnectionEnded('reset', 'remote')
    },
    close: () => {},
  }
  const sink = new MqttSink(async () => connection, { connectTimeoutMs: 60_000, requestTimeoutMs: 60_000 })
  assert.equal(await write(sink, ['a', 'b'], '0'), 'retry retry')
  assert.equal(pings, 1)
  assert.equal(await write(sink, ['a', 'b'], '1'), 'done done')
})

type Action = Parameters<typeof mqttSinkType.createRenderer>[0]

const action = (parameters: object): Action =>
  ({ parameters: { topic: 't', qos: '1', retain: 'false', payload: undefined, ...parameters } }) as Action

test('values that are not a topic, QoS or flag are errors of the rule', () => {
  const compile = compileTemplate as CompileTemplate
  const render = (parameters: object, data: Record<string, unknown>) =>
    mqttSinkType.createRenderer(action(parameters), compile, () => 'all')(data)
  assert.deepEqual(render({ qos: '${qos}', retain: '${flags.retain}' }, { qos: 2, flags: { retain: true } }), {
    payload: Buffer.from('all'),
    attributes: [
      ['topic', 't'],
      ['flags', '2r'],
    ],
  })
  assert.throws(() => render({ topic: '${a}' }, { a: 'b/#' }), /the topic "b\/#" is empty or has a wildcard/)
  assert.throws(() => render({ qos: '${a}' }, { a: 3 }), /the QoS "3" is not 0, 1 or 2/)
  assert.throws(() => render({ retain: '${a}' }, { a: 'x' }), /retain "x" is not true or false/)
  assert.match(mqttSinkType.findActionProblem(action({ qos: '4' }), compile) ?? '', /parameters.qos/)
  assert.match(mqttSinkType.findActionProblem(action({ topic: '' }), compile) ?? '', /parameters.topic/)
})

function renderTopic(topic: string, data: Record<string, string>): string | undefined {
  const action = { parameters: { topic, qos: '1', retain: 'false', payload: 'x' } } as never
  const render = mqttSinkType.createRenderer(action, compileTemplate, () => '')
  try {
    return render(data).attributes.find(([name]) => name === 'topic')?.[1]
  } catch (error) {
    assert.ok(error instanceof TypeError || error instanceof RuleError)
    return undefined
  }
}

test('a value in the topic is one level, and never makes it a topic that begins with $', () => {
  for (const value of ['+', '#', 'a/b', '/', 'a\0', '$SYS', '$share/g/t', '', 'a\nb', 'a\u0085']) {
    const data = { clientid: value, username: value, v: value }
    for (const template of [
      '${clientid}',
      '${username}',
      'out/${clientid}',
      'out/${username}/x',
      'out/${v}',
      '$${v}/x',
    ])
      assert.equal(renderTopic(template, data), undefined, `${template} with ${JSON.stringify(value)}`)
  }
  for (const v of ['$SYS/x', '$share/g/t', '$delayed/1/t']) assert.equal(renderTopic('${v}', { v }), undefined)
  assert.equal(renderTopic('$${v}/x', { v: 'SYS' }), undefined)
  assert.equal(renderTopic('$SYS/${v}', { v: 'x' }), '$SYS/x')
  assert.equal(renderTopic('${v}', { v: 'a/b' }), 'a/b', 'the rule has composed it')
  assert.equal(renderTopic('out/${topic}', { topic: 'a/b' }), 'out/a/b')
  assert.equal(renderTopic('${topic}', { topic: '$SYS/x' }), '$SYS/x')
  assert.equal(renderTopic('out/${clientid}', { clientid: 'c$1' }), 'out/c$1')
})
