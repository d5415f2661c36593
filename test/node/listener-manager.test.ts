// Changes of listeners of a node. If shards cannot apply a change, all listeners are restored.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GodwitConfig, loadConfig } from '../../src/config/index.ts'
import { ListenerManager } from '../../src/node/listeners/listener-manager.ts'
import { resolveListeners } from '../../src/node/listeners/listener-addresses.ts'
import type { ListenerDifference, ListenerStep } from '../../src/shard/index.ts'

const before = `
  listeners.tcp.going.bind = "127.0.0.1:0"
  listeners.tcp.changing { bind = "127.0.0.1:0", max_connections = 1 }
  listeners.tcp.staying.bind = "127.0.0.1:0"`
const after = `
  listeners.tcp.coming.bind = "127.0.0.1:0"
  listeners.tcp.changing { bind = "127.0.0.1:0", max_connections = 2 }
  listeners.tcp.staying.bind = "127.0.0.1:0"`

interface SentStep {
  readonly step: ListenerStep
  readonly difference: ListenerDifference
  /** The listeners with which shards start afterwards. */
  readonly assignments: readonly number[] | undefined
}

function configOf(text: string): GodwitConfig {
  const loaded = loadConfig({ text, overrides: [] })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  return loaded.config
}

/** Shards that report these problems for the first `open` or `settle`, and no problem afterwards. */
class Shards {
  readonly sentSteps: SentStep[] = []
  readonly errors: unknown[] = []
  readonly problems = new Map<ListenerStep, string[]>()
  readonly listeners: ListenerManager

  static async start(): Promise<Shards> {
    const config = configOf(before)
    const resolved = await resolveListeners(config)
    assert.ok('listeners' in resolved, JSON.stringify(resolved))
    return new Shards(config, resolved.listeners)
  }

  private constructor(config: GodwitConfig, addresses: ListenerManager['addresses']) {
    this.listeners = new ListenerManager({
      config,
      addresses,
      shards: 2,
      log: {
        debug: () => undefined,
        info: () => undefined,
        warn: () => undefined,
        error: (_, fields) => this.errors.push(fields),
      },
      sendStep: async (step, difference, listeners) => {
        this.sentSteps.push({ step, difference, assignments: listeners?.map(({ number }) => number) })
        return this.problems.get(step)?.shift()
      },
    })
  }

  get numbers(): Record<string, number> {
    return Object.fromEntries(this.listeners.placed.map(({ name, number }) => [name, number]))
  }

  get steps(): ListenerStep[] {
    return this.sentSteps.map(({ step }) => step)
  }
}

const namesOf = (listeners: ListenerDifference['opened']): string[] => listeners.map(({ name }) => name)

test('after a change that all shards applied, shards start with the new listeners', async () => {
  const shards = await Shards.start()
  const { staying, changing, going } = shards.numbers
  assert.equal(await shards.listeners.change(configOf(after)), undefined)
  assert.deepEqual(shards.steps, ['learn', 'open', 'settle'])
  const { difference, assignments } = shards.sentSteps[2]
  assert.deepEqual([namesOf(difference.opened), namesOf(difference.changed)], [['coming'], ['changing']])
  assert.deepEqual(difference.closed, [going])
  assert.deepEqual(assignments, Object.values(shards.numbers))
  assert.deepEqual([shards.numbers['staying'], shards.numbers['changing']], [staying, changing])
})

test('a restart of a listener gives it a new number: shards open the new one, close the old one, and start with the new one', async () => {
  const shards = await Shards.start()
  const { numbers: old } = shards
  assert.equal(await shards.listeners.restart('tcp', 'staying'), true)
  const { difference, assignments } = shards.sentSteps[2]
  assert.deepEqual(difference.closed, [old['staying']])
  const number = difference.opened[0]?.number
  assert.ok(number !== undefined && !Object.values(old).includes(number))
  assert.deepEqual(shards.numbers, { ...old, staying: number })
  assert.deepEqual(assignments, Object.values(shards.numbers))
})

test('if a listener cannot be opened, the change is abandoned, and nothing is changed', async () => {
  const shards = await Shards.start()
  const { numbers } = shards
  const { addresses } = shards.listeners
  shards.problems.set('open', ['the port is in use'])
  assert.deepEqual(await shards.listeners.change(configOf(after)), { problem: 'the port is in use' })
  assert.deepEqual(shards.steps, ['learn', 'open', 'abandon'])
  assert.deepEqual(shards.sentSteps[2]?.difference, shards.sentSteps[1]?.difference)
  assert.deepEqual([shards.numbers, shards.listeners.addresses], [numbers, addresses])
})

test('if a listener cannot be opened after others were closed, those are reopened, and changed listeners are restored', async () => {
  const shards = await Shards.start()
  const { addresses } = shards.listeners
  const old = shards.numbers
  shards.problems.set('settle', ['the port is in use'])
  assert.deepEqual(await shards.listeners.change(configOf(after)), { problem: 'the port is in use' })
  assert.deepEqual(shards.steps, ['learn', 'open', 'settle', 'learn', 'settle'])
  const { opened, changed, closed } = shards.sentSteps[4].difference
  assert.deepEqual(shards.sentSteps[3]?.difference, { opened, changed, closed })
  assert.deepEqual(
    changed.map(({ number, maxConnections }) => [number, maxConnections]),
    [[old['changing'], 1]],
  )
  assert.deepEqual(
    closed,
    shards.sentSteps[2]?.difference.opened.map(({ number }) => number),
  )
  assert.deepEqual(namesOf(opened), ['going'])
  assert.notEqual(
    opened[0]?.number,
    old['going'],
    'connections of the closed listener do not belong to the reopened one',
  )
  const now = { ...old, going: opened[0]?.number }
  assert.deepEqual([shards.numbers, shards.listeners.addresses], [now, addresses])
  assert.deepEqual(shards.sentSteps[4]?.assignments, Object.values(now))
  assert.deepEqual(shards.errors, [])
})

test('an error is logged if a listener cannot be reopened', async () => {
  const shards = await Shards.start()
  shards.problems.set('settle', ['the port is in use', 'the files are gone'])
  assert.deepEqual(await shards.listeners.change(configOf(after)), { problem: 'the port is in use' })
  assert.deepEqual(shards.errors, [{ why: 'the files are gone' }])
})
