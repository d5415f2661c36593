// A broker with a bridge, the remote broker, and a wire between them that can be cut, or go dead without a word.

import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { type BrokerWithApi, shareConfigurableBroker, startBrokerWithApi } from '../management/api.ts'
import { type BrokerOptions, type Scope, temporaryFolder } from './godwit-process.ts'
import { happening } from './transport-guarantees.ts'

/** Passes bytes on, until it is told otherwise. */
export class Wire {
  readonly port: number
  /** Of the remote broker; undefined: no broker is there, and connections are reset. */
  target: number | undefined
  readonly #pairs = new Set<readonly [Socket, Socket]>()

  private constructor(port: number, target: number | undefined) {
    this.port = port
    this.target = target
  }

  static async to(t: Scope, target: number | undefined): Promise<Wire> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const wire = new Wire((server.address() as AddressInfo).port, target)
    server.on('connection', (near) => wire.#join(near))
    t.after(() => {
      server.close()
      wire.cut()
    })
    return wire
  }

  get connections(): number {
    return this.#pairs.size
  }

  /** Both ends of every connection are gone at once. */
  cut(): void {
    for (const [near, far] of this.#pairs) {
      near.destroy()
      far.destroy()
    }
  }

  /** No byte passes any more on open connections, and neither side is told. New connections pass. */
  goDead(): void {
    for (const [near, far] of this.#pairs) {
      for (const socket of [near, far]) {
        socket.removeAllListeners('data')
        socket.pause()
      }
    }
  }

  #join(near: Socket): void {
    near.on('error', ignore)
    if (this.target === undefined) return void near.resetAndDestroy()
    const far = connect(this.target, '127.0.0.1')
    far.on('error', ignore)
    const pair = [near, far] as const
    this.#pairs.add(pair)
    near.on('data', (chunk) => far.write(chunk))
    far.on('data', (chunk) => near.write(chunk))
    const end = (): void => {
      this.#pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    near.on('close', end)
    far.on('close', end)
  }
}

const ignore = (): void => {}

export const oneShard = ['node.shards=1']

const sectionOf = (bridge: string): string => `bridges.mqtt.up {\nenable = true\n${bridge}\n}\n`

export type Bridging = (bridge: string, settings?: readonly string[]) => Promise<BrokerWithApi>

/** One broker for tests that do not change it over the API: each gets a bridge `up` that is new, in place of that of the test before. */
export function shareBridged(): Bridging {
  const configuredBroker = shareConfigurableBroker(oneShard)
  return async (bridge, settings = []) => {
    await configuredBroker()
    return configuredBroker([...settings, sectionOf(bridge)])
  }
}

/** A broker whose file has the bridge `up`. */
export async function startBridged(t: Scope, bridge: string, options: BrokerOptions = {}): Promise<BrokerWithApi> {
  const dataDirectory = options.dataDirectory ?? (await temporaryFolder(t))
  await writeFile(join(dataDirectory, 'godwit.conf'), sectionOf(bridge))
  return startBrokerWithApi(t, { ...options, dataDirectory })
}

/** As it was, with what it kept. */
export function startAgain(t: Scope, broker: BrokerWithApi, set: readonly string[] = []): Promise<BrokerWithApi> {
  return startBrokerWithApi(t, { dataDirectory: broker.dataDirectory, set })
}

/** What the API says of the bridge. */
// oxlint-disable-next-line typescript/no-explicit-any
export async function bridgeOf(broker: BrokerWithApi): Promise<any> {
  const response = await broker.request('/api/v4/bridges/up')
  return response.json?.data.bridge.nodes[0]
}

