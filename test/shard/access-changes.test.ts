// Decisions of the access module about connected clients: changes of rules, and frequent disconnects.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AccessSettings, defaultAccessSettings } from '../../src/access/index.ts'
import { readAclFile } from '../../src/config/index.ts'
import { defaultCoreSettings } from '../core/default-settings.ts'
import { reasonCodes, type ConnackPacket } from '../../src/protocol/index.ts'
import { ShardStage } from './stage.ts'

function withRules(acl: string): AccessSettings {
  const read = readAclFile(acl, 'acl.conf')
  assert.ok('rules' in read)
  return { ...defaultAccessSettings, rules: { ...defaultAccessSettings.rules, rules: read.rules } }
}

test('a rule applies to existing subscriptions from its addition to its removal', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('listener', '#')
  const author = await stage.client('author')
  const publishText = async (payload: string): Promise<void> => {
    author.publish({ topic: 'secret/a', payload })
    await stage.turns()
  }
  const unchanged = {
    core: defaultCoreSettings,
    maxPropertyBytes: 65_536,
    logLevel: 'warn',
    maxConnections: 10,
  } as const
  await publishText('before')
  stage.shard.changeSettings({ ...unchanged, access: withRules('{deny, all, subscribe, ["secret/#"]}.') })
  await publishText('meanwhile')
  stage.shard.changeSettings({ ...unchanged, access: defaultAccessSettings })
  await publishText('after')
  assert.deepEqual(subscriber.payloads, ['before', 'after'])
})

test('a client that disconnects too often is banned', async (context) => {
  const flapping = { isEnabled: true, maxCount: 2, windowMs: 60_000, banMs: 60_000 }
  const stage = new ShardStage(context, { start: { access: { ...defaultAccessSettings, flapping } } })
  const outcomes: (number | undefined)[] = []
  for (let time = 0; time < 3; time++) {
    const client = await stage.client('restless', { version: 5 })
    outcomes.push((client.last as ConnackPacket | undefined)?.reasonCode)
    client.stream.break()
    await stage.turns()
  }
  assert.deepEqual(outcomes, [0, 0, reasonCodes.banned])
})
