// CoAP clients of other projects, while datagrams are lost and the address of the client changes. The broker has three shards. The commands
// and events of the programs are in README.md.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { runProgram, shared, startBroker, temporaryFolder, type WatchedProcess } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { TimeLimit } from '../e2e/time-limit.ts'
import { java, type Program, python } from './programs.ts'
import { UdpRelay } from './udp-relay.ts'

interface Software {
  readonly name: string
  readonly prepare: () => Promise<Program>
  readonly hasDtls?: boolean
}

const software: readonly Software[] = [
  { name: 'aiocoap', prepare: () => python('paho-python/coap.py') },
  { name: 'Californium', prepare: () => java('californium') },
  { name: 'Californium with DTLS and a pre-shared key', prepare: () => java('californium'), hasDtls: true },
]

const [identity, key] = ['device-1', 'key of the device 1']

const messages = 6
const largeBytes = 20_000
const maxWaitMs = 90_000

const gateway = shared(async (scope) => {
  const [port, dtlsPort] = [await reservePort(scope), await reservePort(scope)]
  const keys = join(await temporaryFolder(scope), 'keys.txt')
  writeFileSync(keys, `${identity}:${Buffer.from(key).toString('hex')}\n`)
  const listeners = 'gateway.coap.listeners'
  const set = [
    'node.shards=3',
    'auth.allow_anonymous=true',
    `${listeners}.udp.default.bind="127.0.0.1:${port}"`,
    `${listeners}.dtls.default.bind="127.0.0.1:${dtlsPort}"`,
    `${listeners}.dtls.default.dtls_options.psk_file="${keys}"`,
  ]
  return { broker: await startBroker(scope, { set }), port, dtlsPort }
})

async function waitFor(what: string, isDone: () => boolean, program: WatchedProcess): Promise<void> {
  const limit = new TimeLimit(maxWaitMs)
  while (!isDone()) {
    if (limit.isOver) throw new Error(`${what}:\n${program.soFar.slice(-1_000)}`)
    await delay(50)
  }
}

for (const { name, prepare, hasDtls = false } of software) {
  test(`${name} publishes, observes and transfers blocks while datagrams are lost, and observes again from another address`, async (t) => {
    const prepared = await prepare()
    if ('missing' in prepared) return t.skip(prepared.missing)
    const { broker, port, dtlsPort } = await gateway()
    const relay = await UdpRelay.start(t, hasDtls ? dtlsPort : port)
    const id = name.replaceAll(/\W/g, '').toLowerCase()
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5 })
    t.after(() => client.end(true))
    const received: string[] = []
    client.on('message', (_topic, payload) => {
      received.push(payload.length > 1_000 ? `#${payload.length}` : payload.toString())
    })
    await client.subscribeAsync(`from/${id}/#`, { qos: 1 })
    const uri = `${hasDtls ? 'coaps' : 'coap'}://127.0.0.1:${relay.port}`
    const words = [...prepared.words, uri, id, ...(hasDtls ? [identity, key] : [])]
    const program = runProgram(t, prepared.command, words)
    const send = (command: string): void => void program.child.stdin?.write(`${command}\n`)
    const has = (line: string): boolean => program.soFar.split('\n').includes(line)
    await program.until(/^ready/m)

    relay.dropsOfTen = 1
    const names = Array.from({ length: messages }, (_, number) => `m-${number}`)
    for (const one of names) {
      send(`put from/${id}/x ${one}`)
      await waitFor(`${one} is acknowledged`, () => has(`done ${one} 2.04`) || has(`done ${one} 2.01`), program)
    }
    assert.deepEqual(received, names, 'each acknowledged message arrives once')

    send(`observe to/${id}`)
    await program.until(new RegExp(`^observing to/${id} 2\\.05`, 'm'))
    for (const one of ['n-1', 'n-2', 'n-3']) {
      await client.publishAsync(`to/${id}`, one, { qos: 1 })
      await waitFor(`${one} is notified`, () => has(`note ${one}`), program)
    }

    send(`big from/${id}/large ${largeBytes}`)
    await waitFor('a body in blocks is published', () => received.includes(`#${largeBytes}`), program)
    await waitFor('its request has a response', () => /^done big 2\.0[14]/m.test(program.soFar), program)
    send(`get from/${id}/large`)
    await waitFor('a retained message is returned in blocks', () => has(`value 2.05 #${largeBytes}`), program)

    relay.dropsOfTen = 0
    relay.changeAddresses()
    // A DTLS client cannot see that its address has changed.
    if (hasDtls) send('handshake')
    send(`observe to/${id}/again`)
    await program.until(new RegExp(`^observing to/${id}/again 2\\.05`, 'm'))
    await client.publishAsync(`to/${id}/again`, 'n-4', { qos: 1 })
    await waitFor('n-4 is notified', () => has('note n-4'), program)
  })
}

test('Californium repeats a request after it has resumed its DTLS session, and the message is published once', async (t) => {
  const prepared = await java('californium')
  if ('missing' in prepared) return t.skip(prepared.missing)
  const { broker, dtlsPort } = await gateway()
  const relay = await UdpRelay.start(t, dtlsPort)
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5 })
  t.after(() => client.end(true))
  const received: string[] = []
  client.on('message', (_topic, payload) => void received.push(payload.toString()))
  await client.subscribeAsync('from/resumed/#', { qos: 1 })
  const uri = `coaps://127.0.0.1:${relay.port}`
  const program = runProgram(t, prepared.command, [...prepared.words, uri, 'resumed', identity, key])
  const send = (command: string): void => void program.child.stdin?.write(`${command}\n`)
  const put = async (name: string): Promise<void> => {
    send(`put from/resumed/x ${name}`)
    await waitFor(`${name} is published`, () => received.includes(name), program)
  }
  const isDone = (name: string) => (): boolean => new RegExp(`^done ${name} 2\\.0[14]`, 'm').test(program.soFar)
  await program.until(/^ready/m)
  await put('first')
  await waitFor('first is acknowledged', isDone('first'), program)
  relay.isSilent = true
  await put('second')
  send('handshake')
  relay.isSilent = false
  await waitFor('second is acknowledged', isDone('second'), program)
  await put('third')
  await waitFor('third is acknowledged', isDone('third'), program)
  assert.deepEqual(received, ['first', 'second', 'third'])
})
