// Clients that want more memory than the broker may use, over real sockets: the process lives, a client that keeps to the rules
// is served, and when the attack is over everything is as before. Run alone (`npm run test:memory`): beside other tests the
// garbage collector lags behind, and resident memory is what is measured.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Attacker } from '../e2e/attacker.ts'
import { type Broker, startBroker } from '../e2e/godwit-process.ts'

const limitMib = 384
/** The default of the limit is three quarters of what there is: with a third more than the limit the process lives. */
const maxMib = limitMib / 0.75
const greedy = 12
const payload = Buffer.alloc(1_000_000, 'x')

/** Without pages of files, as the limit counts it. */
function residentMib({ process: { child } }: Broker): number {
  const [, resident] = /RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Number(resident) / 1_024
}

/** A message to itself, and back. */
async function isServed(client: Attacker): Promise<void> {
  const before = client.received
  await client.publish('healthy', Buffer.from('x'), { qos: 1 })
  while (client.received === before && client.isOpen) await pause(5)
  assert.equal(client.isOpen, true, 'the healthy client is there')
}

test(
  'subscribers that acknowledge nothing, while publishers send a gigabyte, keep the memory within its limit',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const broker = await startBroker(t, {
      setsMalloc: true,
      set: ['node.shards=1', `node.memory_limit=${limitMib}MB`, 'sys_topics.client_events=false'],
    })
    const { port } = broker
    const enter = async (clientId: string): Promise<Attacker> => {
      const client = new Attacker({ port, clientId })
      t.after(() => client.drop())
      assert.equal(await client.nextPacket(), 'connack 0x0')
      return client
    }
    const healthy = await enter('healthy')
    await healthy.subscribe(['healthy'])
    const publisher = await enter('publisher')
    const readers: Attacker[] = []
    for (let number = 0; number < greedy; number++) {
      const reader = await enter(`greedy-${number}`)
      await reader.subscribe([`greedy/${number}`])
      readers.push(reader)
    }
    let most = 0
    for (let round = 0; round < 80; round++) {
      for (let number = 0; number < greedy && publisher.isOpen; number++)
        await publisher.publish(`greedy/${number}`, payload, { qos: 1 })
      await isServed(healthy)
      most = Math.max(most, residentMib(broker))
    }
    const [alarm] = await broker.process.until(/"name":"memory","message":"[^"]*"/)
    assert.match(alarm, /queues \d+ MiB \(most: greedy-\d+ \d+ MiB/)
    t.diagnostic(`${Math.round(most)} MiB at most, with a limit of ${limitMib}`)
    assert.ok(most < maxMib, `${most} MiB at most`)
    for (const client of [...readers, publisher]) client.drop()
    await broker.process.until(/"event":"alarm ended","name":"memory"/)
    await isServed(healthy)
    const late = await enter('late')
    await late.subscribe(['late'])
    assert.equal(await late.nextPacket(), 'suback 0x1')
  },
)
