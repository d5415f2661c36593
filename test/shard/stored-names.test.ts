// Values of gateways that are stored across restarts: those of a UDP and a DTLS listener of one name are separate, also in data of versions
// that stored them under one name.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type StoredValue, toNamePrefix, readValues } from '../../src/shard/gateways/stored-names.ts'

type Named = Parameters<typeof readValues>[0]

const place = { own: 0, shards: 1 }
const udp = named('udp')
const dtls = named('dtls')

function named(kind: 'udp' | 'dtls', type: Named['type'] = 'mqttsn', name = 'default'): Named {
  return { type, listener: { kind, name } } as Named
}

/** A disk with the values of earlier versions. */
class Disk {
  readonly values: Map<string, string>

  constructor(values: readonly (readonly [string, string])[]) {
    this.values = new Map(values)
  }

  async open(assignment: Named, plan: readonly Named[]): Promise<Record<string, string>> {
    const { own, moves } = await readValues(assignment, { place, plan, read: (prefix) => this.#read(prefix) })
    this.apply(moves)
    return Object.fromEntries(own)
  }

  apply(moves: readonly StoredValue[]): void {
    for (const { name, value } of moves) {
      if (value === undefined) this.values.delete(name)
      else this.values.set(name, value)
    }
  }

  async *#read(prefix: string) {
    for (const [name, value] of this.values) if (name.startsWith(prefix)) yield { name, value }
  }
}

const asleep = (secure?: object): string => JSON.stringify({ peer: { address: '192.0.2.1', port: 1, secure } })

test('[F1] values of listeners of one name and another kind have other names', () => {
  const names = (['mqttsn', 'lwm2m'] as const).flatMap((type) =>
    (['udp', 'dtls'] as const).flatMap((kind) => ['a', 'a/b'].map((name) => toNamePrefix(named(kind, type, name)))),
  )
  assert.equal(new Set(names).size, names.length)
})

test('[F1] values that an earlier version stored go to the listener of their device, and are moved once', async () => {
  for (const plan of [
    [udp, dtls],
    [dtls, udp],
  ]) {
    const disk = new Disk([
      ['gateway/mqttsn/default/plain\0s', asleep()],
      ['gateway/mqttsn/default/plain\0t1', 'a/plain'],
      ['gateway/mqttsn/default/secret\0s', asleep({ id: '' })],
      ['gateway/mqttsn/default/secret\0t1', '{"peer":{}}'],
      ['gateway/mqttsn/default/secret\0q1', '{}'],
      ['gateway/mqttsn/default/awake\0t1', 'a/topic'],
      ['gateway/mqttsn/other/plain\0t1', 'of another listener'],
    ])
    const plainValues = { 'plain\0s': asleep(), 'plain\0t1': 'a/plain', 'awake\0t1': 'a/topic' }
    const secretValues = { 'secret\0s': asleep({ id: '' }), 'secret\0t1': '{"peer":{}}', 'secret\0q1': '{}' }
    for (let starts = 0; starts < 2; starts++) {
      for (const one of plan)
        assert.deepEqual(await disk.open(one, plan), one.listener.kind === 'udp' ? plainValues : secretValues)
      const left = [...disk.values.keys()].filter((name) => name.startsWith('gateway/'))
      assert.deepEqual(left, ['gateway/mqttsn/other/plain\0t1'])
    }
  }
})

test('[F1] registrations of LwM2M that an earlier version stored go to the listener of their device', async () => {
  const plan = [named('udp', 'lwm2m'), named('dtls', 'lwm2m')]
  const disk = new Disk([
    ['gateway/lwm2m/default/0a', asleep()],
    ['gateway/lwm2m/default/0b', asleep({ id: '' })],
  ])
  const found = [await disk.open(plan[0], plan), await disk.open(plan[1], plan)]
  assert.deepEqual(found.map(Object.keys), [['0a'], ['0b']])
})

test('[F1] a listener without another of its name gets all values without a kind', async () => {
  const disk = new Disk([['gateway/mqttsn/default/awake\0t1', 'a/topic']])
  assert.deepEqual(await disk.open(dtls, [dtls]), { 'awake\0t1': 'a/topic' })
})

test('[F1] a value of this version replaces one of an earlier version', async () => {
  const disk = new Disk([
    ['gateway/mqttsn/default/plain\0s', asleep()],
    [`${toNamePrefix(udp)}plain\0s`, asleep({ is: 'new' })],
  ])
  assert.deepEqual(await disk.open(udp, [udp]), { 'plain\0s': asleep({ is: 'new' }) })
  assert.deepEqual([...disk.values], [[`${toNamePrefix(udp)}plain\0s`, asleep({ is: 'new' })]])
})
