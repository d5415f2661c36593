// Each refusal leaves traces: a reason code and a reason string for the client, a counter by cause, an event for log and timeline.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RefusalCause } from '../../src/core/index.ts'
import { ClientTimeline } from '../../src/shard/observe/client-timeline.ts'
import type { CoreSettings } from '../../src/core/index.ts'
import { AckPacket, reasonCodes } from '../../src/protocol/index.ts'
import type { Client, World } from '../simulator/world.ts'
import { type Rule, worldWith } from './denied-actions.ts'

interface Case {
  readonly rules?: Rule[]
  readonly settings?: Partial<CoreSettings>
  /** Acts as the client `me` of 5.0, or 3.1.1. */
  readonly act: (client: Client, world: World) => void
  readonly cause: RefusalCause
  readonly text: RegExp
  /** Number of refusals; default: 1. */
  readonly count?: number
}

const payload = 'x'.repeat(100)
const cases: Record<string, Case> = {
  'PUBLISH that access rules deny': {
    rules: [{ action: 'publish', topic: 'secret' }],
    act: (client) => ([0, 1, 2] as const).forEach((qos) => client.publish('secret', 'x', { qos })),
    cause: 'not-authorized',
    text: /^PUBLISH secret: not allowed to publish$/,
    count: 3,
  },
  'PUBLISH to a reserved topic': {
    act: (client) => ([0, 1, 2] as const).forEach((qos) => client.publish('$event/x', 'x', { qos })),
    cause: 'invalid-topic',
    text: /^PUBLISH \$event\/x: the topic is reserved$/,
    count: 3,
  },
  'delayed PUBLISH above the limit': {
    settings: { maxDelayedMessages: 1 },
    act: (client) => ([1, 0] as const).forEach((qos) => client.publish('$delayed/9/t', 'x', { qos })),
    cause: 'limit-reached',
    text: /^PUBLISH \$delayed\/9\/t: the limit of delayed messages is reached: see delayed\.max_delayed_messages/,
  },
  'PUBLISH with a topic that is too long': {
    settings: { maxTopicLevels: 2 },
    act: (client) => client.publish('a/b/c', 'x', { qos: 1 }),
    cause: 'invalid-topic',
    text: /^PUBLISH a\/b\/c: the topic name has more than 2 levels/,
  },
  'PUBLISH with an invalid payload': {
    settings: { validatesPayloadFormat: true },
    act: (client) => client.publish('t', Buffer.from([0xff]), { qos: 1, properties: { payloadFormatIndicator: 1 } }),
    cause: 'invalid-payload',
    text: /^PUBLISH t: .*not UTF-8$/,
  },
  'retained PUBLISH that is too large': {
    settings: { maxRetainedPayloadBytes: 10 },
    act: (client) => client.publish('t', payload, { qos: 1, retain: true }),
    cause: 'limit-reached',
    text: /^PUBLISH t: the retained message is too large: see retainer\.max_payload_size$/,
  },
  'PUBLISH while the store fails': {
    act: (client, world) => {
      world.disk.fail()
      world.connect('other').publish('k', 'x', { qos: 1, retain: true })
      world.passSeconds(1)
      client.publish('t', 'x', { qos: 1, retain: true })
    },
    cause: 'storage-failing',
    text: /^PUBLISH t: the store failed/,
  },
  'SUBSCRIBE that access rules deny': {
    rules: [{ action: 'subscribe', topic: 'secret' }],
    act: (client) => client.subscribe(['secret', 'open', '$queue/secret']),
    cause: 'not-authorized',
    text: /^SUBSCRIBE secret: not allowed to subscribe$/,
    count: 2,
  },
  'SUBSCRIBE above the limit': {
    settings: { maxSubscriptions: 1 },
    act: (client) => client.subscribe(['a', 'b']),
    cause: 'limit-reached',
    text: /^SUBSCRIBE b: a limit of subscriptions/,
  },
  'shared SUBSCRIBE that is disabled': {
    settings: { sharedSubscriptionAvailable: false },
    act: (client) => client.subscribe('$queue/a'),
    cause: 'not-supported',
    text: /^SUBSCRIBE \$share\/\$queue\/a: mqtt\.shared_subscription is off$/,
  },
  'will that is no longer allowed': {
    act: (client, world) => {
      client.drop()
      world.passSeconds(1)
    },
    rules: [{ action: 'publish', topic: 'wills/me' }],
    cause: 'not-authorized',
    text: /^WILL wills\/me: not published/,
  },
}

