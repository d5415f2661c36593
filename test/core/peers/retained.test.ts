// One shard stores the retained message of each topic, and each subscriber on any shard gets it once.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { computeTopicShard, type CoreSettings } from '../../../src/core/index.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'
import { testLength } from '../../test-length.ts'

const seeds = testLength({ daily: 80, long: 600 })

const stored = { expirySeconds: 3_600 } as const

/** Returns a topic that the shard owns. */
function topicOn(shard: number, name: string): string {
  for (let attempt = 0; ; attempt++)
    if (computeTopicShard(`t/${name}${attempt}`, 3) === shard) return `t/${name}${attempt}`
}

describe('a retained message', () => {
  for (const qos of [0, 1, 2] as const) {
    test(`of QoS ${qos} is sent on every shard, whichever published it and whichever stores it`, () => {
      for (const publisher of [0, 1, 2]) {
        for (const owner of [0, 1, 2]) {
          for (const reader of [0, 1, 2]) {
            const cores = new SeveralCores({ seed: publisher * 9 + owner * 3 + reader })
            const topic = topicOn(owner, 'a')
            const author = cores.client(publisher, 'author')
            cores.settle()
            author.publish(topic, 'x', { qos, retain: true })
            cores.settle()
            const [exact, wild] = [cores.client(reader, 'exact'), cores.client(reader, 'wild')]
            cores.settle()
            exact.subscribe(topic)
            wild.subscribe('t/#')
            cores.settle()
            for (const { received: messages } of [exact, wild]) {
              assert.deepEqual(
                messages.map(({ payload, retain }) => [payload, retain]),
                [['x', true]],
              )
            }
          }
        }
      }
    })
  }

  test('is sent after SUBACK, also if that waits for the disk', () => {
    for (let seed = 0; seed < 50; seed++) {
      const cores = new SeveralCores({ seed })
      const author = cores.client(0, 'author')
      cores.settle()
      for (const owner of [0, 1, 2]) author.publish(topicOn(owner, 'a'), 'x', { qos: 1, retain: true })
      cores.settle()
      const reader = cores.client(seed % 3, 'reader', stored)
      cores.settle()
      reader.subscribe('t/#')
      cores.settle()
      assert.deepEqual(
        reader.received.map(({ granted }) => granted),
        [1, 1, 1],
        `seed ${seed}`,
      )
    }
  })

  test('for a gateway client is sent before the PINGRESP to its PINGREQ, whichever shard stores it and however late it arrives', () => {
    for (const owner of [0, 1, 2]) {
      for (const name of ['present', 'absent']) {
        const cores = new SeveralCores({ seed: owner })
        const author = cores.client(0, 'author')
        cores.settle()
        author.publish(topicOn(owner, 'present'), 'x', { qos: 1, retain: true })
        cores.settle()
        const [device, other] = [cores.client(0, 'device', { isGatewayClient: true }), cores.client(0, 'other')]
        cores.settle()
        if (owner !== 0) cores.holdLink(owner, 0)
        for (const reader of [device, other]) {
          reader.subscribe(topicOn(owner, name), { qos: 0 })
          reader.ping()
        }
        cores.settle()
        assert.deepEqual([device.pingresps.length, other.pingresps.length], [owner === 0 ? 1 : 0, 1])
        if (owner !== 0) cores.releaseLink(owner, 0)
        cores.settle()
        assert.deepEqual(device.pingresps, [name === 'present' ? 1 : 0])
        assert.deepEqual(device.payloads, other.payloads)
        device.ping()
        cores.settle()
        assert.equal(device.pingresps.length, 2, 'later ones get PINGRESP at once')
      }
    }
  })

  test('is durable on its owner shard before PUBACK, and survives the node', () => {
    const cores = new SeveralCores()
    const author = cores.client(0, 'author')
    cores.settle()
    const topic = topicOn(1, 'a')
    cores.holdLink(1, 0)
    author.publish(topic, 'x', { qos: 1, retain: true })
    cores.settle()
    assert.equal(author.acknowledged.size, 0)
    cores.releaseLink(1, 0)
    cores.settle()
    assert.equal(author.acknowledged.size, 1)
    cores.killAll()
    cores.startAll()
    cores.settle()
    const reader = cores.client(2, 'reader')
    cores.settle()
    reader.subscribe(topic)
    cores.settle()
    assert.deepEqual(reader.payloads, ['x'])
  })

  test('is deleted on all shards by an empty one', () => {
    const cores = new SeveralCores()
    const author = cores.client(0, 'author')
    cores.settle()
    for (const owner of [0, 1, 2]) author.publish(topicOn(owner, 'a'), 'x', { retain: true })
    for (const owner of [0, 1]) author.publish(topicOn(owner, 'a'), '', { retain: true })
    cores.settle()
    const reader = cores.client(1, 'reader')
    cores.settle()
    reader.subscribe('t/+')
    cores.settle()
    assert.deepEqual(
      reader.received.map(({ topic }) => topic),
      [topicOn(2, 'a')],
    )
  })

  test('is stored by its shard when an administrator gets the result of a publication, at every QoS', () => {
    for (const qos of [0, 1, 2] as const) {
      const cores = new SeveralCores()
      const topic = topicOn(1, 'a')
      cores.holdLink(0, 1)
      const payload = Buffer.from('x')
      const command = {
        name: 'publish',
        clientId: '',
        topic,
        payload,
        qos,
        retain: true,
        properties: undefined,
      } as const
      const result = cores.command(0, command)
      cores.settle()
      assert.equal(result(), undefined, `QoS ${qos}`)
      cores.releaseLink(0, 1)
      cores.settle()
      assert.equal(result()?.done, true)
      assert.equal(cores.cores[1]?.core.view.retainedMessages, 1)
    }
  })

  test('follows retain handling as on one shard, also with No Local', () => {
    const cores = new SeveralCores()
    const topic = topicOn(1, 'a')
    const self = cores.client(0, 'self')
    cores.settle()
    self.publish(topic, 'x', { retain: true })
    cores.settle()
    self.subscribe(topic, { noLocal: true })
    cores.settle()
    assert.deepEqual(self.payloads, ['x'])
    const reader = cores.client(2, 'reader')
    cores.settle()
    reader.subscribe(topic, { retainHandling: 2 })
    cores.settle()
    assert.deepEqual(reader.payloads, [])
    reader.subscribe(topic, { retainHandling: 1 })
    cores.settle()
    assert.deepEqual(reader.payloads, [], 'the subscription existed')
    reader.unsubscribe(topic)
    cores.settle()
    reader.subscribe(topic, { retainHandling: 1 })
    cores.settle()
    assert.deepEqual(reader.payloads, ['x'])
  })

  test('arrives by the thousand as fast as the client acknowledges', () => {
    const cores = new SeveralCores({ settings: { maxQueuedMessages: 20 } })
    const author = cores.client(0, 'author')
    cores.settle()
    for (let number = 0; number < 1_000; number++) author.publish(`many/${number}`, `${number}`, { retain: true })
    cores.settle()
    const reader = cores.client(1, 'reader', { receiveMaximum: 5 })
    cores.settle()
    reader.subscribe('many/+', { qos: 1 })
    cores.settle()
    assert.equal(reader.payloads.length, 1_000)
    assert.equal(new Set(reader.payloads).size, 1_000)
  })

  test('of an unavailable shard is sent after its restart', () => {
    const cores = new SeveralCores()
    const [author, reader] = [cores.client(0, 'author'), cores.client(2, 'reader')]
    cores.settle()
    author.publish(topicOn(1, 'a'), 'x', { qos: 1, retain: true })
    cores.settle()
    cores.kill(1)
    author.publish(topicOn(1, 'b'), 'y', { qos: 0, retain: true })
    cores.settle()
    reader.subscribe('t/#')
    cores.settle()
    assert.equal(reader.grantedQoS.get('t/#'), 2)
    assert.deepEqual(reader.payloads, [])
    cores.start(1)
    cores.settle()
    assert.deepEqual(new Set(reader.payloads), new Set(['x', 'y']))
  })
})

