// A session ends while its client is disconnected. Its queued messages of shared subscriptions, which are on disk only, were
// acknowledged to their publishers, so they go to other members.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { computeOwnerShard } from '../../src/core/index.ts'
import type { QoS } from '../../src/protocol/index.ts'
import { World, type Client } from '../simulator/world.ts'
import { testLength } from '../test-length.ts'

const group = '$share/press/job/#'
/** More messages than one read returns. */
const many = 300
/** A seed is also the time until the broker crashes, in milliseconds. */
const longestSeed = testLength({ daily: 40, long: 60 })
const betweenSeeds = testLength({ daily: 3, long: 1 })
const payloadsOf = (count: number): string[] => Array.from({ length: count }, (_, at) => String(at).padStart(3, '0'))

interface Scene {
  readonly world: World
  /** Its session ends a minute after it disconnected. */
  readonly brief: Client
  /** A disconnected client whose session does not expire. */
  readonly waitingClient: Client
}

interface RedeliveryOptions {
  readonly shards?: number
  readonly count?: number
  readonly qos?: QoS
  readonly seed?: number
}

function scene({ shards = 1, count = many, qos = 1, seed = 1 }: RedeliveryOptions = {}): Scene {
  const world = new World({ shards, seed })
  const brief = world.connect('brief', { cleanStart: false, sessionExpirySeconds: 60 })
  const other = ['patient', 'calm', 'slow', 'mild'].find(
    (id) => shards === 1 || computeOwnerShard(id, shards) !== computeOwnerShard('brief', shards),
  )
  assert.ok(other !== undefined, 'one of them is on another shard')
  const waitingClient = world.connect(other, { cleanStart: false, sessionExpirySeconds: 3_600 })
  for (const member of [brief, waitingClient]) {
    member.subscribe(group, { qos: 2 })
    member.disconnect()
  }
  const author = world.connect('author')
  const jobs = payloadsOf(count).map((payload) => ({ topic: 'job/1', payload }))
  author.publishAll(jobs, { qos })
  assert.equal(author.unfinished, 0)
  return { world, brief, waitingClient }
}

function comesBack(client: Client): string[] {
  client.connect({ cleanStart: false })
  return [...client.payloads]
}

function onlySessionsAreLeft(world: World, clientIds: readonly string[]): void {
  const left = world.records().filter(({ kind }) => kind !== 'subscription' && kind !== 'fact')
  assert.deepEqual(
    left.map((record) => ('clientId' in record ? `${record.kind} ${record.clientId}` : record.kind)).sort(),
    clientIds.map((clientId) => `session ${clientId}`).sort(),
  )
}

for (const shards of [1, 3]) {
  describe(`messages of a shared subscription in a session that ends, with ${shards} shard${shards > 1 ? 's' : ''}`, () => {
    for (const qos of [1, 2] as const) {
      test(`go to another disconnected member, once (QoS ${qos})`, () => {
        const { world, brief, waitingClient } = scene({ shards, qos })
        assert.equal(brief.payloads.length, 0)
        world.passSeconds(61)
        assert.deepEqual(comesBack(waitingClient).sort(), payloadsOf(many))
        onlySessionsAreLeft(world, [waitingClient.id])
      })

      test(`are not lost if the broker crashes at any step (QoS ${qos})`, () => {
        for (let seed = 1; seed <= longestSeed; seed += betweenSeeds) {
          const { world, waitingClient } = scene({ shards, qos, seed })
          world.passSeconds(59)
          world.disk.maxStepMs = 10
          world.passMs(1_000 + seed)
          world.crash(seed % 2 === 0 ? 'kill' : 'power-loss')
          world.disk.maxStepMs = 0
          world.start()
          world.passSeconds(2)
          const received = comesBack(waitingClient)
          // A QoS 1 message may arrive again from another shard, which had it and could not confirm it.
          const exact = qos === 2 || shards === 1 ? received : [...new Set(received)]
          assert.deepEqual(exact.sort(), payloadsOf(many), `seed ${seed}`)
          // By then, a shard has removed messages of a shard that failed before it could release them.
          world.passMs(5 * world.host.settings.awaitReleaseTimeoutMs)
          onlySessionsAreLeft(world, [waitingClient.id])
        }
      })
    }

    test('go to the connected member', () => {
      const { world, waitingClient } = scene({ shards })
      const before = comesBack(waitingClient).length
      assert.ok(before > 0 && before < many, 'both have some of them')
      world.passSeconds(61)
      assert.deepEqual([...waitingClient.payloads].sort(), payloadsOf(many))
    })

    test('move on if its client reconnects at once with a clean session', () => {
      const { world, brief, waitingClient } = scene({ shards })
      brief.connect({ cleanStart: true, sessionExpirySeconds: 60 })
      assert.equal(brief.connack?.sessionPresent, false)
      world.publish('job/1', 'for the others', { qos: 1 })
      brief.subscribe('other', { qos: 1 })
      brief.disconnect()
      world.publish('other', 'mine', { qos: 1 })
      world.passSeconds(1)
      assert.deepEqual(comesBack(waitingClient).sort(), [...payloadsOf(many), 'for the others'])
      brief.connect({ cleanStart: false })
      assert.deepEqual(brief.payloads, ['mine'])
    })

    test('are dropped if there is no other member, and so are its other messages', () => {
      const { world, brief, waitingClient } = scene({ shards })
      waitingClient.connect({ cleanStart: true, sessionExpirySeconds: 3_600 })
      waitingClient.subscribe('plain', { qos: 1 })
      assert.ok(brief.payloads.length === 0)
      world.passSeconds(61)
      waitingClient.disconnect({ properties: { sessionExpiryIntervalSeconds: 0 } })
      world.settle()
      onlySessionsAreLeft(world, [])
    })
  })
}