/** Requests the state of the bridge until the condition holds. */
// oxlint-disable-next-line typescript/no-explicit-any
export async function untilBridge(broker: BrokerWithApi, isAsWanted: (status: any) => boolean): Promise<any> {
  for (;;) {
    const { status } = (await bridgeOf(broker)) ?? {}
    if (status !== undefined && status !== null && isAsWanted(status)) return status
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const untilConnected = (broker: BrokerWithApi) => untilBridge(broker, ({ state }) => state === 'connected')

/** Under way, so that nothing of what comes with CONNACK is missed. */
function begunClient(t: Scope, port: number, options: IClientOptions): MqttClient {
  const made = mqtt.connect(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5, reconnectPeriod: 0, ...options })
  made.on('error', ignore)
  t.after(() => made.end(true))
  return made
}

export async function client(t: Scope, port: number, options: IClientOptions = {}): Promise<MqttClient> {
  const made = begunClient(t, port, options)
  await happening(made, 'connect')
  return made
}

export interface Heard {
  readonly topic: string
  readonly text: string
  readonly qos: number
  readonly retain: boolean
}

/** A subscriber that records what is published. */
export class Listener {
  readonly heard: Heard[] = []
  #waiting: (() => void)[] = []

  static async at(t: Scope, port: number, filter: string, options: IClientOptions = {}): Promise<Listener> {
    const listener = new Listener()
    const made = begunClient(t, port, options)
    const isConnected = happening(made, 'connect')
    made.on('message', (topic, payload, { qos, retain }) => {
      listener.heard.push({ topic, text: payload.toString(), qos, retain })
      for (const look of listener.#waiting) look()
    })
    await isConnected
    await made.subscribeAsync(filter, { qos: 2 })
    return listener
  }

  get texts(): readonly string[] {
    return this.heard.map(({ text }) => text)
  }

  /** Resolves when everything of it has been heard. */
  async until(texts: readonly string[]): Promise<void> {
    const isThere = (): boolean => {
      const heard = new Set(this.texts)
      return texts.every((text) => heard.has(text))
    }
    if (isThere()) return
    await new Promise<void>((resolve) => {
      this.#waiting.push(() => {
        if (isThere()) resolve()
      })
    })
  }
}

/** Fewer than a broker allows of messages that it has not acknowledged. */
const publishedAtOnce = 50

/** Publishes numbered messages, and gives their texts when all are safe. */
export async function publishNumbered(
  publisher: MqttClient,
  topic: string,
  { qos, from, count }: { readonly qos: 0 | 1 | 2; readonly from: number; readonly count: number },
): Promise<readonly string[]> {
  const texts = Array.from({ length: count }, (_, index) => `${topic} ${String(from + index).padStart(5, '0')}`)
  for (let at = 0; at < count; at += publishedAtOnce) {
    await Promise.all(texts.slice(at, at + publishedAtOnce).map((text) => publisher.publishAsync(topic, text, { qos })))
  }
  return texts
}

/** The first time of each, in the order in which it was heard. */
export function firstTimes(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)]
}

/** The bridge stands on the wire, so that the remote broker may come back at another port. */
export function bridgeOver(wire: Wire, more = ''): string {
  return `
  server = "mqtt-tcp://127.0.0.1:${wire.port}"
  proto_ver = 5
  clean_start = false
  keepalive = 60s
  backoff_max = 1s
  forwards = [{ local_topic = "up/#", remote_topic = "" }]
  subscription = [{ remote_topic = "down/#", local_topic = "", qos = 2 }]
  ${more}`
}

export interface Pair {
  readonly own: BrokerWithApi
  readonly remote: BrokerWithApi
  readonly wire: Wire
}

/** The broker with the bridge, which is connected, the remote one, and the wire. Brokers that are not given are new. */
export async function pair(
  t: Scope,
  more = '',
  given: { readonly own?: Bridging; readonly remote?: () => Promise<BrokerWithApi> } = {},
): Promise<Pair> {
  const remote = await (given.remote?.() ?? startBrokerWithApi(t, { set: oneShard }))
  const wire = await Wire.to(t, remote.port)
  const bridge = bridgeOver(wire, more)
  const own = await (given.own?.(bridge) ?? startBridged(t, bridge, { set: oneShard }))
  await untilConnected(own)
  return { own, remote, wire }
}

/** As a subscriber that is away while its broker is. */
export const durable = { clientId: 'archive', clean: false, properties: { sessionExpiryInterval: 3_600 } } as const