describe('a refusal leaves a counter, an event and an entry in the timeline', () => {
  for (const [name, { rules = [], settings = {}, act, cause, text, count = 1 }] of Object.entries(cases)) {
    for (const version of [5, 4] as const) {
      test(`${name} (version ${version})`, () => {
        const { world, rulebook } = worldWith([], { settings, shards: 1 })
        const client = world.connect('me', { version, will: { topic: 'wills/me', payload: 'x' } })
        rulebook.change(world, ...rules)
        if (name.startsWith('delayed')) world.connect('other').publish('$delayed/9/t', 'x', { qos: 1 })
        const before = world.view.counts.refused[cause]
        act(client, world)
        world.settle()
        // A client before 5.0 that cannot be told is disconnected, or its message waits for the store.
        const getsReasonCode = version === 5 || !/store|retained|payload/.test(name)
        if (!getsReasonCode) return
        const counted = world.view.counts.refused[cause] - before
        assert.ok(counted >= (version === 5 ? count : 1), `${counted} refusals`)
        const timeline = new ClientTimeline()
        for (const event of world.events('packet-refused')) timeline.record(event, 1)
        const entries = timeline.listEntries('me').filter((entry) => entry.event === 'packet-refused')
        assert.ok(
          entries.some((entry) => text.test(entry.text)),
          JSON.stringify(entries),
        )
        assert.ok(entries.every(({ reasonCode = 0 }) => reasonCode >= 0x80))
      })
    }
  }

  test('PUBREL and PUBREC with an unknown packet identifier are counted', () => {
    const { world } = worldWith([])
    const client = world.connect('me')
    const refused = (): number => world.view.counts.refused['unknown-packet-id']
    client.wire?.send(new AckPacket('pubrel', 77, reasonCodes.success, undefined))
    world.settle()
    assert.equal(refused(), 1)
    client.wire?.send(new AckPacket('pubrec', 77, reasonCodes.success, undefined))
    world.settle()
    assert.equal(refused(), 2)
  })
})

describe('the reason string of an acknowledgement', () => {
  test('explains the reason code, if the client requested problem information', () => {
    for (const requestProblemInformation of [undefined, true, false]) {
      const { world } = worldWith([
        { action: 'publish', topic: 'secret' },
        { action: 'subscribe', topic: 'secret' },
      ])
      const client = world.connect('me', {
        properties: requestProblemInformation === undefined ? {} : { requestProblemInformation },
      })
      const suback = client.subscribe(['open', 'secret'])
      const texts = ([1, 2] as const).map((qos) => client.publish('secret', 'x', { qos }).reasonString)
      const isWanted = requestProblemInformation !== false
      assert.deepEqual(texts, isWanted ? ['not allowed to publish', 'not allowed to publish'] : [undefined, undefined])
      assert.equal(suback?.properties?.reasonString, isWanted ? 'secret: not allowed to subscribe' : undefined)
      assert.deepEqual(suback?.reasonCodes, [2, reasonCodes.notAuthorized])
    }
  })
})

test('a burst of refusals makes few events, and counts all of them', () => {
  const { world } = worldWith([{ action: 'publish', topic: 'secret' }], { host: { maxDropEvents: 64 }, shards: 1 })
  const client = world.connect('me')
  client.publishAll(
    Array.from({ length: 1_000 }, () => ({ topic: 'secret', payload: 'x' })),
    { qos: 0 },
  )
  assert.equal(world.view.counts.refused['not-authorized'], 1_000)
  assert.ok(world.events('packet-refused').length <= 64)
})
