// Fault x dependency x phase: each service behind a proxy that fails. The daily run has the cells that found most; the long run has all.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import mqtt from 'mqtt'
import { startBrokerWithApi } from '../management/api.ts'
import { isLong } from '../test-length.ts'
import { dependencies } from './matrix/dependencies.ts'
import { faults } from './matrix/fault-proxy.ts'
import { type Cell, MatrixRun, type Phase } from './matrix/run-cell.ts'

const phases: readonly Phase[] = ['start', 'handshake', 'idle', 'request', 'batch', 'close', 'reconnect']
const transactionPhases: readonly Phase[] = ['begin', 'commit', 'rollback']

/** Cells of the daily run by service. */
const daily: Readonly<Record<string, readonly string[]>> = {
  redis: ['silent start', 'freeze request', 'silent idle'],
  mysql: ['silent start', 'silent begin', 'silent commit', 'freeze rollback'],
  http: ['refuse request', 'silent batch'],
}

const only = process.env['GODWIT_MATRIX']?.split(',')

function cellsOf(name: string, hasTransactions: boolean): readonly Cell[] {
  const all = [...phases, ...(hasTransactions ? transactionPhases : [])].flatMap((phase) =>
    faults.map((fault) => ({ fault, phase })),
  )
  if (isLong) return all
  const named = daily[name] ?? []
  return all.filter(({ fault, phase }) => named.includes(`${fault} ${phase}`))
}

const names = Object.keys(dependencies).filter((name) => only?.includes(name) ?? (isLong || Object.hasOwn(daily, name)))

// Concurrently, because the tests wait for services that do not respond.
describe('a service that fails', { concurrency: true }, () => {
  for (const name of names) {
    test(`${name}: the action recovers, its state is true, and no acknowledged message is lost`, async (t) => {
      const dependency = await dependencies[name](t)
      const broker = await startBrokerWithApi(t, {
        set: [
          ...dependency.settings,
          `rule_engine.rules.matrix={sql="SELECT * FROM \\"matrix/#\\"",actions=["${dependency.action}"]}`,
        ],
      })
      const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
      t.after(() => client.end(true))
      const run = new MatrixRun(broker, client, dependency)
      const problems: string[] = []
      for (const cell of cellsOf(name, Object.hasOwn(dependency.phases, 'commit'))) {
        const found = await run.run(cell)
        for (const text of found) t.diagnostic(text)
        problems.push(...found)
      }
      assert.deepEqual(problems, [])
    })
  }
})