const kindsOnLink = (cores: SeveralCores, from: number, to: number): (string | undefined)[] =>
  cores.messagesOnLink(from, to).map((message) => ('kind' in message ? message.kind : undefined))

/** An author on shard 0 with an old message to the topic on shard 1, and a subscriber on shard 2. */
function withRetainedMessage(settings: Partial<CoreSettings> = {}): {
  cores: SeveralCores
  topic: string
  author: PacketClient
  reader: PacketClient
} {
  const cores = new SeveralCores({ settings })
  const [author, reader] = [cores.client(0, 'author'), cores.client(2, 'reader')]
  cores.settle()
  const topic = topicOn(1, 'a')
  author.publish(topic, 'old', { retain: true })
  cores.settle()
  return { cores, topic, author, reader }
}

/** The subscriber requests the retained message, and a newer one of the author has not arrived yet. */
function withPendingRequest(): Pick<ReturnType<typeof withRetainedMessage>, 'cores' | 'topic' | 'reader'> {
  const { cores, topic, author, reader } = withRetainedMessage()
  cores.holdLink(0, 1)
  author.publish(topic, 'new', { retain: true })
  cores.settle()
  reader.subscribe(topic)
  cores.settle()
  return { cores, topic, reader }
}

describe('the shard that stores retained messages', () => {
  test('omits from its response the messages that the subscriber gets live, however late they arrive', () => {
    const { cores, topic, author, reader } = withRetainedMessage()
    // The shard of the author knows the subscriber; the confirmation of the other shard is not back.
    cores.holdLink(1, 2)
    reader.subscribe(topic)
    cores.settle()
    cores.holdLink(0, 2)
    author.publish(topic, 'new', { retain: true })
    cores.settle()
    cores.releaseLink(1, 2)
    cores.settle()
    assert.equal(reader.grantedQoS.get(topic), 2)
    assert.deepEqual(reader.payloads, [])
    cores.releaseLink(0, 2)
    cores.settle()
    assert.deepEqual(reader.payloads, ['new'])
  })

  test('waits for messages that were published before, however long they take', () => {
    const { cores, topic, reader } = withPendingRequest()
    cores.passMs(3_600_000)
    assert.deepEqual([reader.grantedQoS.get(topic), reader.payloads], [2, []])
    cores.releaseLink(0, 1)
    cores.settle()
    assert.deepEqual(reader.payloads, ['new'])
  })

  test('waits no longer for the messages of a shard that has failed', () => {
    const { cores, reader } = withPendingRequest()
    cores.kill(0)
    cores.settle()
    assert.deepEqual(reader.payloads, ['old'])
  })

  test('gets new numbers if it restarted before the shard of the publisher knew that', () => {
    const { cores, topic, author } = withRetainedMessage()
    for (let count = 0; count < 5; count++) author.publish(topic, `${count}`, { retain: true })
    cores.settle()
    for (const [from, to] of [
      [1, 0],
      [0, 1],
    ])
      cores.holdLink(from, to)
    cores.kill(1, { unnoticedBy: 0 })
    cores.start(1, { unnoticedBy: 0 })
    const reader = cores.client(2, 'later')
    cores.settle()
    reader.subscribe(topic)
    cores.settle()
    // Shard 0 has reported how many messages it had sent before the restart. They will never arrive.
    assert.deepEqual([reader.grantedQoS.get(topic), reader.payloads], [2, []])
    cores.noticeRestart(0, 1)
    for (const [from, to] of [
      [1, 0],
      [0, 1],
    ])
      cores.releaseLink(from, to)
    cores.settle()
    assert.deepEqual(reader.payloads, ['4'])
  })

  test('responds with about 256 KiB at a time', () => {
    const { cores, author, reader } = withRetainedMessage()
    for (const name of ['b', 'c', 'd', 'e', 'f'])
      author.publish(topicOn(1, name), name.repeat(100_000), { retain: true })
    cores.settle()
    reader.subscribe('t/+')
    while (!kindsOnLink(cores, 2, 1).includes('retained-request')) assert.ok(cores.step())
    cores.holdLink(1, 2)
    cores.settle()
    const responses = cores
      .messagesOnLink(1, 2)
      .filter((message) => 'kind' in message && message.kind === 'retained-response')
    assert.equal(responses.length, 1)
    const [response] = responses
    const bytes = response.messages.map(({ payloadBytes }) => payloadBytes)
    assert.ok(!response.isEnd && bytes.filter((count) => count > 1_000).length === 2, bytes.join(' '))
    cores.releaseLink(1, 2)
    cores.settle()
    assert.equal(reader.payloads.length, 6)
  })

  test('reads a large message before it responds, and omits it if it was replaced meanwhile', () => {
    for (const replaces of [false, true]) {
      const { cores, author, reader, topic } = withRetainedMessage({ maxRetainedBytesInMemory: 0 })
      reader.subscribe(topic)
      const owner = cores.cores[1]
      assert.ok(owner !== undefined)
      while (!owner.isReading) assert.ok(cores.step())
      if (replaces) {
        cores.holdLink(1, 2)
        author.publish(topic, 'new', { retain: true })
        cores.sendAll(author)
        cores.deliverAll(0, 1)
        for (let turn = 0; turn < 3; turn++) {
          while (owner.isReading) owner.read()
          cores.handle(1, { kind: 'tick' })
        }
        const sent = cores.messagesOnLink(1, 2)
        const messages = sent.flatMap((one) => ('kind' in one && one.kind === 'retained-response' ? one.messages : []))
        assert.deepEqual(messages, [])
        cores.releaseLink(1, 2)
      }
      cores.settle()
      assert.deepEqual(reader.payloads, [replaces ? 'new' : 'old'])
    }
  })

  test('stops the search if the subscriber has unsubscribed', () => {
    const { cores, topic, reader } = withPendingRequest()
    reader.unsubscribe(topic)
    cores.settle()
    cores.holdLink(1, 2)
    cores.releaseLink(0, 1)
    cores.settle()
    assert.deepEqual(reader.payloads, [])
    assert.ok(!kindsOnLink(cores, 1, 2).includes('retained-response'))
  })
})

