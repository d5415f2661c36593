// Rules, connectors, schemas and bridges that remain when the broker is killed or stopped.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import type { BrokerWithApi } from '../../management/api.ts'
import { bridgeOver, client as bridgeClient, publishNumbered, untilBridge, Wire } from '../bridge-stage.ts'
import { eventually } from '../eventually.ts'
import { HttpService } from '../http-service.ts'
import { connected } from '../mqtt-client.ts'
import type { Survives } from './share-restart.ts'

export function rulesOfTheApiSurvive(survives: Survives): void {
  survives(
    'rules and actions that are created over the API run at once, have metrics, remain after a restart and can be deleted',
    async (scope) => {
      const service = await HttpService.start(scope)
      service.statusFor = ({ body }) => (body === 'poison' ? 400 : 200)
      const rule = { id: 'api', sql: 'SELECT payload FROM "api/#"', actions: ['http:api'] }
      return {
        async before(broker) {
          const post = (path: string, body: object) => broker.request(`/api/v5${path}`, { method: 'POST', body })
          const headers = { authorization: 'Bearer hidden' }
          const connector = { type: 'http', name: 'api', url: `http://127.0.0.1:${service.port}`, headers }
          const made = await post('/connectors', connector)
          assert.equal(made.status, 201, made.text)
          assert.doesNotMatch(made.text, /hidden/)
          const options = { max_retries: 0, retry_interval: '20ms' }
          // oxlint-disable-next-line no-template-curly-in-string -- a template of rules
          const parameters = { body: '${payload}' }
          const action = { type: 'http', name: 'api', connector: 'api', parameters, resource_opts: options }
          assert.equal((await post('/actions', action)).status, 201)
          assert.equal((await post('/rules', rule)).status, 201)
          assert.equal((await post('/rules', rule)).status, 409)
          const wrong = await post('/rules', { id: 'bad', sql: 'SELECT FROM' })
          assert.equal(wrong.status, 400)
          assert.match(wrong.text, /line 1, column/)
          const client = await connected(scope, broker, { clientId: 'publisher for rules' })
          for (const payload of ['a', 'poison', 'b']) await client.publishAsync('api/x', payload, { qos: 1 })
          await service.until((received) => received.length === 3)
          assert.equal(service.received[0].headers['authorization'], 'Bearer hidden')
          let metrics
          do metrics = (await broker.request('/api/v5/actions/http:api/metrics')).json.metrics
          while (metrics.dead_letters !== 1 || metrics.success !== 2)
          const letters = (await broker.request('/api/v5/actions/http:api/dead_letters')).json.data
          assert.deepEqual([letters.length, letters[0].payload, letters[0].rule], [1, 'poison', 'api'])
          const counted = (await broker.request('/api/v5/rules/api/metrics')).json.metrics
          assert.deepEqual(
            [counted.matched, counted.passed, counted['actions.success'], counted['actions.failed']],
            [3, 3, 2, 1],
          )
          let rates
          do rates = (await broker.request('/api/v5/actions/http:api/metrics')).json.metrics
          while (rates.rate_max === 0)
          assert.ok(rates.rate_last5m > 0)
          const connectorStatus = async (): Promise<string> =>
            (await broker.request('/api/v5/connectors/http:api')).json.status_reason
          assert.equal((await post('/connectors/http:api/stop', {})).status, 204)
          assert.equal(await connectorStatus(), 'stopped by an administrator')
          await client.publishAsync('api/x', 'while stopped', { qos: 1 })
          assert.equal((await post('/connectors/http:api/start', {})).status, 204)
          await service.until((received) => received.at(-1)?.body === 'while stopped')
          assert.equal((await post('/connectors/http:api/pause', {})).status, 400)
          assert.equal((await post('/connectors/http:other/stop', {})).status, 404)
          const written = (await broker.request('/api/v5/rules/api')).json
          assert.equal(written.last_modified_at, written.created_at)
          const changed = await broker.request('/api/v5/rules/api', {
            method: 'PUT',
            body: { ...rule, description: 'changed' },
          })
          assert.equal(changed.json.created_at, written.created_at)
          assert.ok(changed.json.last_modified_at > written.last_modified_at)
          const inUse = await broker.request('/api/v5/connectors/http:api', { method: 'DELETE' })
          assert.equal(inUse.status, 400, inUse.text)
        },
        async after(_, broker) {
          assert.equal((await broker.request('/api/v5/rules/api')).json.sql, rule.sql)
          for (const path of ['rules/api', 'actions/http:api?force=true', 'connectors/http:api']) {
            const removed = await broker.request(`/api/v5/${path}`, { method: 'DELETE' })
            assert.equal(removed.status, 204, `${path}: ${removed.text}`)
          }
          assert.doesNotMatch((await broker.request('/api/v5/actions')).text, /"name":"api"/)
        },
      }
    },
  )
}

