// Services at a host name whose addresses are denied: no sink connects, whatever library it uses.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/index.ts'
import { compileTemplate } from '../../src/rules/index.ts'
import {
  type ActionSettings,
  type ConnectorSettings,
  sinkTypes,
  type SinkTypeName,
} from '../../src/sinks/registry/sink-types.ts'
import { denyAddresses } from '../../src/transports/index.ts'

type NetworkType = Exclude<SinkTypeName, 'disk_log' | 'sqlite' | 'timescale'>

/** Settings of a connector, and parameters of an action. `PORT` stands for the port of the service. */
const settings: Readonly<Record<NetworkType, readonly [connector: string, parameters: string]>> = {
  http: ['url="http://localhost:PORT"', 'path="/a"'],
  mqtt: ['server="localhost:PORT"', 'topic=a'],
  pgsql: ['server="localhost:PORT", database=a', 'sql="INSERT INTO t VALUES (1)"'],
  mysql: ['server="localhost:PORT", database=a', 'sql="INSERT INTO t VALUES (1)"'],
  redis: ['server="localhost:PORT"', 'command_template=[SET, a, b]'],
  mongodb: ['parameters.server="localhost:PORT", database=a', 'collection=a'],
  nats: ['server="localhost:PORT"', 'subject=a'],
  rabbitmq: ['server="localhost:PORT"', 'routing_key=a'],
  kafka_producer: ['bootstrap_hosts="localhost:PORT"', 'topic=a'],
  influxdb: ['server="localhost:PORT"', 'write_syntax="a b=1"'],
  clickhouse: ['url="http://localhost:PORT"', 'sql="INSERT INTO t VALUES (1)"'],
  elasticsearch: ['server="localhost:PORT"', 'index=a, doc="{}"'],
  prometheus_remote_write: ['url="http://localhost:PORT"', 'metric=a'],
  s3: ['host="localhost", port=PORT', 'bucket=a, key=b'],
}

for (const [type, [connector, parameters]] of Object.entries(settings) as [NetworkType, readonly [string, string]][]) {
  test(`${type}: a host name with denied addresses only gets no connection`, async (t) => {
    let connections = 0
    const server = createServer((socket) => {
      connections++
      socket.on('error', () => {}).destroy()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const loaded = loadConfig({
      overrides: [
        `connectors.${type}.x={${connector.replace('PORT', String(port))}, connect_timeout=2s}`,
        `actions.${type}.x={connector=x, parameters={${parameters}}}`,
      ],
    })
    assert.ok('config' in loaded, JSON.stringify(loaded))
    const { connectors, actions } = loaded.config
    const context = {
      requestTimeoutMs: 2_000,
      action: `${type}:x`,
      nodeName: 'node',
      compile: compileTemplate,
      dataDirectory: '/',
      shard: 0,
    }
    const open = () =>
      sinkTypes[type].open(
        connectors[type].named.get('x') as ConnectorSettings,
        actions[type].named.get('x') as ActionSettings,
        context,
      )
    denyAddresses(['loopback'])
    t.after(() => denyAddresses([]))
    const denied = open()
    assert.match((await denied.check()) ?? '', /denied/)
    assert.equal(connections, 0)
    denied.close()

    denyAddresses([])
    const allowed = open()
    assert.notEqual(await allowed.check(), undefined, 'the service closes each connection')
    assert.ok(connections > 0)
    allowed.close()
  })
}
