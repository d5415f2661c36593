// MQTT clients of other projects lose their connection at random moments, and get and deliver each message all the same. The broker has three
// shards. The commands and events of the programs are in README.md.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import mqtt, { type MqttClient } from 'mqtt'
import { Relay } from '../clients/relay.ts'
import { type Broker, runProgram, shared, startBroker, type WatchedProcess } from '../e2e/godwit-process.ts'
import { TimeLimit } from '../e2e/time-limit.ts'
import { java, pahoGo, type Program, python, reference, rumqttc } from './programs.ts'

interface Software {
  readonly name: string
  readonly prepare: () => Promise<Program>
  /** The client cannot resume QoS 2: such messages are exchanged while its connection lasts. */
  readonly losesQoS2State?: boolean
  /** With these versions, a message of QoS 2 can arrive again after a lost connection, because of the client. */
  readonly repeatsQoS2In?: readonly number[]
}

const software: readonly Software[] = [
  { name: 'MQTT.js', prepare: reference },
  // paho.mqtt.golang 1.5.1 (MQTT 3.1.1) does not store the PUBREL that it sends: when a session is resumed, it sends PUBLISH again (net.go, issue
  // 788 of the project), with an identifier that the broker has released. It gives each copy of a PUBLISH to the application (issue 791).
  { name: 'Paho for Go', prepare: pahoGo, repeatsQoS2In: [4] },
  { name: 'Paho for Python', prepare: () => python('paho-python/client.py') },
  // rumqttc 0.25.1, src/state.rs and src/v5/state.rs. `MqttState::clean` clears `incoming_pub`, the identifiers of received QoS 2 messages, when a
  // connection ends. The broker must send PUBREL again when the session is resumed [MQTT-4.4.0-1]: `handle_incoming_pubrel` takes it for
  // unsolicited and ends the connection, for ever. `handle_incoming_publish` never looks at `incoming_pub`: a repeated PUBLISH reaches the
  // application twice. `outgoing_publish` uses the identifier of a message again whose PUBREL has no PUBCOMP yet. Mosquitto 2.0.11 gets the same.
  { name: 'rumqttc', prepare: rumqttc, losesQoS2State: true },
  { name: "HiveMQ's client for Java", prepare: () => java('hivemq') },
]

const messages = 120
const cuts = 5
const largeBytes = 300_000
const maxWaitMs = 60_000

const broker = shared((scope) => startBroker(scope, { set: ['node.shards=3', 'auth.allow_anonymous=true'] }))

interface Received {
  readonly qos: number
  readonly retain: boolean
  readonly topic: string
  readonly payload: string
}

/** Lines `got ...` of a program. */
function receivedBy({ soFar }: WatchedProcess): Received[] {
  return soFar
    .split('\n')
    .filter((line) => line.startsWith('got '))
    .map((line) => {
      const [, qos = '', retain = '', topic = '', payload = ''] = line.split(' ')
      return { qos: Number(qos), retain: retain === '1', topic, payload }
    })
}

interface Observer {
  readonly client: MqttClient
  readonly received: Received[]
}

async function observe(t: TestContext, { port }: Broker, filters: readonly string[]): Promise<Observer> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5 })
  t.after(() => client.end(true))
  const received: Received[] = []
  client.on('message', (topic, payload, { qos, retain }) => {
    received.push({ qos, retain, topic, payload: payload.length > 1_000 ? `#${payload.length}` : payload.toString() })
  })
  for (const filter of filters) await client.subscribeAsync(filter, { qos: 2 })
  return { client, received }
}

async function waitFor(what: string, isDone: () => boolean, found: () => unknown): Promise<void> {
  const limit = new TimeLimit(maxWaitMs)
  while (!isDone()) {
    if (limit.isOver) assert.fail(`${what}: ${JSON.stringify(found())}`)
    await delay(50)
  }
}

/** Names of messages, such as `q2-17`: QoS and number. */
const namesOf = (qos: number, prefix = 'q'): string[] =>
  Array.from({ length: messages }, (_, number) => `${prefix}${qos}-${number}`)

function missingOf(names: readonly string[], received: readonly Received[]): string[] {
  const found = new Set(received.map(({ payload }) => payload))
  return names.filter((name) => !found.has(name))
}

function repeatedOf(names: readonly string[], received: readonly Received[]): string[] {
  return names.filter((name) => received.filter(({ payload }) => payload === name).length > 1)
}

/** Cuts all connections of the relay at moments that differ from run to run of the client, but not of the test. */
async function cutConnections(relay: Relay, program: WatchedProcess): Promise<void> {
  for (let cut = 1; cut <= cuts; cut++) {
    const before = program.soFar.split('\n').filter((line) => line.startsWith('connected')).length
    await delay(40 + ((cut * 37) % 90))
    await relay.set('refusing')
    await relay.set('forwarding')
    await waitFor(
      'the client connects again',
      () => program.soFar.split('\n').filter((line) => line.startsWith('connected')).length > before,
      () => program.soFar.slice(-300),
    )
  }
}

