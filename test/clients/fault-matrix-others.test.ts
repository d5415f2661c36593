// Fault x dependency x phase for what is not an action: sources, probes of connectors, the HTTP service of authentication, and the HTTP client
// that authentication, access rules and OpenID Connect have in common. Actions: fault-matrix.test.ts; bridges:
// fault-matrix-bridges.test.ts.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import mqtt from 'mqtt'
import { HttpClient } from '../../src/access/http/http-client.ts'
import { fromPlain, parseHocon, toPlain } from '../../src/config/index.ts'
import { HttpService } from '../e2e/http-service.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { eventually } from '../e2e/eventually.ts'
import { settleWithin } from '../e2e/time-limit.ts'
import { casesOf, isLong } from '../test-length.ts'
import { findUnnoticed, hasAlarm, isReachedWithin, pause } from './matrix/broker-state.ts'
import { dependencies } from './matrix/dependencies.ts'
import { type Fault, FaultProxy, faults } from './matrix/fault-proxy.ts'
import { lateMs } from './matrix/proxied-services.ts'
import { sourceDependencies } from './matrix/source-dependencies.ts'
import { untilSource } from './source-stage.ts'

const recoveredMs = 60_000

describe('the HTTP client of authentication, access rules and OpenID Connect', { concurrency: true }, () => {
  const timeoutMs = 2_000
  const poolSize = 2
  for (const fault of faults) {
    test(`${fault}: every request has a result in time, and the next one after the fault succeeds`, async (t) => {
      const service = await HttpService.start(t)
      const proxy = await FaultProxy.start(t, service.port, { lateMs })
      const client = new HttpClient({ timeoutMs, connectTimeoutMs: 1_000, poolSize, maxWaiting: 100 })
      t.after(() => client.close())
      const send = () =>
        client.send(
          { url: new URL(`http://127.0.0.1:${proxy.port}/`), method: 'GET', headers: {}, body: undefined },
          () => true,
        )
      for (const phase of ['start', 'idle', 'request'] as const) {
        if (phase === 'start') await proxy.begin(fault)
        else assert.ok('status' in (await send()), `${phase}: before the fault`)
        await proxy.begin(fault, phase === 'request' ? /GET/ : 'now')
        // More requests than connections.
        await settleWithin(timeoutMs + 1_500, phase, Promise.all(Array.from({ length: 10 }, send)))
        await proxy.heal()
        const isWell = await isReachedWithin(3 * timeoutMs, async () => 'status' in (await send()))
        assert.ok(isWell, `${phase}: not recovered`)
        assert.ok(await isReachedWithin(3_000, () => proxy.open <= poolSize), `${phase}: ${proxy.open} connections`)
      }
    })
  }
})

test('clients are refused in time while the HTTP service of authentication is silent, and accepted when it responds', async (t) => {
  const service = await HttpService.start(t)
  const proxy = await FaultProxy.start(t, service.port, { lateMs })
  const url = `http://127.0.0.1:${proxy.port}`
  const broker = await startBrokerWithApi(t, {
    set: [
      `auth.http_auth={timeout=1s,connect_timeout=500ms,pool_size=2,auth_req={url="${url}/auth",params={username="%u"}},acl_req={url="${url}/acl",params={topic="%t"}}}`,
    ],
  })
  const connect = async (): Promise<mqtt.MqttClient> => {
    const options = { username: 'a', password: 'b', reconnectPeriod: 0 }
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, options)
    t.after(() => client.end(true))
    return client
  }
  await connect()
  for (const fault of ['silent', 'reset', 'nonsense', 'refuse'] as const) {
    await proxy.begin(fault)
    const results = await settleWithin(8_000, fault, Promise.allSettled(Array.from({ length: 6 }, connect)))
    assert.ok(
      results.every(({ status }) => status === 'rejected'),
      fault,
    )
    await proxy.heal()
    await connect()
  }
})

const probed = casesOf(
  Object.keys(dependencies).map((name) => [name] as const),
  'redis',
)

