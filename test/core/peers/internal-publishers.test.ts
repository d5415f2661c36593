// QoS 2 without a client packet identifier (of an administrator, or a will) arrives once at each shard, also if that fails.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Command, CommandResult } from '../../../src/core/index.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'

const stored = { expirySeconds: 3_600 } as const

interface Setup {
  readonly cores: SeveralCores
  /** On shard 1, with a persistent session. */
  readonly subscriber: PacketClient
  /** On shard 0, with a will that is published when it is disconnected. */
  readonly author: PacketClient
}

function createSetup(filter = 'a'): Setup {
  const cores = new SeveralCores()
  const subscriber = cores.client(1, 'listener', stored)
  const will = { topic: 'a', payload: 'x', qos: 2, retain: false } as const
  const author = cores.client(0, 'author', { will })
  cores.settle()
  subscriber.subscribe(filter)
  cores.settle()
  return { cores, subscriber, author }
}

function publishFor({ cores, author }: Setup, payload = 'x'): () => CommandResult | undefined {
  const command: Command = {
    name: 'publish',
    clientId: author.id,
    topic: 'a',
    payload: Buffer.from(payload),
    qos: 2,
    retain: false,
    properties: undefined,
  }
  return cores.command(cores.shardOf(author), command)
}

/** Shard 1 fails, loses what it had not written or sent, and restarts; all clients reconnect. */
function restartShard({ cores, subscriber }: Setup): void {
  cores.kill(1)
  cores.releaseLink(1, 0)
  cores.start(1)
  cores.settle()
  cores.connect(subscriber)
  cores.settle()
}

function countForwardedRecords({ cores }: Setup): number {
  return cores.recordStore.readAll().filter(({ kind }) => kind === 'forwarded').length
}

const sources = [
  { of: 'an administrator', publish: (setup: Setup) => void publishFor(setup) },
  { of: 'a will', publish: ({ cores, author }: Setup) => cores.breakConnection(author) },
] as const

for (const { of, publish } of sources) {
  describe(`a QoS 2 message of ${of}`, () => {
    for (const [who, filter] of [
      ['a subscriber', 'a'],
      ['a member of a shared subscription', '$share/g/a'],
    ] as const) {
      test(`arrives once at ${who} of a shard that fails after its commit and before its confirmation`, () => {
        const setup = createSetup(filter)
        const { cores, subscriber } = setup
        cores.holdLink(1, 0)
        publish(setup)
        cores.settle()
        assert.deepEqual(subscriber.payloads, ['x'])
        restartShard(setup)
        assert.deepEqual(subscriber.payloads, ['x'])
      })
    }

    test('arrives at the subscribers of a shard that fails before its commit', () => {
      const setup = createSetup()
      const { cores, subscriber } = setup
      publish(setup)
      cores.deliverAll(0, 1)
      restartShard(setup)
      assert.deepEqual(subscriber.payloads, ['x'])
    })

    test('has a record on disk until it cannot arrive again', () => {
      const setup = createSetup()
      const { cores } = setup
      cores.holdLink(1, 0)
      publish(setup)
      cores.settle()
      assert.equal(countForwardedRecords(setup), 1)
      cores.releaseLink(1, 0)
      cores.settle()
      assert.equal(countForwardedRecords(setup), 0)
    })

    test('has no record any more if the shard fails before it learns that the record is not needed', () => {
      const setup = createSetup()
      const { cores } = setup
      cores.holdLink(1, 0)
      publish(setup)
      cores.settle()
      cores.holdLink(0, 1)
      cores.releaseLink(1, 0)
      cores.settle()
      cores.releaseLink(0, 1)
      restartShard(setup)
      assert.equal(countForwardedRecords(setup), 0)
      assert.deepEqual(setup.subscriber.payloads, ['x'])
    })
  })
}

test('two equal publications of an administrator are two messages', () => {
  const setup = createSetup()
  const { cores, subscriber } = setup
  cores.holdLink(1, 0)
  for (let count = 0; count < 2; count++) publishFor(setup)
  cores.settle()
  restartShard(setup)
  publishFor(setup)
  cores.settle()
  assert.deepEqual(subscriber.payloads, ['x', 'x', 'x'])
})

test('the administrator gets the result when the message is durable on the other shard, also if that fails before its confirmation', () => {
  const setup = createSetup()
  const { cores } = setup
  cores.holdLink(1, 0)
  const result = publishFor(setup)
  cores.settle()
  assert.equal(result(), undefined)
  restartShard(setup)
  assert.deepEqual(result(), { done: true, matched: 1 })
})

test('a publication of an administrator is refused if a full session of another shard has no space for it, and leaves no record', () => {
  const cores = new SeveralCores({ settings: { maxStoredMessages: 1, storedMessagesOverflow: 'reject-publish' } })
  // Otherwise the shard stores all messages that can be on the way.
  cores.changeSettings(1, { maxUnconfirmedMessages: 0 })
  const subscriber = cores.client(1, 'listener', stored)
  const author = cores.client(0, 'author')
  const setup = { cores, subscriber, author }
  cores.settle()
  subscriber.subscribe('a')
  cores.settle()
  cores.breakConnection(subscriber)
  cores.settle()
  // Before the shard of the full session has reported that.
  cores.holdLink(1, 0)
  const results = ['first', 'second', 'third'].map((payload) => publishFor(setup, payload))
  cores.settle()
  cores.releaseLink(1, 0)
  cores.settle()
  assert.deepEqual(
    results.map((result) => result()),
    [
      { done: true, matched: 1 },
      // As many messages as the limit are stored beyond it if they were on the way already.
      { done: true, matched: 1 },
      { done: false, why: 'receiver-full' },
    ],
  )
  assert.equal(countForwardedRecords(setup), 0)
})
