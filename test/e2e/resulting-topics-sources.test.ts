// Each source of access rules decides by the topic that results, for messages and wills, sent plainly and to `$delayed/n/`; over real sockets
// and with several shards. `resulting-topics-gateways.test.ts` has the HTTP service and the gateways.

/* oxlint-disable no-template-curly-in-string -- placeholders */

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import mqtt, { type IClientOptions } from 'mqtt'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { type Scope, shared } from './godwit-process.ts'
import { connected } from './mqtt-client.ts'

const secret = 'the secret of the issuer of tokens'
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function tokenWith(acl: object): string {
  const input = `${part({ alg: 'HS256' })}.${part({ exp: Math.floor(Date.now() / 1_000) + 3_600, acl })}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

/** A rule with a placeholder denies everything to clients without this name, so all clients of this test have a user name. */
const rules = [
  '{permit=deny,action=publish,topics=["of-address/#"],ipaddr="127.0.0.1"}',
  '{permit=allow,action=publish,topics=["own/${username}/#"]}',
  '{permit=allow,action=publish,topics=["own-id/${clientid}/#"]}',
  '{permit=deny,action=publish,topics=["own/#","own-id/#"]}',
  '{permit=allow}',
]

const sharedBroker = shared(async (scope): Promise<BrokerWithApi> => {
  const broker = await startBrokerWithApi(scope, {
    set: [
      'node.shards=3',
      'auth.allow_anonymous=true',
      `auth.acl.rules=[${rules.join(',')}]`,
      `auth.jwt={secret="${secret}"}`,
    ],
  })
  const body = [{ topic: 'stored/#', action: 'pub', access: 'deny' }]
  const created = await broker.request('/api/v4/acl', { method: 'POST', body })
  assert.equal(created.status, 200, created.text)
  return broker
})

interface Source {
  readonly client: IClientOptions
  readonly denied: readonly string[]
  readonly allowed: string
}

const sources: Readonly<Record<string, Source>> = {
  'stored rules': { client: {}, denied: ['stored'], allowed: 'open' },
  'rules with an address': { client: {}, denied: ['of-address'], allowed: 'open' },
  'rules with ${username}': { client: { username: 'alice' }, denied: ['own/bob', 'own'], allowed: 'own/alice' },
  'rules with ${clientid}': { client: {}, denied: ['own-id/other', 'own-id'], allowed: 'own-id/ID' },
  'the claims of a token': {
    client: { username: 'x', password: tokenWith({ pub: ['of-token/#'], sub: [] }) },
    denied: ['other', 'of-token-not'],
    allowed: 'of-token',
  },
}
/** Names with which a placeholder has no value. */
const unusable = ['alice/x', '+', '$ns'].map((username): readonly [string, Source] => [
  `rules with a user name that is ${username}`,
  { client: { username }, denied: ['own/alice', 'own/alice/x', 'own/$ns'], allowed: '' },
])

type WayIn = (t: Scope, port: number, options: IClientOptions, topic: string) => Promise<void>

/** Resolves when the broker has handled the message, or has closed the connection. */
const publish =
  (protocolVersion: 4 | 5, retain: boolean): WayIn =>
  async (t, port, options, topic) => {
    const client = await connected(t, { port }, { ...options, protocolVersion })
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
    const done = new Promise<void>((resolve) => client.publish(topic, topic, { qos: 1, retain }, () => resolve()))
    await Promise.race([closed, done])
    client.end(true)
  }

const leaveWill =
  (protocolVersion: 4 | 5, retain: boolean): WayIn =>
  async (t, port, options, topic) => {
    const will = { topic, payload: Buffer.from(topic), qos: 1, retain } as const
    try {
      const client = await connected(t, { port }, { ...options, protocolVersion, will })
      client.stream.destroy()
    } catch (error) {
      assert.match(String(error), /not authorized|refused/i)
    }
  }

const waysIn: Readonly<Record<string, WayIn>> = {
  'PUBLISH of 3.1.1': publish(4, false),
  'retained PUBLISH of 5.0': publish(5, true),
  'will of 3.1.1': leaveWill(4, false),
  'retained will of 5.0': leaveWill(5, true),
}

let clients = 0

for (const [of, { client, denied, allowed }] of [...Object.entries(sources), ...unusable]) {
  for (const [way, send] of Object.entries(waysIn)) {
    test(`${of}: the topic that results decides about a ${way}`, async (t) => {
      const broker = await sharedBroker()
      const unique = `n${++clients}`
      const clientId = `sources-${unique}`
      const received: string[] = []
      const reader = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0 })
      t.after(() => reader.end(true))
      reader.on('message', (topic) => {
        if (topic.includes(unique)) received.push(topic)
      })
      await reader.subscribeAsync('#', { qos: 1 })
      const options = { username: 'carol', ...client, clientId }
      for (const topic of denied)
        for (const wrapping of ['', '$delayed/0/']) await send(t, broker.port, options, `${wrapping}${topic}/${unique}`)
      // What is allowed arrives, so the test does not pass for another reason.
      const good = allowed === '' ? undefined : `${allowed.replace('ID', clientId)}/${unique}`
      const expected = [`end/${unique}`]
      for (const wrapping of good === undefined ? [] : ['', '$delayed/0/']) {
        await send(t, broker.port, options, `${wrapping}${good}`)
        if (good !== undefined) expected.push(good)
      }
      // A delayed message that was accepted before this one is due before it.
      await publish(5, false)(
        t,
        broker.port,
        { clientId: `${clientId}-end`, username: 'carol' },
        `$delayed/1/end/${unique}`,
      )
      await eventually(() => assert.ok(received.includes(`end/${unique}`)))
      assert.deepEqual(received.toSorted(), expected.toSorted())
    })
  }
}
