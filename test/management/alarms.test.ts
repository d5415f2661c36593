import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alarmEndpoints, shapeOf } from '../../src/contract/index.ts'
import { startBrokerWithApi } from './api.ts'

test('where nothing is wrong no alarm holds and none is over', async (t) => {
  const broker = await startBrokerWithApi(t, { set: ['node.name="godwit@plant"'] })
  for (const path of ['', '/activated', '/deactivated']) {
    const ofNodes = await broker.ask(`/api/v4/alarms${path}`)
    assert.equal(shapeOf(alarmEndpoints.list_alarms.reply).faultOf(ofNodes.json), undefined)
    assert.deepEqual(ofNodes.json.data, [{ node: 'godwit@plant', alarms: [] }], path)
    const ofNode = await broker.ask(`/api/v4/nodes/godwit%40plant/alarms${path}`)
    assert.deepEqual(ofNode.json, { code: 0, data: [] })
    const elsewhere = await broker.ask(`/api/v4/nodes/elsewhere/alarms${path}`)
    assert.deepEqual([elsewhere.status, elsewhere.json.code], [404, 108])
  }
})

test('an alarm that does not hold cannot be ended; without a name or without JSON it is said what is wrong', async (t) => {
  const broker = await startBrokerWithApi(t)
  const post = async (body: unknown) => {
    const { status, json } = await broker.ask('/api/v4/alarms/deactivated', { method: 'POST', body })
    return [status, json.code]
  }
  assert.deepEqual(await post({ name: 'overload' }), [404, 108])
  assert.deepEqual(await post({ name: 'overload', node: 'elsewhere' }), [404, 108])
  assert.deepEqual(await post({ name: 7 }), [400, 108])
  assert.deepEqual(await post({}), [400, 107])
  assert.deepEqual(await post('no json'), [400, 109])
  const forgotten = await broker.ask('/api/v4/alarms/deactivated', { method: 'DELETE' })
  assert.deepEqual(forgotten.json, { code: 0 })
})
