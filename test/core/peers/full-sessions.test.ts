// Full persistent sessions on other shards than that of the publisher: no acknowledged message is lost (reject_publish), or only the oldest of
// the full session (drop_oldest). Each combination publishes far more than the limit, also while the notice of the full queue is delayed.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoreSettings } from '../../../src/core/index.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'

const limit = 5
const published = 120
const stored = { expirySeconds: 3_600 } as const

interface Case {
  readonly version: 4 | 5
  readonly qos: 1 | 2
  /** Shards of the members of a shared subscription; undefined: one session with a filter of its own. */
  readonly membersOn: readonly number[] | undefined
  /** The notice of the full queue arrives after all messages were sent. */
  readonly isNoticeLate: boolean
}

const receivers = [
  ['a session', undefined],
  ['a shared subscription with a member on another shard', [1]],
  ['a shared subscription with members on the two other shards', [1, 2]],
  ['a shared subscription with members on all shards', [0, 1, 2]],
] as const

/** Returns all combinations. */
function allCases(): (readonly [string, Case])[] {
  const cases: (readonly [string, Case])[] = []
  for (const [name, membersOn] of receivers)
    for (const version of [4, 5] as const)
      for (const qos of [1, 2] as const)
        for (const isNoticeLate of [false, true]) {
          const when = isNoticeLate ? 'before the notice' : 'after the notice'
          cases.push([`${name}, ${version}.x, QoS ${qos}, ${when}`, { version, qos, membersOn, isNoticeLate }])
        }
  return cases
}

interface Overflow {
  readonly cores: SeveralCores
  readonly author: PacketClient
  readonly subscribers: readonly PacketClient[]
}

/** Publishes to disconnected subscribers. */
function overflow(
  { version, qos, membersOn, isNoticeLate }: Case,
  storedMessagesOverflow: CoreSettings['storedMessagesOverflow'],
  settings: Partial<CoreSettings> = {},
): Overflow {
  const cores = new SeveralCores({ settings: { maxStoredMessages: limit, storedMessagesOverflow, ...settings } })
  const subscribers = (membersOn ?? [1]).map((shard) => cores.client(shard, `full${shard}`, stored))
  const author = cores.client(0, 'author', { version, ...stored })
  cores.settle()
  for (const subscriber of subscribers) subscriber.subscribe(membersOn === undefined ? 'a' : '$share/g/a')
  cores.settle()
  for (const subscriber of subscribers) cores.breakConnection(subscriber)
  cores.settle()
  if (isNoticeLate) for (const shard of [1, 2]) cores.holdLink(shard, 0)
  for (let number = 0; number < published; number++) {
    author.publish('a', String(number), { qos })
    if (!isNoticeLate) cores.settle()
  }
  cores.settle()
  if (isNoticeLate) for (const shard of [1, 2]) cores.releaseLink(shard, 0)
  cores.settle()
  return { cores, author, subscribers }
}

function acknowledgedBy({ acknowledged }: PacketClient): string[] {
  return [...acknowledged].filter(([, reason]) => reason < 0x80).map(([payload]) => payload)
}

/** Connects the subscribers, and returns what they received. */
function receive({ cores, subscribers }: Overflow): string[] {
  for (const subscriber of subscribers) cores.connect(subscriber)
  cores.settle()
  return subscribers.flatMap(({ payloads }) => payloads)
}

function countDropped({ cores }: Overflow): number {
  let dropped = 0
  for (const core of cores.cores)
    for (const count of Object.values(core?.core.view.counts.dropped ?? {})) dropped += count
  return dropped
}

const byNumber = (one: string, other: string): number => Number(one) - Number(other)