for (const { name, prepare, losesQoS2State = false, repeatsQoS2In = [] } of software) {
  for (const version of [4, 5]) {
    test(`${name} with MQTT ${version === 4 ? '3.1.1' : '5.0'} loses its connection, resumes and gets everything`, async (t) => {
      const prepared = await prepare()
      if ('missing' in prepared) return t.skip(prepared.missing)
      const { port } = await broker()
      const relay = await Relay.start(t, port)
      const id = `${name.replaceAll(/\W/g, '').toLowerCase()}-${version}`
      const [to, from] = [`to/${id}`, `from/${id}`]
      const observer = await observe(t, await broker(), [
        `${from}/#`,
        `will/${id}`,
        `$share/group-${id}/shared/${id}/#`,
      ])
      const words = [...prepared.words, '127.0.0.1', `${relay.port}`, `${version}`, id]
      const program = runProgram(t, prepared.command, words)
      const send = (command: string): void => void program.child.stdin?.write(`${command}\n`)
      await program.until(/^connected/m)
      send(`sub 2 ${to}/#`)
      await program.until(/^subscribed/m)

      const exchange = async (levels: readonly number[], prefix?: string): Promise<unknown> => {
        const named = levels.map((qos) => ({ qos, names: namesOf(qos, prefix) }))
        for (const { qos, names } of named) for (const payload of names) send(`pub ${qos} 0 ${from}/${qos} ${payload}`)
        const publishing = named.flatMap(({ qos, names }) =>
          names.map(async (payload) => {
            if (qos === 0) await delay(1)
            await observer.client.publishAsync(`${to}/${qos}`, payload, { qos: qos as 0 | 1 | 2 })
          }),
        )
        return await Promise.all(publishing)
      }
      const publishing = exchange(losesQoS2State ? [0, 1] : [0, 1, 2])
      await cutConnections(relay, program)
      await publishing
      if (losesQoS2State) await exchange([2])
      const repeats = repeatsQoS2In.includes(version)
      const once = namesOf(2, repeats ? 'connected' : 'q')
      if (repeats) await exchange([2], 'connected')

      const needed = [...new Set([...namesOf(1), ...namesOf(2), ...once])]
      await waitFor(
        'the client gets all messages of QoS 1 and 2',
        () => missingOf(needed, receivedBy(program)).length === 0,
        () => missingOf(needed, receivedBy(program)),
      )
      await waitFor(
        'all messages of QoS 1 and 2 of the client arrive',
        () => missingOf(needed, observer.received).length === 0,
        () => missingOf(needed, observer.received),
      )
      assert.deepEqual(repeatedOf(once, observer.received), [], 'QoS 2 messages of the client arrive once')
      assert.deepEqual(repeatedOf(once, receivedBy(program)), [], 'the client gets QoS 2 messages once')

      await exchangeOthers({ observer, program, send, id })
      const wills = (): number => observer.received.filter(({ topic }) => topic === `will/${id}`).length
      const before = wills()
      program.child.kill('SIGKILL')
      await waitFor(
        'the will is published',
        () => wills() > before,
        () => observer.received.slice(-3),
      )
    })
  }
}

/** Large payloads, retained messages and shared subscriptions. */
async function exchangeOthers(stage: {
  readonly observer: Observer
  readonly program: WatchedProcess
  readonly send: (command: string) => void
  readonly id: string
}): Promise<void> {
  const { observer, program, send, id } = stage
  const { client } = observer
  send(`big 1 from/${id}/large ${largeBytes}`)
  await client.publishAsync(`to/${id}/large`, Buffer.alloc(largeBytes, 'x'), { qos: 1 })
  const isLarge = ({ topic, payload }: Received): boolean => topic.endsWith('/large') && payload === `#${largeBytes}`
  await waitFor(
    'large payloads arrive in both directions',
    () => receivedBy(program).some(isLarge) && observer.received.some(isLarge),
    () => [receivedBy(program).some(isLarge), observer.received.some(isLarge)],
  )

  await client.publishAsync(`kept/${id}`, 'before', { qos: 1, retain: true })
  send(`sub 1 kept/${id}`)
  await waitFor(
    'the client gets a retained message',
    () => receivedBy(program).some(({ topic, retain }) => topic === `kept/${id}` && retain),
    () => receivedBy(program).slice(-3),
  )
  await client.subscribeAsync(`own/${id}`, { qos: 1 })
  send(`pub 1 1 own/${id} retained`)
  const isOwn = ({ topic }: Received): boolean => topic === `own/${id}`
  await waitFor(
    'a retained message of the client is published',
    () => observer.received.some(isOwn),
    () => observer.received.slice(-3),
  )
  // MQTT.js sends no SUBSCRIBE for a filter that it has. A new subscription gets what was stored.
  await client.subscribeAsync(`own/${id}/#`, { qos: 1 })
  await waitFor(
    'a retained message of the client is stored',
    () => observer.received.some((one) => isOwn(one) && one.retain),
    () => observer.received.slice(-3),
  )

  const subscribed = program.soFar.split('\n').filter((line) => line.startsWith('subscribed')).length
  send(`sub 1 $share/group-${id}/shared/${id}/#`)
  await waitFor(
    'the client subscribes to a shared subscription',
    () => program.soFar.split('\n').filter((line) => line.startsWith('subscribed')).length > subscribed,
    () => program.soFar.slice(-200),
  )
  const names = Array.from({ length: 60 }, (_, number) => `s-${number}`)
  for (const payload of names) await client.publishAsync(`shared/${id}/x`, payload, { qos: 1 })
  const isShared = ({ topic }: Received): boolean => topic.startsWith(`shared/${id}`)
  const members = (): Received[] => [...receivedBy(program), ...observer.received].filter(isShared)
  await waitFor(
    'each message of a shared subscription has one member',
    () => missingOf(names, members()).length === 0,
    () => missingOf(names, members()),
  )
  assert.deepEqual(repeatedOf(names, members()), [])
  assert.ok(receivedBy(program).some(isShared) && observer.received.some(isShared), 'both members get messages')
}
