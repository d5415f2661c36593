// A broker with a bridge, a remote broker, and a TCP proxy between them that can close or stall connections.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { type BrokerWithApi, shareConfigurableBroker, startBrokerWithApi } from '../management/api.ts'
import { type BrokerOptions, type Scope, temporaryFolder } from './godwit-process.ts'
import { eventOf } from './transport-guarantees.ts'

/** A TCP proxy that can close its connections or stop forwarding. */
export class Wire {
  readonly port: number
  /** The port of the remote broker; undefined: connections are reset. */
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

  /** Closes all connections on both sides. */
  cut(): void {
    for (const [near, far] of this.#pairs) {
      near.destroy()
      far.destroy()
    }
  }

  /** Stops forwarding on open connections without closing them. New connections are forwarded. */
  stall(): void {
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

/** One broker: the bridge `up` of each test replaces that of the previous test, and changes of it over the API. */
export function shareBridged(set = oneShard): Bridging {
  const configuredBroker = shareConfigurableBroker(set)
  return async (bridge, settings = []) => {
    const broker = await configuredBroker()
    const body = { keys: ['bridges'] }
    const { status, text } = await broker.request('/api/v4/configuration_unset', { method: 'POST', body })
    assert.equal(status, 200, text)
    return configuredBroker([...settings, sectionOf(bridge)])
  }
}

/** Starts a broker whose configuration file has the bridge `up`. */
export async function startBridged(t: Scope, bridge: string, options: BrokerOptions = {}): Promise<BrokerWithApi> {
  const dataDirectory = options.dataDirectory ?? (await temporaryFolder(t))
  await writeFile(join(dataDirectory, 'godwit.conf'), sectionOf(bridge))
  return startBrokerWithApi(t, { ...options, dataDirectory })
}

/** Starts a broker again with its data directory. */
export function startAgain(t: Scope, broker: BrokerWithApi, set: readonly string[] = []): Promise<BrokerWithApi> {
  return startBrokerWithApi(t, { dataDirectory: broker.dataDirectory, set })
}

/** Returns the bridge `up` as the API shows it. */
// oxlint-disable-next-line typescript/no-explicit-any
export async function bridgeOf(broker: BrokerWithApi): Promise<any> {
  const response = await broker.request('/api/v4/bridges/up')
  return response.json?.data.bridge.nodes[0]
}

/** Requests the state of the bridge until the condition holds. */
// oxlint-disable-next-line typescript/no-explicit-any
export async function untilBridge(broker: BrokerWithApi, condition: (status: any) => boolean): Promise<any> {
  for (;;) {
    const { status } = (await bridgeOf(broker)) ?? {}
    if (status !== undefined && status !== null && condition(status)) return status
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const untilConnected = (broker: BrokerWithApi) => untilBridge(broker, ({ state }) => state === 'connected')

/** A client that is connecting, so that handlers can be added before messages arrive that follow CONNACK. */
function startClient(t: Scope, port: number, options: IClientOptions): MqttClient {
  const made = mqtt.connect(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5, reconnectPeriod: 0, ...options })
  made.on('error', ignore)
  t.after(() => made.end(true))
  return made
}

export async function client(t: Scope, port: number, options: IClientOptions = {}): Promise<MqttClient> {
  const made = startClient(t, port, options)
  await eventOf(made, 'connect')
  return made
}

export interface ReceivedMessage {
  readonly topic: string
  readonly text: string
  readonly qos: number
  readonly retain: boolean
}

/** A subscriber that records received messages. */
export class Listener {
  readonly received: ReceivedMessage[] = []
  #waiting: (() => void)[] = []

  static async at(t: Scope, port: number, filter: string, options: IClientOptions = {}): Promise<Listener> {
    const listener = new Listener()
    const made = startClient(t, port, options)
    const isConnected = eventOf(made, 'connect')
    made.on('message', (topic, payload, { qos, retain }) => {
      listener.received.push({ topic, text: payload.toString(), qos, retain })
      for (const look of listener.#waiting) look()
    })
    await isConnected
    await made.subscribeAsync(filter, { qos: 2 })
    return listener
  }

  get texts(): readonly string[] {
    return this.received.map(({ text }) => text)
  }

  /** Resolves when all these texts have been received. */
  async until(texts: readonly string[]): Promise<void> {
    const hasAll = (): boolean => {
      const received = new Set(this.texts)
      return texts.every((text) => received.has(text))
    }
    if (hasAll()) return
    await new Promise<void>((resolve) => {
      this.#waiting.push(() => {
        if (hasAll()) resolve()
      })
    })
  }
}

/** Fewer than the Receive Maximum of the broker. */
const publishedAtOnce = 50

/** Publishes numbered messages, and returns their texts when all are acknowledged. */
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

/** The texts without duplicates, in the order of arrival. */
export function withoutDuplicates(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)]
}

/** Settings of a bridge that connects through the proxy, so that the remote broker can restart on another port. */
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

/** A broker with a connected bridge, the remote broker and the proxy between them. Starts brokers that are not given. */
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

/** Options of a subscriber whose session survives a restart of its broker. */
export const durable = { clientId: 'archive', clean: false, properties: { sessionExpiryInterval: 3_600 } } as const