describe('mqtt.stored_messages_overflow = reject_publish: every acknowledged message arrives once, and no other', () => {
  for (const [name, one] of allCases())
    test(name, () => {
      const setup = overflow(one, 'reject-publish')
      const before = acknowledgedBy(setup.author)
      const most = one.isNoticeLate ? published : limit * (one.membersOn?.length ?? 1) * 2
      assert.ok(before.length >= limit && before.length <= most, `${before.length} acknowledged`)
      const received = receive(setup).toSorted(byNumber)
      // A 3.1.1 publisher continues as soon as there is space; a 5.0 publisher was refused.
      assert.deepEqual(received, acknowledgedBy(setup.author).toSorted(byNumber))
      assert.equal(received.length, one.version === 4 ? published : before.length)
      assert.equal(countDropped(setup), 0)
      assert.equal(setup.author.unfinishedCount, 0)
    })

  for (const membersOn of [undefined, [1], [1, 2]])
    for (const qos of [1, 2] as const)
      test(`also if the other shard refuses what was on the way: a 3.1.1 publisher is disconnected and publishes again (QoS ${qos}, members on ${String(membersOn)})`, () => {
        const cores = new SeveralCores({
          settings: { maxStoredMessages: limit, storedMessagesOverflow: 'reject-publish' },
        })
        for (const shard of [1, 2]) cores.changeSettings(shard, { maxUnconfirmedMessages: 0 })
        const subscribers = (membersOn ?? [1]).map((shard) => cores.client(shard, `full${shard}`, stored))
        const author = cores.client(0, 'author', { version: 4, ...stored })
        cores.settle()
        for (const subscriber of subscribers) subscriber.subscribe(membersOn === undefined ? 'a' : '$share/g/a')
        cores.settle()
        for (const subscriber of subscribers) cores.breakConnection(subscriber)
        for (const shard of [1, 2]) cores.holdLink(shard, 0)
        const payloads = Array.from({ length: published }, (_, number) => String(number))
        for (const payload of payloads) author.publish('a', payload, { qos })
        cores.settle()
        for (const shard of [1, 2]) cores.releaseLink(shard, 0)
        cores.settle()
        assert.equal(author.isConnected, false)
        const acknowledged = acknowledgedBy(author)
        assert.ok(acknowledged.length <= limit * 2 * subscribers.length, `${acknowledged.length} acknowledged`)
        const received = (): string[] => subscribers.flatMap((subscriber) => subscriber.payloads)
        for (const subscriber of subscribers) cores.connect(subscriber)
        cores.settle()
        // Acknowledgements may be lost with the connection.
        assert.deepEqual(
          acknowledged.filter((payload) => !received().includes(payload)),
          [],
        )
        // Each connection sends until the shard refuses again, because all of its messages are on the way at once.
        for (let attempt = 0; attempt < published && author.unfinishedCount > 0; attempt++) {
          cores.connect(author)
          cores.settle()
        }
        assert.equal(author.unfinishedCount, 0)
        assert.deepEqual([...new Set(received())].toSorted(byNumber), payloads)
        if (qos === 2) assert.equal(received().length, published)
        assert.ok((cores.cores[0]?.core.view.counts.refused['receiver-full'] ?? 0) > 0)
      })

  test('a publisher whose own session is full too is disconnected at the further limit, without an acknowledgement', () => {
    const cores = new SeveralCores({ settings: { maxStoredMessages: limit, storedMessagesOverflow: 'reject-publish' } })
    cores.changeSettings(0, { maxUnconfirmedMessages: 0 })
    const own = cores.client(0, 'own', { version: 4, ...stored, receiveMaximum: 1 })
    own.acknowledges = false
    cores.settle()
    own.subscribe('a')
    cores.settle()
    for (let number = 0; number < 20; number++) {
      own.publish('a', String(number), { qos: 1 })
      cores.settle()
    }
    assert.equal(own.isConnected, false)
    const acknowledged = acknowledgedBy(own)
    assert.equal(acknowledged.length, limit * 2)
    own.acknowledges = true
    cores.connect(own)
    cores.settle()
    const missing = acknowledged.filter((payload) => !own.payloads.includes(payload))
    assert.deepEqual(missing, [])
  })

  test('a publisher that waits for all members of a shared subscription continues when a member with space joins', () => {
    for (const shard of [0, 1, 2]) {
      const setup = overflow({ version: 4, qos: 1, membersOn: [1], isNoticeLate: false }, 'reject-publish')
      const { cores, author } = setup
      assert.ok(author.unfinishedCount > 0)
      const joining = cores.client(shard, 'joining')
      cores.settle()
      joining.subscribe('$share/g/a')
      cores.settle()
      assert.equal(author.unfinishedCount, 0, `a member on shard ${shard}`)
      assert.equal(acknowledgedBy(author).length, published)
    }
  })

  test('a publisher that waits for a full session continues when the session unsubscribes', () => {
    for (const shard of [0, 1]) {
      const cores = new SeveralCores({ settings: { maxStoredMessages: 1, storedMessagesOverflow: 'reject-publish' } })
      const full = cores.client(shard, 'full', { ...stored, receiveMaximum: 1 })
      full.acknowledges = false
      const author = cores.client(0, 'author', { version: 4 })
      cores.settle()
      full.subscribe('a')
      cores.settle()
      for (const payload of ['1', '2', '3']) {
        author.publish('a', payload, { qos: 1 })
        cores.settle()
      }
      assert.equal(author.unfinishedCount, 2)
      full.unsubscribe('a')
      cores.settle()
      assert.equal(author.unfinishedCount, 0, `a session on shard ${shard}`)
    }
  })
})

describe('mqtt.stored_messages_overflow = drop_oldest: all are acknowledged, and the session has the newest', () => {
  for (const [name, one] of allCases())
    test(name, () => {
      const setup = overflow(one, 'drop-oldest')
      assert.equal(acknowledgedBy(setup.author).length, published)
      const received = receive(setup)
      assert.equal(received.length, limit * setup.subscribers.length)
      assert.equal(countDropped(setup), published - received.length)
      for (const { payloads } of setup.subscribers) {
        assert.deepEqual(payloads, payloads.toSorted(byNumber))
        assert.ok(Number(payloads[0]) >= published - limit * setup.subscribers.length * 3, `the oldest: ${payloads[0]}`)
      }
      if (one.membersOn === undefined)
        assert.deepEqual(
          received,
          Array.from({ length: limit }, (_, number) => String(published - limit + number)),
        )
    })
})
