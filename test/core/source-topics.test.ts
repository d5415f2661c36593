// Messages of sources (`$bridges/type:name/...`) come from their services. Other publications to such a topic start no rule.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RuleHook } from '../../src/core/index.ts'
import { parseTopicFilter } from '../../src/protocol/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { identities } from './denied-actions.ts'
import { World, type WorldOptions } from '../simulator/world.ts'

const topic = '$bridges/mqtt:in/pump/1'

function worldWithSourceRule(host: WorldOptions['host'] = {}) {
  const ran: string[] = []
  const ruleHook: RuleHook = {
    run: (_, message) => ran.push(message.topic.name),
    runTriggers: (triggers) => triggers.length,
    recordLost: () => undefined,
  }
  const world = new World({ shards: 1, host: { ...host, ruleHook: () => ruleHook } })
  const filter = parseTopicFilter('$bridges/mqtt:in/#') ?? assert.fail()
  world.host.shards[0]?.handle({
    kind: 'rules',
    rules: [[filter, { id: 'r', actionQueues: [] }]],
    triggers: new Set(),
  })
  return { world, ran }
}

test('an administrator cannot publish to it, at once or later', () => {
  const { world, ran } = worldWithSourceRule()
  for (const text of [topic, `$delayed/1/${topic}`]) {
    const result = world.command({
      name: 'publish',
      topic: text,
      payload: Buffer.from('forged'),
      qos: 1,
      retain: false,
      clientId: 'admin',
      properties: undefined,
    })
    assert.deepEqual(result, { done: false, why: 'invalid-topic' })
  }
  world.passSeconds(2)
  assert.deepEqual(ran, [])
})

test('a client cannot, whether with a PUBLISH, a delayed message or a will', () => {
  const { world, ran } = worldWithSourceRule()
  const client = world.connect('c')
  for (const text of [topic, `$delayed/1/${topic}`])
    assert.equal(client.publish(text, 'forged', { qos: 1 }).reasonCode, reasonCodes.notAuthorized)
  world.passSeconds(2)
  for (const host of [{}, identities({ isSuperuser: true })]) {
    const { world: other } = worldWithSourceRule(host)
    const lost = other.client('lost', { will: { topic, payload: 'forged' } })
    lost.connect()
    assert.equal(lost.connack?.reasonCode, reasonCodes.notAuthorized)
  }
  assert.deepEqual(ran, [])
})