describe('a client that subscribes while others publish retained messages', () => {
  test('gets the last message, none twice, and none after a newer one', () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const cores = new SeveralCores({ seed, settings: { maxRetainedBytesInMemory: seed % 2 === 0 ? 0 : 4_096 } })
      const { random } = cores
      const topic = topicOn(random.between(0, 2), 'a')
      const authors = [0, 1, 2].map((shard) => cores.client(shard, `author${shard}`))
      const reader = cores.client(random.between(0, 2), 'reader', stored)
      cores.settle()
      const author = random.pick(authors)
      let last = ''
      const publishSome = (): void => {
        for (let count = random.between(0, 3); count > 0; count--) {
          last = `${Number(last) + 1}`
          author.publish(topic, last, { qos: random.pick([0, 1, 2] as const), retain: true })
          cores.steps(random.between(0, 4))
        }
      }
      publishSome()
      cores.steps(random.between(0, 10))
      reader.subscribe(random.pick([topic, 't/+']), { qos: 0 })
      cores.steps(random.between(0, 30))
      publishSome()
      cores.steps(random.between(0, 30))
      publishSome()
      cores.settle()
      const numbers = reader.payloads.map(Number)
      const what = `seed ${seed}: received ${numbers.join(' ')}, last ${last}`
      if (last !== '') assert.equal(numbers.at(-1), Number(last), what)
      for (let at = 1; at < numbers.length; at++) assert.ok(numbers[at - 1] < numbers[at], what)
    }
  })
})
