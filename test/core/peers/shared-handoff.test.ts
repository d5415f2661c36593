// Messages of a shared subscription in a persistent session are not lost on their way to a member on another shard.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type SendList } from '../../../src/core/index.ts'
import { defaultCoreSettings } from '../default-settings.ts'
import { MemoryRecordStore } from '../../simulator/record-store.ts'
import { message, session, subscription } from '../../storage/sample-records.ts'
import { DrivenCore } from './driven-core.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'

const stored = { expirySeconds: 3_600 } as const
const group = '$share/g/a'
/** The first is in flight to the leaving client, which does not acknowledge; at QoS 2 it goes to no other member [MQTT5-4.8.2-5]. */
const published = ['1', '2', '3', '4', '5']
const payloadsOf = (qos: 1 | 2): string[] => (qos === 1 ? published : published.slice(1))

interface Setup {
  readonly cores: SeveralCores
  /** On shard 1, with all messages in its queue. */
  readonly leaving: PacketClient
  /** On shard 2. */
  readonly staying: PacketClient
}

function createSetup(qos: 1 | 2): Setup {
  const cores = new SeveralCores()
  const leaving = cores.client(1, 'leaving', { ...stored, receiveMaximum: 1 })
  leaving.acknowledges = false
  const author = cores.client(0, 'author')
  cores.settle()
  leaving.subscribe(group)
  cores.settle()
  for (const payload of published) author.publish('a', payload, { qos })
  cores.settle()
  assert.equal(author.unfinishedCount, 0)
  const staying = cores.client(2, 'staying', stored)
  cores.settle()
  staying.subscribe(group)
  cores.settle()
  return { cores, leaving, staying }
}

/** The client starts a new session with another connection. */
function endSession({ cores, leaving }: Setup): void {
  assert.deepEqual(leaving.payloads, ['1'])
  leaving.cleanStart = true
  cores.connect(leaving)
  cores.settle()
  assert.deepEqual(leaving.payloads, ['1'])
}

function assertNoRecordsLeft(cores: SeveralCores): void {
  const left = cores.recordStore.readAll().filter(({ kind }) => kind === 'handoff' || kind === 'forwarded')
  assert.deepEqual(left, [])
}

for (const qos of [1, 2] as const) {
  describe(`QoS ${qos} of a shared subscription, in the queue of a session that ends`, () => {
    const payloads = payloadsOf(qos)

    test('reaches a member on another shard, and leaves no record', () => {
      const setup = createSetup(qos)
      endSession(setup)
      assert.deepEqual(setup.staying.payloads, payloads)
      assertNoRecordsLeft(setup.cores)
    })

    test('is not lost if its shard fails before the message is sent', () => {
      const setup = createSetup(qos)
      const { cores, staying } = setup
      cores.holdLink(1, 2)
      endSession(setup)
      cores.kill(1)
      cores.releaseLink(1, 2)
      cores.start(1)
      cores.settle()
      assert.deepEqual(staying.payloads, payloads)
      assertNoRecordsLeft(cores)
    })

    test('is not lost if the node fails while the other shard is unavailable', () => {
      const setup = createSetup(qos)
      const { cores, staying } = setup
      cores.kill(2)
      cores.settle()
      endSession(setup)
      cores.killAll()
      cores.startAll()
      cores.settle()
      cores.connect(staying)
      cores.settle()
      assert.deepEqual(staying.payloads, payloads)
      assertNoRecordsLeft(cores)
    })

    test('is not delivered twice if its shard fails at any step', () => {
      for (let steps = 0; steps < 80; steps++) {
        const setup = createSetup(qos)
        const { cores, leaving, staying } = setup
        leaving.cleanStart = true
        cores.connect(leaving)
        cores.steps(steps)
        cores.kill(1)
        cores.start(1)
        cores.settle()
        cores.connect(leaving)
        cores.settle()
        cores.passMs(0)
        const received = qos === 2 ? staying.payloads : [...new Set(staying.payloads)]
        assert.deepEqual(received, payloads, `after ${steps} steps`)
      }
    })

    test('is known on the other shard if its own fails before the confirmation', () => {
      const setup = createSetup(qos)
      const { cores, staying } = setup
      cores.holdLink(2, 1)
      endSession(setup)
      assert.deepEqual(staying.payloads, payloads)
      cores.kill(1)
      cores.releaseLink(2, 1)
      cores.start(1)
      cores.settle()
      assert.deepEqual([...new Set(staying.payloads)], payloads)
      if (qos === 2) assert.deepEqual(staying.payloads, payloads, 'once')
      assertNoRecordsLeft(cores)
    })
  })
}

test('messages in flight from a time with more shards go to a member on one of the remaining shards', () => {
  const recordStore = new MemoryRecordStore()
  const moving = {
    kind: 'handoff',
    shard: 2,
    name: 'x.1',
    to: 1,
    filter: '$share/g/a/#',
    message: message('a/b', 'x'),
  } as const
  const records = [session('member', 1), subscription('member', '$share/g/a/#'), moving]
  recordStore.apply(records.map((record) => ({ change: 'put', record })))
  const around = { sent: (_sends: SendList) => {}, toPeer: () => {}, closed: () => {}, nowMs: () => 1_767_225_600_000 }
  const core = new DrivenCore(
    { own: 0, count: 1 },
    { recordStore, settings: defaultCoreSettings, identity: 'life', dependencies: around },
  )
  while (core.isWriting) core.commit()
  const kinds = recordStore.readAll().map(({ kind }) => kind)
  assert.equal(kinds.filter((kind) => kind === 'handoff').length, 0)
  assert.equal(kinds.filter((kind) => kind === 'queued').length, 1)
})
