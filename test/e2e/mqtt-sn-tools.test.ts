// Exchanges of mqtt-sn-pub and mqtt-sn-sub with the gateway, recorded with a relay (`recorded/mqtt-sn-tools.txt`) and played again:
// the tools are in neither Debian nor npm. What the tools sent is sent in the same order, and the answers must be the same bytes.
// No field is left out: topic IDs and message IDs of the gateway are counted for each client, so they are the same in every run.
// Answers that came together may come in another order.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { type Scope, startBroker } from './godwit-process.ts'
import { reservePort } from './reserve-port.ts'

/** One run of a tool. */
interface Recording {
  readonly command: string
  readonly steps: readonly { readonly sign: string; readonly text: string }[]
}

async function readRecordings(): Promise<readonly Recording[]> {
  const text = await readFile(new URL('recorded/mqtt-sn-tools.txt', import.meta.url), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const recordings: { command: string; steps: { sign: string; text: string }[] }[] = []
  for (const line of lines) {
    const [sign, rest] = [line.slice(0, 1), line.slice(2)]
    if (sign === '$') recordings.push({ command: rest, steps: [] })
    else recordings.at(-1)?.steps.push({ sign, text: rest })
  }
  return recordings
}

class Player {
  readonly #socket = createSocket('udp4')
  readonly #port: number
  readonly #received: string[] = []
  #notify: () => void = () => {}

  private constructor(port: number) {
    this.#port = port
    this.#socket.on('message', (bytes) => {
      this.#received.push(bytes.toString('hex'))
      this.#notify()
    })
  }

  static async open(t: Scope, port: number): Promise<Player> {
    const player = new Player(port)
    player.#socket.bind(0, '127.0.0.1')
    await once(player.#socket, 'listening')
    t.after(() => player.#socket.close())
    return player
  }

  send(hex: string): void {
    this.#socket.send(Buffer.from(hex, 'hex'), this.#port, '127.0.0.1')
  }

  async take(count: number): Promise<readonly string[]> {
    while (this.#received.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#notify = resolve
      await promise
    }
    return this.#received.splice(0, count)
  }
}

/** Messages of the tools. */
const published = [
  'sensors/1 21.5',
  'sensors/1 22.5',
  'ab short',
  'sensors/temperature predefined',
  'sensors/humidity without-session',
  'cd short-without-session',
  'sensors/kept kept',
  `sensors/big ${'x'.repeat(248)}`,
  'sensors/empty ',
  'sensors/fe forwarded',
  'sensors/s asleep',
]

test('[F3] mqtt-sn-tools f2ecdaa: the gateway answers as it did to the tools', async (t) => {
  const gatewayPort = await reservePort(t)
  const predefined = '[{id=1,topic="sensors/temperature"},{id=2,topic="sensors/humidity"}]'
  const { port } = await startBroker(t, {
    set: [
      `gateway.mqttsn.listeners.udp.default.bind=127.0.0.1:${gatewayPort}`,
      `gateway.mqttsn.predefined=${predefined}`,
      'node.shards=2',
    ],
  })
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`)
  t.after(() => client.end(true))
  const heard: string[] = []
  const { promise: complete, resolve } = Promise.withResolvers<void>()
  client.on('message', (topic, payload) => {
    heard.push(`${topic} ${payload.toString()}`)
    if (published.every((one) => heard.includes(one))) resolve()
  })
  await client.subscribeAsync('#', { qos: 1 })
  const byMqtt: string[] = []
  for (const { command, steps } of await readRecordings()) {
    const player = await Player.open(t, gatewayPort)
    let expected: string[] = []
    const check = async (): Promise<void> => {
      const answers = await player.take(expected.length)
      assert.deepEqual(answers.toSorted(), expected.toSorted(), command)
      expected = []
    }
    for (const { sign, text } of steps) {
      if (sign === '<') {
        expected.push(text)
        continue
      }
      await check()
      if (sign === '>') player.send(text)
      else {
        const [topic = '', payload = ''] = text.split(' ')
        byMqtt.push(text)
        await client.publishAsync(topic, payload, { qos: 1 })
      }
    }
    await check()
  }
  await complete
  assert.deepEqual(heard.filter((one) => !byMqtt.includes(one)).toSorted(), published.toSorted())
})
