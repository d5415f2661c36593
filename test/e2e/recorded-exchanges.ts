// Replays recorded exchanges of MQTT-SN clients with the gateway (`recorded/`) against a new broker. Datagrams of the client are sent in
// the same order, and the responses must have the same bytes, including topic IDs and message IDs: the gateway numbers them for each
// client, so they are the same in each run. Responses that arrived together may have another order. Optional responses, which depend on a
// race, are marked in the recording, with the response of the client.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connectAsync } from 'mqtt'
import { type Scope } from './godwit-process.ts'
import type { shareConfigurableBroker } from '../management/api.ts'
import { reservePort } from './reserve-port.ts'

/** One run of a client. */
interface Recording {
  readonly command: string
  readonly steps: readonly { readonly sign: string; readonly text: string }[]
}

async function readRecordings(name: string): Promise<readonly Recording[]> {
  const text = await readFile(new URL(`recorded/${name}.txt`, import.meta.url), 'utf8')
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
  /** Optional datagrams, each with its response. */
  readonly #possible = new Map<string, string>()
  #notify: () => void = () => {}

  private constructor(port: number) {
    this.#port = port
    this.#socket.on('message', (bytes) => {
      const hex = bytes.toString('hex')
      const response = this.#possible.get(hex)
      if (response !== undefined) return this.send(response)
      this.#received.push(hex)
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

  expectPossibly(hex: string, response: string): void {
    this.#possible.set(hex, response)
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

/** Messages that an MQTT client receives, as `topic payload`. */
class ReceivedMessages {
  readonly messages: string[] = []
  #notify: () => void = () => {}

  add(message: string): void {
    this.messages.push(message)
    this.#notify()
  }

  /** Waits until each of these messages has arrived, as often as it is listed. */
  async includes(wanted: readonly string[]): Promise<void> {
    while (wanted.some((one) => countOf(this.messages, one) < countOf(wanted, one))) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#notify = resolve
      await promise
    }
  }
}

interface PlayedOn {
  readonly configuredBroker: ReturnType<typeof shareConfigurableBroker>
  /** Additional settings of the broker. */
  readonly settings?: readonly string[]
}

/** `published`: the messages of the clients, as `topic payload`. */
export async function playRecordings(
  t: Scope,
  name: string,
  published: readonly string[],
  { configuredBroker, settings = [] }: PlayedOn,
): Promise<void> {
  const gatewayPort = await reservePort(t)
  const predefined = '[{id=1,topic="sensors/temperature"},{id=2,topic="sensors/humidity"}]'
  const { port } = await configuredBroker([
    `gateway.mqttsn.listeners.udp.default.bind="127.0.0.1:${gatewayPort}"`,
    `gateway.mqttsn.predefined=${predefined}`,
    // A long interval, so that the gateway sends no datagram twice on a slow machine.
    'gateway.mqttsn.retry_interval=10m',
    ...settings,
  ])
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5 })
  t.after(() => client.end(true))
  const received = new ReceivedMessages()
  client.on('message', (topic, payload) => received.add(`${topic} ${payload.toString()}`))
  // Without retained messages of other recordings.
  await client.subscribeAsync('#', { qos: 1, rh: 2 })
  const byMqtt: string[] = []
  const remaining: string[] = []
  for (const { command, steps } of await readRecordings(name)) {
    const player = await Player.open(t, gatewayPort)
    let expected: string[] = []
    const check = async (): Promise<void> => {
      const responses = await player.take(expected.length)
      assert.deepEqual(responses.toSorted(), expected.toSorted(), command)
      expected = []
    }
    for (const { sign, text } of steps) {
      if (sign === '<') {
        expected.push(text)
        continue
      }
      const [first = '', second = ''] = text.split(' ')
      if (sign === '?') {
        player.expectPossibly(first, second)
        continue
      }
      await check()
      if (sign === '>') player.send(text)
      else if (sign === '=') {
        remaining.push(text)
        await received.includes(remaining)
      } else {
        byMqtt.push(text)
        await client.publishAsync(first, second, { qos: 1 })
      }
    }
    await check()
  }
  await received.includes(published)
  assert.deepEqual(received.messages.filter((one) => !byMqtt.includes(one)).toSorted(), published.toSorted())
}

function countOf(messages: readonly string[], text: string): number {
  return messages.filter((one) => one === text).length
}