test('an expired message is dropped and counted, and delivered to no subscriber', () => {
  const { world, waitingClient } = scene({ count: 0 })
  const author = world.connect('author')
  for (const payload of ['1', '2', '3', '4']) {
    const properties = payload > '2' ? {} : { messageExpiryIntervalSeconds: 30 }
    author.publish('job/1', payload, { qos: 1, properties })
  }
  world.passSeconds(61)
  assert.deepEqual(comesBack(waitingClient).sort(), ['3', '4'])
  assert.deepEqual(
    world.events('message-dropped').map(({ reason }) => reason),
    ['expired', 'expired'],
  )
})

test('a QoS 2 delivery that began with it goes to no other member [MQTT5-4.8.2-5]', () => {
  const world = new World()
  const brief = world.connect('brief', { cleanStart: false, sessionExpirySeconds: 60, receiveMaximum: 1 })
  brief.acknowledges = false
  brief.subscribe(group, { qos: 2 })
  world.publish('job/1', 'begun', { qos: 2 })
  world.publish('job/1', 'waiting', { qos: 2 })
  assert.deepEqual(brief.payloads, ['begun'])
  brief.vanish()
  world.restart()
  const waitingClient = world.connect('patient', { cleanStart: false, sessionExpirySeconds: 3_600 })
  waitingClient.subscribe(group, { qos: 2 })
  world.passSeconds(61)
  assert.deepEqual(waitingClient.payloads, ['waiting'])
})

test('messages that it got before it unsubscribed from the shared subscription go to other members, too', () => {
  const { world, brief, waitingClient } = scene()
  brief.acknowledges = false
  brief.connect({ cleanStart: false, receiveMaximum: 1, sessionExpirySeconds: 60 })
  brief.unsubscribe(group)
  brief.disconnect()
  world.passSeconds(61)
  assert.deepEqual(comesBack(waitingClient).sort(), payloadsOf(many))
})

test('a session without shared subscriptions is deleted at once, however many messages it has', () => {
  const world = new World()
  const plain = world.connect('plain', { cleanStart: false, sessionExpirySeconds: 60 })
  plain.subscribe('job/#', { qos: 1 })
  plain.disconnect()
  for (const payload of payloadsOf(20)) world.publish('job/1', payload, { qos: 1 })
  world.restart()
  world.connect('member').subscribe(group, { qos: 1 })
  const readQueues: string[] = []
  const { recordStore } = world
  const readQueue = recordStore.readQueue.bind(recordStore)
  recordStore.readQueue = (wanted) => {
    readQueues.push(wanted.clientId)
    return readQueue(wanted)
  }
  world.passSeconds(61)
  assert.deepEqual(readQueues, [])
  onlySessionsAreLeft(world, [])
})

test('a payload that several sessions share on disk stays for the others', () => {
  const { world, waitingClient } = scene({ count: 0 })
  const all = world.connect('all', { cleanStart: false, sessionExpirySeconds: 3_600 })
  all.subscribe('job/#', { qos: 1 })
  all.disconnect()
  for (const payload of payloadsOf(20)) world.publish('job/1', payload, { qos: 1 })
  world.passSeconds(61)
  assert.deepEqual(comesBack(waitingClient).sort(), payloadsOf(20))
  assert.deepEqual(comesBack(all), payloadsOf(20))
  onlySessionsAreLeft(world, ['all', waitingClient.id])
})

function slowScene(thinkMs: number): { world: World; slow: Client } {
  const world = new World({
    shards: 1,
    settings: { maxQueuedMessages: 40, maxInflightMessages: 1 },
    host: { maxDropEvents: Infinity },
  })
  const brief = world.connect('brief', { cleanStart: false, sessionExpirySeconds: 60 })
  brief.subscribe(group, { qos: 1 })
  brief.disconnect()
  const author = world.connect('author')
  for (const payload of payloadsOf(many)) author.publish('job/1', payload, { qos: 1 })
  const slow = world.connect('slow')
  slow.thinkMs = () => thinkMs
  slow.subscribe(group, { qos: 1 })
  return { world, slow }
}

describe('a slow member with a clean session', () => {
  test('receives queued messages at its speed, and no new message is dropped for it', () => {
    const { world, slow } = slowScene(20)
    world.passSeconds(61)
    const author = world.connect('late author')
    for (const payload of ['new 1', 'new 2', 'new 3']) author.publish('job/1', payload, { qos: 1 })
    world.passSeconds(30)
    assert.deepEqual([...slow.payloads].sort(), [...payloadsOf(many), 'new 1', 'new 2', 'new 3'])
    assert.deepEqual(world.events('message-dropped'), [])
    onlySessionsAreLeft(world, [])
  })

  test('does not delay the other expired sessions', () => {
    const { world, slow } = slowScene(1_000)
    const gone = world.connect('gone', { cleanStart: false, sessionExpirySeconds: 60 })
    const heir = world.connect('heir')
    for (const member of [gone, heir]) member.subscribe('$share/other/task', { qos: 1 })
    heir.disconnect()
    gone.disconnect()
    world.publish('task', 'x', { qos: 1 })
    heir.connect()
    heir.subscribe('$share/other/task', { qos: 1 })
    world.passSeconds(62)
    assert.ok(slow.payloads.length < many / 2)
    assert.deepEqual(heir.payloads, ['x'])
  })

  test('does not delay them without a limit: messages that it cannot receive are dropped and counted', () => {
    const { world, slow } = slowScene(3_600_000)
    world.passSeconds(180)
    assert.equal(slow.payloads.length, 1)
    assert.ok(world.events('message-dropped').every(({ reason }) => reason === 'queue-full'))
    assert.equal(world.events('message-dropped').length, many - 41)
    onlySessionsAreLeft(world, [])
  })
})
