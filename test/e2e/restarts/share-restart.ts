// One broker that ends and starts again, for all tests of a file that check what remains: two starts instead of two for each test.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type BrokerWithApi, startBrokerWithApi } from '../../management/api.ts'
import { type Scope, shared, temporaryFolder } from '../godwit-process.ts'

/** What a test does on the shared broker. It has client IDs, topics and names of rules of its own. */
export interface Survival {
  /** Of the configuration file. */
  readonly settings?: readonly string[]
  /** Runs at the same time as those of the other tests. */
  readonly before?: (broker: BrokerWithApi) => Promise<void>
  /** Runs after all of these. When it resolves, the broker ends at once. */
  readonly rightBefore?: (broker: BrokerWithApi) => Promise<void>
  readonly after: (t: TestContext, broker: BrokerWithApi) => Promise<void>
}

/** `prepare`: its resources are released after the last test of the file. */
export type Survives = (title: string, prepare: (scope: Scope) => Promise<Survival>) => void

interface Restart {
  readonly signal: 'SIGKILL' | 'SIGTERM'
  /** Of the first start and of the second. */
  readonly shards: readonly [number, number]
}

/** Returns a function that adds a test. Each test passes alone, because the others are prepared as well. */
export function shareRestart({ signal, shards }: Restart): Survives {
  const prepared: ((scope: Scope) => Promise<Survival>)[] = []
  const restarted = shared(async (scope) => {
    // All tests have been added when the first one continues.
    await setImmediate()
    const survivals = await Promise.all(prepared.map((prepare) => prepare(scope)))
    const dataDirectory = await temporaryFolder(scope)
    await writeFile(
      join(dataDirectory, 'godwit.conf'),
      survivals.flatMap((survival) => survival.settings ?? []).join('\n'),
    )
    const start = (count: number) => startBrokerWithApi(scope, { dataDirectory, set: [`node.shards=${count}`] })
    const broker = await start(shards[0])
    const outcomes = await Promise.allSettled(survivals.map(async ({ before }) => before?.(broker)))
    await Promise.all(survivals.map(async ({ rightBefore }) => rightBefore?.(broker)))
    const code = await broker.process.stop(signal)
    const again = await start(shards[1])
    return { again, survivals, outcomes, code }
  })
  return (title, prepare) => {
    const index = prepared.push(prepare) - 1
    test(title, async (t) => {
      const { again, survivals, outcomes, code } = await restarted()
      const outcome = outcomes[index]
      if (outcome.status === 'rejected') throw outcome.reason
      assert.equal(code, signal === 'SIGTERM' ? 0 : null)
      await survivals[index].after(t, again)
    })
  }
}
