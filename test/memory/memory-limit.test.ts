// Clients that would need more memory than the limit of the broker, over real sockets: the broker continues, serves a client within its
// limits, and ends the alarm after the attack. The test measures resident memory, so it runs alone (`npm run test:memory`): beside other
// tests the garbage collector is late.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Attacker } from '../e2e/attacker.ts'
import { type Broker, startBroker } from '../e2e/godwit-process.ts'
import { testLength } from '../test-length.ts'

const limitMib = 384
/** By default the limit is three quarters of the memory, so the system does not end a process that uses a third more than its limit. */
const maxMib = limitMib / 0.75
const attackers = 12
const payload = Buffer.alloc(1_000_000, 'x')
/** In each round, each of the 12 subscribers gets a message of 1 MB: 540 MB in the daily run, 960 MB in the long run. */
const rounds = testLength({ daily: 45, long: 80 })

/** Resident memory without mapped files, which the limit does not count either. */
function residentMib({ process: { child } }: Broker): number {
  const [, resident] = /RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Number(resident) / 1_024
}

/** The client publishes a message to itself and receives it. */
async function assertServed(client: Attacker): Promise<void> {
  const before = client.received
  await client.publish('healthy', Buffer.from('x'), { qos: 1 })
  while (client.received === before && client.isOpen) await pause(5)
  assert.equal(client.isOpen, true, 'the healthy client is connected')
}

test(
  'subscribers that acknowledge nothing, while publishers send more than the limit, keep the memory within its limit',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const broker = await startBroker(t, {
      setsMalloc: true,
      set: ['node.shards=1', `node.memory_limit=${limitMib}MB`, 'sys_topics.client_events=false'],
    })
    const { port } = broker
    const connectClient = async (clientId: string): Promise<Attacker> => {
      const client = new Attacker({ port, clientId })
      t.after(() => client.drop())
      assert.equal(await client.nextPacket(), 'connack 0x0')
      return client
    }
    const healthy = await connectClient('healthy')
    await healthy.subscribe(['healthy'])
    const publisher = await connectClient('publisher')
    const readers: Attacker[] = []
    for (let number = 0; number < attackers; number++) {
      const reader = await connectClient(`greedy-${number}`)
      await reader.subscribe([`greedy/${number}`])
      readers.push(reader)
    }
    let most = 0
    for (let round = 0; round < rounds; round++) {
      for (let number = 0; number < attackers && publisher.isOpen; number++)
        await publisher.publish(`greedy/${number}`, payload, { qos: 1 })
      await assertServed(healthy)
      most = Math.max(most, residentMib(broker))
    }
    const [alarm] = await broker.process.until(/"name":"memory","message":"[^"]*"/)
    assert.match(alarm, /queues \d+ MiB \(most: greedy-\d+ \d+ MiB/)
    t.diagnostic(`${Math.round(most)} MiB at most, with a limit of ${limitMib}`)
    assert.ok(most < maxMib, `${most} MiB at most`)
    for (const client of [...readers, publisher]) client.drop()
    await broker.process.until(/"event":"alarm ended","name":"memory"/)
    await assertServed(healthy)
    const late = await connectClient('late')
    await late.subscribe(['late'])
    assert.equal(await late.nextPacket(), 'suback 0x1')
  },
)