export function headersSurvive(survives: Survives): void {
  survives(
    'null removes a header of the file; others remain, also after a restart, and a mask keeps the stored value',
    async (scope) => {
      const service = await HttpService.start(scope)
      const url = `http://127.0.0.1:${service.port}`
      const headersNow = async (broker: BrokerWithApi): Promise<unknown[]> => {
        const before = service.received.length
        const client = await connected(scope, broker, {})
        await client.publishAsync('headers', 'x', { qos: 1 })
        await client.endAsync()
        await service.until((received) => received.length > before)
        const { headers } = service.received[before]
        return [headers['x-one'], headers['x-two'], headers['x-three']]
      }
      const put = async (broker: BrokerWithApi, headers: unknown) =>
        await broker.request('/api/v5/connectors/http:hook', { method: 'PUT', body: { url, headers } })
      return {
        settings: [
          `connectors.http.hook { url = "${url}", headers { x-one = first, x-two = second } }`,
          'actions.http.hook { connector = hook, parameters { body = "${payload}" } }',
          'rule_engine.rules.r { sql = "SELECT payload FROM \\"headers\\"", actions = ["http:hook"] }',
        ],
        async before(broker) {
          assert.deepEqual(await headersNow(broker), ['first', 'second', undefined])
          const changed = await put(broker, { 'x-two': null, 'x-three': 'third' })
          assert.equal(changed.status, 200, changed.text)
          assert.deepEqual(await headersNow(broker), ['first', undefined, 'third'])
          // The returned settings can be sent back.
          assert.equal((await put(broker, '******')).status, 200)
          assert.deepEqual(await headersNow(broker), ['first', undefined, 'third'])
        },
        async after(_, broker) {
          assert.deepEqual(await headersNow(broker), ['first', undefined, 'third'])
          assert.equal((await put(broker, { 'x-two': 'again', 'x-three': null })).status, 200)
          assert.deepEqual(await headersNow(broker), ['first', 'again', undefined])
          assert.equal((await put(broker, { 'x-one': {} })).status, 400)
        },
      }
    },
  )
}

const isAgeKnown = ({ oldest_age: age, lag }: { oldest_age: number | null; lag: number }): boolean =>
  age !== null && age > 0 && lag > 0

export function spoolAgeSurvives(survives: Survives): void {
  survives(
    'the age of the oldest message of a spool is shown also after a restart, without a connection',
    async (scope) => {
      const wire = await Wire.to(scope, undefined)
      let ageBefore = 0
      return {
        settings: [`bridges.mqtt.up {\nenable = true\n${bridgeOver(wire)}\n}`],
        async before(broker) {
          const publisher = await bridgeClient(scope, broker.port)
          await publishNumbered(publisher, 'up/waits', { qos: 1, from: 0, count: 5 })
          ageBefore = (await untilBridge(broker, isAgeKnown)).oldest_age
        },
        async after(_, broker) {
          const after = await untilBridge(broker, isAgeKnown)
          assert.ok(after.oldest_age > ageBefore, `${after.oldest_age} s after ${ageBefore} s`)
          assert.equal(after.spool_depth, 5)
          await eventually(async () => {
            const { text } = await broker.request('/api/v4/prometheus')
            const [, lag = '0'] = /^svc_bridge_lag_seconds\{bridge="up"\} (\S+)$/m.exec(text) ?? []
            assert.ok(Number(lag) >= after.lag, `${lag} s`)
            assert.match(text, /^svc_bridge_state\{bridge="up",state="(waiting|connecting)"\} 1$/m)
            assert.match(text, /^svc_bridge_last_error_timestamp_seconds\{bridge="up"\} \d{10}/m)
          })
        },
      }
    },
  )
}

const longer = 'syntax = "proto3";\nmessage Reading { string id = 1; int64 value = 2; string unit = 3; }'
/** `{id: "a", value: 9007199254740993, unit: "C"}` */
const payload = Buffer.from('0a01611081808080808080101a0143', 'hex')

export function schemasSurvive(survives: Survives): void {
  survives('schemas survive a restart', async (scope) => {
    const body = { name: 'stored', type: 'protobuf', source: longer, description: '' }
    return {
      async before(broker) {
        const post = (path: string, sent: object) => broker.request(`/api/v5/${path}`, { method: 'POST', body: sent })
        assert.equal((await post('schema_registry', body)).status, 201)
        const sql = "SELECT schema_decode('stored', payload, 'Reading') AS r FROM \"packed/#\""
        const republish = { function: 'republish', args: { topic: 'unpacked', payload: '${.}', qos: 0 } }
        assert.equal((await post('rules', { id: 'stored', sql, actions: [republish] })).status, 201)
      },
      async after(_, broker) {
        assert.deepEqual((await broker.request('/api/v5/schema_registry')).json, [body])
        const client = await connected(scope, broker, {})
        const unpacked = new Promise<string>((resolve) =>
          client.once('message', (_topic, message) => resolve(message.toString())),
        )
        await client.subscribeAsync('unpacked')
        await client.publishAsync('packed/a', payload, { qos: 1 })
        assert.match(await unpacked, /"value":9007199254740993/)
      },
    }
  })
}
