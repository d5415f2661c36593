// Either all consumers apply a change of the configuration, or none does.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GodwitConfig } from '../../src/config/index.ts'
import { applyEverywhere, type ConfigConsumer } from '../../src/node/configuration/config-consumers.ts'

const before = { name: 'before' } as unknown as GodwitConfig
const after = { name: 'after' } as unknown as GodwitConfig

interface Stage {
  /** The settings that each consumer has in force. */
  readonly inForce: Map<string, GodwitConfig>
  readonly called: string[]
  readonly owner: (name: string, trouble?: 'refuses' | 'throws') => ConfigConsumer
}

function stage(): Stage {
  const inForce = new Map<string, GodwitConfig>()
  const called: string[] = []
  const owner: Stage['owner'] = (name, trouble) => {
    inForce.set(name, before)
    return {
      canApply: (key) => key.startsWith(`${name}.`),
      apply: async (config) => {
        called.push(name)
        if (config === after && trouble === 'refuses') return { problem: `${name}.key: the disk is made of cheese` }
        if (config === after && trouble === 'throws') throw new Error('a shard died')
        inForce.set(name, config)
        return undefined
      },
    }
  }
  return { inForce, called, owner }
}

test('consumers of changed settings are called in order, and other consumers are not called', async () => {
  const { inForce, called, owner } = stage()
  const owners = [owner('http_server'), owner('listeners'), { ...owner('mqtt'), isAlwaysApplied: true }]
  assert.equal(await applyEverywhere(owners, ['http_server.port'], { before, after }), undefined)
  assert.deepEqual(called, ['http_server', 'mqtt'])
  assert.deepEqual([...inForce.values()], [after, before, after])
})

for (const trouble of ['refuses', 'throws'] as const) {
  test(`if a consumer ${trouble}, earlier consumers get the old settings in reverse order, and later ones are not called`, async () => {
    const { inForce, called, owner } = stage()
    const owners = [owner('http_server'), owner('listeners'), owner('mqtt', trouble), owner('log')]
    const keys = ['log.level', 'mqtt.a', 'listeners.b', 'http_server.c']
    const applied = applyEverywhere(owners, keys, { before, after })
    if (trouble === 'throws') await assert.rejects(applied, /a shard died/)
    else assert.deepEqual(await applied, { problem: 'mqtt.key: the disk is made of cheese' })
    assert.deepEqual(called.slice(0, 3), ['http_server', 'listeners', 'mqtt'])
    assert.deepEqual(called.slice(-2), ['listeners', 'http_server'])
    assert.ok(!called.includes('log'))
    assert.ok([...inForce.values()].every((config) => config === before))
  })
}
