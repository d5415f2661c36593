// Publishes connections and disconnections of clients below `$SYS/`, as JSON, not retained. Their number per second is
// limited, and further ones are dropped: ten thousand clients that reconnect at once must not cause twenty thousand
// messages.

import { type BrokerEvent, type ClientView, type Input, splitNamespacedName } from '../../core/index.ts'
import type { BrokerMessage } from '../messages/messages.ts'
import { toTopicLevel } from './topic-level.ts'

const maxEventsPerSecond = 100
const secondMs = 1_000
/** [MQTT-4.7.3-3] */
const maxTopicBytes = 65_535
const protocolNames: Readonly<Record<number, string>> = { 3: 'MQIsdp' }

type PresenceEvent = Extract<BrokerEvent, { event: 'client-connected' | 'client-disconnected' }>

export interface ClientEventsOptions {
  /** `<topic>/<client ID, escaped>/connected` and `.../disconnected`; undefined: nothing is published. */
  readonly topic: string | undefined
  /** The core waits this multiple of a client's keep alive. */
  readonly keepAliveMultiplier: number
  readonly publishMessage: (message: BrokerMessage) => void
  readonly findClient: (clientId: string) => ClientView | undefined
}

/** Returns the core's input for a message of the broker about itself. */
export function toPublishInput({ topic, payload, retain }: BrokerMessage): Input {
  const content = { topic, payload: Buffer.from(payload), qos: 0, retain, properties: undefined, clientId: '' } as const
  return { kind: 'command', requestId: 0, command: { name: 'publish', ...content, isOfBroker: true } }
}

export class ClientEvents {
  readonly #options: ClientEventsOptions
  #waiting: BrokerMessage[] = []
  #sinceMs = 0
  #sentInSecond = 0
  /** Whether events are published; changes while the shard runs. */
  isEnabled: boolean

  constructor(options: ClientEventsOptions, isEnabled: boolean) {
    this.#options = options
    this.isEnabled = isEnabled
  }

  publish(event: PresenceEvent, nowMs: number): void {
    const { topic } = this.#options
    if (topic === undefined || !this.isEnabled || !this.#canSend(nowMs)) return
    const isConnected = event.event === 'client-connected'
    const what = isConnected ? this.#describeConnected(event, nowMs) : describeDisconnected(event, nowMs)
    const payload = JSON.stringify({ ...describeClient(event), ...what, ts: nowMs })
    // The core is in a turn, so its own messages are inputs of a later one.
    if (this.#waiting.length === 0) setImmediate(() => this.#flush())
    const { name: clientId } = splitNamespacedName(event.clientId)
    const end = isConnected ? '/connected' : '/disconnected'
    const level = toTopicLevel(clientId, maxTopicBytes - Buffer.byteLength(`${topic}/${end}`))
    this.#waiting.push({ topic: `${topic}/${level}${end}`, payload, retain: false })
  }

  #canSend(nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= secondMs) {
      this.#sinceMs = nowMs
      this.#sentInSecond = 0
    }
    return this.#sentInSecond++ < maxEventsPerSecond
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const message of waiting) this.#options.publishMessage(message)
  }

  #describeConnected({ clientId, connection }: PresenceEvent, nowMs: number): object {
    const client = this.#options.findClient(clientId)
    return {
      username: client?.username,
      keepalive: Math.round(connection.keepAliveMs / secondMs / this.#options.keepAliveMultiplier),
      expiry_interval: client?.expirySeconds,
      clean_start: client?.cleanStart,
      connack: 0,
      connected_at: nowMs,
    }
  }
}

function describeDisconnected(event: PresenceEvent, nowMs: number): object {
  return { reason: 'text' in event ? event.text : '', disconnected_at: nowMs }
}

function describeClient({ clientId: session, connection }: PresenceEvent): object {
  const { namespace, name: clientId } = splitNamespacedName(session)
  const { gateway } = connection.listener
  return {
    clientid: clientId,
    namespace,
    ipaddress: connection.peerAddress,
    sockport: connection.origin?.port,
    proto_ver: connection.gatewayClient?.protocolVersion ?? gateway?.version ?? connection.version,
    proto_name: gateway?.name ?? protocolNames[connection.version] ?? 'MQTT',
  }
}
