// The client over a stream in memory, with a simulated clock. The broker is the test.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generate, type Packet, parser } from 'mqtt-packet'
import { createConnectPacket, createStreamPair, MqttClient, createReceiveLimits } from '../../src/mqtt-client/index.ts'
import { parseTopicFilter, TopicTable, type TopicName } from '../../src/protocol/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'

class Stage {
  readonly client: MqttClient
  /** What the client reports, in order. */
  readonly seen: string[] = []
  readonly packets: Packet[] = []
  readonly #broker: ByteStream
  readonly #later: (() => void)[] = []
  readonly #timers = new Set<{ readonly atMs: number; readonly work: () => void }>()
  #nowMs = 0

  constructor({ keepAliveSeconds = 0, maxInFlight }: { keepAliveSeconds?: number; maxInFlight?: number } = {}) {
    const later = (work: () => void): void => void this.#later.push(work)
    const [clientEnd, brokerEnd] = createStreamPair(later)
    this.#broker = brokerEnd
    const received = parser({ protocolVersion: 5 })
    received.on('packet', (packet) => this.packets.push(packet))
    brokerEnd.onData = (chunk) => void received.parse(chunk)
    brokerEnd.onClose = () => this.seen.push('stream closed')
    const options = {
      connect: createConnectPacket({ version: 5, clientId: 'c', cleanStart: true, keepAliveSeconds }),
      link: {
        decoder: { role: 'client', version: 5, topics: new TopicTable(8), ...createReceiveLimits() },
        later,
        ownsChunks: false,
      },
      brokerName: 'the broker',
      ...(maxInFlight === undefined ? {} : { maxInFlight }),
      connectTimeoutMs: 5_000,
      nowMs: () => this.#nowMs,
      after: (delayMs: number, work: () => void) => {
        const timer = { atMs: this.#nowMs + delayMs, work }
        this.#timers.add(timer)
        return { cancel: () => this.#timers.delete(timer) }
      },
    } as const
    this.client = new MqttClient(clientEnd, options, {
      handleOpen: () => this.seen.push('open'),
      handleEnd: ({ message, by }) => this.seen.push(`end by ${by}: ${message}`),
      handleMessage: ({ topic, chunk, payloadStart, frameEnd }) =>
        this.seen.push(`${topic?.name} ${chunk.toString('utf8', payloadStart, frameEnd)}`),
    })
    this.settle()
  }

  get sent(): string {
    return this.packets.map(({ cmd }) => cmd).join(' ')
  }

  settle(): void {
    for (let work = this.#later.shift(); work !== undefined; work = this.#later.shift()) work()
  }

  give(...packets: readonly Packet[]): void {
    const bytes = packets.map((packet) => generate(packet, { protocolVersion: 5 }))
    this.#broker.write(Buffer.concat(bytes), () => {})
    this.settle()
  }

  accept(properties: object = {}): void {
    this.give({ cmd: 'connack', sessionPresent: false, reasonCode: 0, properties })
  }

  closeFromBroker(): void {
    this.#broker.end()
    this.settle()
  }

  passMs(ms: number): void {
    const endMs = this.#nowMs + ms
    for (;;) {
      const [due] = [...this.#timers]
        .filter(({ atMs }) => atMs <= endMs)
        .toSorted((one, other) => one.atMs - other.atMs)
      if (due === undefined) break
      this.#timers.delete(due)
      this.#nowMs = due.atMs
      due.work()
      this.settle()
    }
    this.#nowMs = endMs
  }

  publish(text: string, qos: 0 | 1 | 2 = 1): void {
    const message = { topic: 't' as TopicName, qos, retain: false, payload: Buffer.from(text) }
    this.client.publish(message, (result) => {
      if (result instanceof Error) this.seen.push(`${text} lost: ${result.message}`)
      else this.seen.push(`${text} ${result.result}${result.result === 'rejected' ? `: ${result.why}` : ''}`)
    })
    this.settle()
  }
}

test('messages wait for CONNACK and for the window of the broker', () => {
  const stage = new Stage({ maxInFlight: 3 })
  for (const text of ['a', 'b', 'c']) stage.publish(text)
  assert.equal(stage.sent, 'connect')
  stage.accept({ receiveMaximum: 2 })
  assert.equal(stage.sent, 'connect publish publish')
  assert.equal(stage.client.pending, 3)
  stage.give({ cmd: 'puback', messageId: 2, reasonCode: 0 })
  assert.equal(stage.sent, 'connect publish publish publish')
  assert.deepEqual(stage.seen, ['open', 'b accepted'])
})

test('a lower own limit applies instead of the window of the broker', () => {
  const stage = new Stage({ maxInFlight: 1 })
  stage.accept({ receiveMaximum: 2 })
  for (const text of ['a', 'b']) stage.publish(text)
  assert.equal(stage.sent, 'connect publish')
})

test('a rejected message has the reason of the broker, also in PUBREC', () => {
  const stage = new Stage()
  stage.accept()
  stage.publish('a', 1)
  stage.publish('b', 2)
  stage.give({ cmd: 'puback', messageId: 1, reasonCode: 0x87 }, { cmd: 'pubrec', messageId: 2, reasonCode: 0x97 })
  assert.deepEqual(stage.seen.slice(1), [
    'a rejected: the broker rejects the message: not authorized (0x87)',
    'b rejected: the broker rejects the message: quota exceeded (0x97)',
  ])
  assert.equal(stage.client.pending, 0)
})

test('a message that is larger than the broker accepts is rejected, and the next one is sent', () => {
  const stage = new Stage()
  stage.accept({ maximumPacketSize: 20 })
  stage.publish('x'.repeat(30))
  stage.publish('small')
  assert.match(stage.seen[1] ?? '', /the message has 38 bytes, and the broker accepts 20/)
  assert.equal(stage.sent, 'connect publish')
})

test('[MQTT5-4.3.3-10] a received QoS 2 message is reported once, until PUBREL', () => {
  const stage = new Stage()
  stage.accept()
  const message = { cmd: 'publish', topic: 't', qos: 2, messageId: 7, dup: false, retain: false } as const
  stage.give({ ...message, payload: 'one' }, { ...message, dup: true, payload: 'one' })
  stage.give({ cmd: 'pubrel', messageId: 7 }, { ...message, payload: 'two' })
  assert.deepEqual(stage.seen, ['open', 't one', 't two'])
  assert.equal(stage.sent, 'connect pubrec pubrec pubcomp pubrec')
})

test('subscriptions settle with the codes of the broker, and use other packet identifiers than messages', () => {
  const stage = new Stage()
  stage.accept()
  stage.publish('a')
  const filter = parseTopicFilter('t/#')
  assert.ok(filter !== undefined)
  const subscription = { filter, qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
  stage.client.subscribe({ subscriptions: [subscription], properties: undefined }, (response) =>
    stage.seen.push(response instanceof Error ? response.message : `codes ${response.reasonCodes.join()}`),
  )
  stage.client.unsubscribe({ filters: [filter], properties: undefined }, (response) =>
    stage.seen.push(response instanceof Error ? response.message : `codes ${response.reasonCodes.join()}`),
  )
  stage.settle()
  stage.give({ cmd: 'suback', messageId: 2, granted: [0x87] })
  stage.closeFromBroker()
  assert.deepEqual(stage.seen.slice(1, 3), ['codes 135', 'end by remote: the broker closed the connection'])
  assert.deepEqual(stage.seen.slice(3, 5), [
    'a lost: the broker closed the connection',
    'the broker closed the connection',
  ])
})

test('a refused connection, a DISCONNECT and a second CONNACK end the client with a reason', () => {
  const refused = new Stage()
  refused.give({ cmd: 'connack', sessionPresent: false, reasonCode: 0x86 })
  const disconnected = new Stage()
  disconnected.accept()
  disconnected.give({ cmd: 'disconnect', reasonCode: 0x95 })
  const second = new Stage()
  second.accept()
  second.accept()
  assert.deepEqual(
    [refused, disconnected, second].map(({ seen }) => seen.find((text) => text.startsWith('end'))),
    [
      'end by remote: the broker refuses the connection: bad user name or password (0x86)',
      'end by for-packet: the broker ended the connection: packet too large (0x95)',
      'end by remote: the broker sent a second CONNACK',
    ],
  )
  disconnected.publish('late')
  assert.equal(disconnected.seen.at(-1), 'late lost: the broker ended the connection: packet too large (0x95)')
})

test('a broker that does not accept the connection in time is left', () => {
  const stage = new Stage()
  stage.passMs(4_999)
  assert.deepEqual(stage.seen, [])
  stage.passMs(1)
  assert.equal(stage.seen[0], 'end by this-side: the broker did not accept within 5000 ms')
})

test('[MQTT5-3.1.2-20] PINGREQ is sent before the keep alive has passed, and a broker that sends nothing is left', () => {
  const stage = new Stage({ keepAliveSeconds: 60 })
  stage.accept({ serverKeepAlive: 20 })
  stage.passMs(15_000)
  assert.equal(stage.sent, 'connect pingreq')
  stage.give({ cmd: 'pingresp' })
  stage.passMs(29_000)
  assert.deepEqual(stage.seen, ['open'])
  stage.passMs(2_000)
  assert.equal(stage.seen[1], 'end by this-side: the broker does not respond')
})

test('an open connection is closed with DISCONNECT, and messages without an acknowledgement have the given reason', () => {
  const stage = new Stage()
  stage.accept()
  stage.publish('a')
  stage.client.close('the action is stopped')
  stage.settle()
  assert.equal(stage.sent, 'connect publish disconnect')
  assert.deepEqual(stage.seen.slice(1, 3), ['end by this-side: the action is stopped', 'a lost: the action is stopped'])
})