describe('a probe of a connector', { concurrency: true }, () => {
  for (const [name] of probed) {
    test(`${name}: has a reason in time, and leaves no connection`, async (t) => {
      const { settings, proxies } = await dependencies[name](t)
      const broker = await startBrokerWithApi(t)
      const body = bodyOf(settings[0])
      const probe = () => broker.request('/api/v5/connectors_probe', { method: 'POST', body })
      for (const fault of ['silent', 'refuse', 'nonsense'] as const) {
        // On a loaded machine, a service that was just started can need longer than a probe waits.
        await eventually(async () => {
          const first = await probe()
          assert.equal(first.status, 204, first.text)
        })
        await proxies.begin(fault)
        const { status, json, text } = await settleWithin(9_000, fault, probe())
        assert.equal(status, 400, `${fault}: ${text}`)
        assert.ok(String(json.message).length > 5, text)
        assert.ok(await isReachedWithin(5_000, () => proxies.open === 0), `${fault}: ${proxies.open} connections`)
        await proxies.heal()
      }
    })
  }
})

/** `setting`: `connectors.TYPE.NAME={...}`. */
function bodyOf(setting: string): object {
  const [, type = '', name = '', text = ''] = /^connectors\.(\w+)\.(\w+)=(.*)$/s.exec(setting) ?? []
  const parsed = parseHocon(`value = ${text}`, { file: '' })
  assert.ok('value' in parsed)
  const { value } = toPlain(parsed.value) as { readonly value: object }
  assert.ok(!('errors' in fromPlain({ ...value }, '')))
  return { ...value, type, name }
}

const sources = casesOf(
  Object.keys(sourceDependencies).map((name) => [name] as const),
  'nats',
)
const sourceCells: readonly (readonly [Fault, 'start' | 'idle'])[] = isLong
  ? faults.flatMap((fault) => [[fault, 'start'] as const, [fault, 'idle'] as const])
  : [['silent', 'idle']]

describe('a source whose service fails', { concurrency: true }, () => {
  for (const [name] of sources) {
    test(`${name}: the source recovers, its state is true, and each message arrives`, async (t) => {
      const dependency = await sourceDependencies[name](t)
      const { source, settings, proxies, maxConnections } = dependency
      const send = (number: number): Promise<void> => dependency.send(number)
      if (name === 'kafka') await send(-1)
      const rule = `rule_engine.rules.all={sql="SELECT * FROM \\"$bridges/${source}\\"",actions=[{function=republish,args={topic="from/source",qos=1,payload="\${${name === 'kafka' ? 'value' : 'payload'}}"}}]}`
      const broker = await startBrokerWithApi(t, { set: [...settings, rule] })
      const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
      t.after(() => client.end(true))
      const received = new Set<number>()
      client.on('message', (_, payload) => void received.add(Number(payload.toString())))
      await client.subscribeAsync('from/source', { qos: 1 })
      const view = async (): Promise<readonly [string, string]> => {
        const { json } = await broker.request(`/api/v5/sources/${source}`)
        return [String(json.status), String(json.status_reason)]
      }
      const control = async (operation: string): Promise<void> => {
        const { status, text } = await broker.request(`/api/v5/sources/${source}/${operation}`, { method: 'POST' })
        assert.equal(status, 204, text)
      }
      const problems: string[] = []
      let sent = 0
      for (const [fault, phase] of sourceCells) {
        const cell = `${name}, ${fault} at ${phase}`
        const found: string[] = []
        await untilSource(broker, source, 'connected')
        if (phase === 'start') await control('stop')
        await proxies.begin(fault)
        if (phase === 'start') await control('start')
        for (let count = 0; count < 5; count++) await send(sent++)
        if (fault === 'silent' || fault === 'refuse' || fault === 'nonsense')
          found.push(...(await findUnnoticed(broker, `source:${source}`, view)))
        else await pause(1_000)
        await proxies.heal()
        const isWell = async (): Promise<boolean> => {
          const [status, reason] = await view()
          const hasAll = Array.from({ length: sent }, (_, number) => number).every((number) => received.has(number))
          // A source of MQTT has no persistent session at a broker that has not seen it.
          return status === 'connected' && reason === '' && hasAll && !(await hasAlarm(broker, `source:${source}`))
        }
        if (!(await isReachedWithin(recoveredMs, isWell)))
          found.push(`not recovered: ${(await view()).join(', ')}; ${received.size} of ${sent}`)
        if (proxies.open > maxConnections) found.push(`${proxies.open} connections`)
        await control('restart')
        await untilSource(broker, source, 'connected')
        for (const text of found) t.diagnostic(`${cell}: ${text}`)
        problems.push(...found.map((text) => `${cell}: ${text}`))
      }
      assert.deepEqual(problems, [])
    })
  }
})
