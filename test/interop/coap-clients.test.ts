// CoAP clients of other projects, while datagrams are lost and the address of the client changes. The broker has three shards. The commands
// and events of the programs are in README.md.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { runProgram, shared, startBroker, type WatchedProcess } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { type Program, python } from './programs.ts'
import { UdpRelay } from './udp-relay.ts'

const software: readonly { readonly name: string; readonly prepare: () => Promise<Program> }[] = [
  { name: 'aiocoap', prepare: () => python('paho-python/coap.py') },
]

const messages = 6
const largeBytes = 20_000
const maxWaitMs = 90_000

const gateway = shared(async (scope) => {
  const port = await reservePort(scope)
  const bind = `gateway.coap.listeners.udp.default.bind="127.0.0.1:${port}"`
  const broker = await startBroker(scope, { set: ['node.shards=3', 'auth.allow_anonymous=true', bind] })
  return { broker, port }
})

async function waitFor(what: string, isDone: () => boolean, program: WatchedProcess): Promise<void> {
  const endsAtMs = Date.now() + maxWaitMs
  while (!isDone()) {
    if (Date.now() > endsAtMs) throw new Error(`${what}:\n${program.soFar.slice(-1_000)}`)
    await delay(50)
  }
}

for (const { name, prepare } of software) {
  test(`${name} publishes, observes and transfers blocks while datagrams are lost, and observes again from another address`, async (t) => {
    const prepared = await prepare()
    if ('missing' in prepared) return t.skip(prepared.missing)
    const { broker, port } = await gateway()
    const relay = await UdpRelay.start(t, port)
    const id = name.toLowerCase()
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5 })
    t.after(() => client.end(true))
    const received: string[] = []
    client.on('message', (_topic, payload) => {
      received.push(payload.length > 1_000 ? `#${payload.length}` : payload.toString())
    })
    await client.subscribeAsync(`from/${id}/#`, { qos: 1 })
    const words = [...prepared.words, `coap://127.0.0.1:${relay.port}`, id]
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
    send(`observe to/${id}/again`)
    await program.until(new RegExp(`^observing to/${id}/again 2\\.05`, 'm'))
    await client.publishAsync(`to/${id}/again`, 'n-4', { qos: 1 })
    await waitFor('n-4 is notified', () => has('note n-4'), program)
  })
}
