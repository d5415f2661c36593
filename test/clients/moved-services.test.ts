// A service that comes back with another address: its host name resolves to another one than before, and the old address is silent.

import assert from 'node:assert/strict'
import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { after, before, describe, test } from 'node:test'
import { loadConfig } from '../../src/config/index.ts'
import { compileSinkTemplate } from '../../src/actions/results/compile-sink-template.ts'
import { type ActionSettings, type ConnectorSettings, type SinkTypeName, sinkTypes } from '../../src/sinks/index.ts'
import type { Scope } from '../e2e/godwit-process.ts'
import { HttpService } from '../e2e/http-service.ts'
import { MongodbStub } from '../e2e/mongodb-stub.ts'
import { DatabaseServer } from './database-server.ts'
import { FaultProxy } from './matrix/fault-proxy.ts'

const host = 'moved.test'
let address = '127.0.0.1'
const { lookup } = dns

async function redis(t: Scope): Promise<number> {
  const server = await DatabaseServer.redis(t)
  await server.start()
  return server.port
}

const http = async (t: Scope): Promise<number> => (await HttpService.start(t)).port

const services: readonly (readonly [
  type: SinkTypeName,
  start: (t: Scope) => Promise<number>,
  connector: (port: number) => string,
  parameters: string,
])[] = [
  ['redis', redis, (port) => `server="${host}:${port}",password=secret`, 'command_template=[SET, a, b]'],
  ['http', http, (port) => `url="http://${host}:${port}/"`, 'body="x"'],
  ['influxdb', http, (port) => `server="${host}:${port}"`, 'write_syntax="a b=1"'],
  ['clickhouse', http, (port) => `url="http://${host}:${port}"`, 'sql="INSERT INTO t VALUES (1)"'],
  [
    'mongodb',
    async (t) => (await MongodbStub.start(t)).port,
    (port) => `parameters={mongo_type=single,server="${host}:${port}"},database=a`,
    'collection=a',
  ],
]

// The resolver of the machine cannot be changed for one process.
function resolved(name: string, options: dns.LookupOptions, callback: (...values: unknown[]) => void): void {
  if (name !== host) return lookup(name, options, callback as never)
  setImmediate(() => {
    if (options.all === true) callback(null, [{ address, family: 4 }])
    else callback(null, address, 4)
  })
}

describe('a service that has another address', () => {
  before(() => {
    dns.lookup = resolved as typeof dns.lookup
    syncBuiltinESMExports()
  })
  after(() => {
    dns.lookup = lookup
    syncBuiltinESMExports()
  })

  for (const [type, start, connector, parameters] of services) {
    test(`${type}: is found at the new address, although the old one is silent`, async (t) => {
      address = '127.0.0.1'
      const target = await start(t)
      const old = await FaultProxy.start(t, target, { lateMs: 3_000, host: '127.0.0.1' })
      const moved = await FaultProxy.start(t, target, { lateMs: 3_000, host: '127.0.0.2', port: old.port })
      const loaded = loadConfig({
        overrides: [
          `connectors.${type}.x={${connector(old.port)}, connect_timeout=1s}`,
          `actions.${type}.x={connector=x, parameters={${parameters}}}`,
        ],
      })
      assert.ok('config' in loaded, JSON.stringify(loaded))
      const { connectors, actions } = loaded.config
      const sink = sinkTypes[type].open(
        (connectors[type].named as ReadonlyMap<string, ConnectorSettings>).get('x') as ConnectorSettings,
        (actions[type].named as ReadonlyMap<string, ActionSettings>).get('x') as ActionSettings,
        {
          requestTimeoutMs: 1_000,
          action: `${type}:x`,
          nodeName: 'node',
          compile: compileSinkTemplate,
          dataDirectory: '/tmp',
          shard: 0,
        },
      )
      t.after(() => sink.close())
      assert.equal(await sink.check(), undefined)
      assert.ok(old.open > 0)
      await old.begin('silent')
      address = '127.0.0.2'
      // The first check has no response at the old address, and closes its connection.
      assert.notEqual(await sink.check(), undefined)
      assert.equal(await sink.check(), undefined)
      assert.ok(moved.open > 0)
    })
  }
})
