// One MQTT 5.0 connection of the page, over the WebSocket that the API serves below the page. The client is that of the broker,
// `src/mqtt-client`.

import { createConnectPacket, MqttClient, createReceiveLimits } from '../../../src/mqtt-client/index.ts'
import {
  parseTopicFilter,
  parseTopicName,
  type QoS,
  reasonCodes,
  describeReason,
  type SubackPacket,
  TopicTable,
  type UnsubackPacket,
} from '../../../src/protocol/index.ts'
import { WebSocketStream } from './websocket-stream.ts'

export interface ConnectSettings {
  readonly clientId: string
  readonly username: string
  readonly password: string
}

export interface LoggedMessage {
  readonly number: number
  readonly ts: number
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: QoS
  readonly isRetained: boolean
  /** Of one that was sent: why the broker rejected it; empty: it was acknowledged. undefined: there is no acknowledgement yet. */
  readonly reason: string | undefined
}

export type ConnectionState = 'closed' | 'connecting' | 'connected'

const version = 5
const keepAliveSeconds = 60
const connectTimeoutMs = 15_000
/** That are kept of each direction. */
const maxLogged = 100
const maxPacketBytes = 1_048_576
const maxUnacknowledged = 64
const tooMany = 'too many requests wait for the broker: try again'

export class MqttConnection {
  state: ConnectionState = 'connecting'
  /** Why it is closed, or what the broker refused last. */
  problem: string | undefined
  clientId: string
  /** The newest first. */
  received: readonly LoggedMessage[] = []
  sent: readonly LoggedMessage[] = []
  filters: readonly string[] = []
  readonly #client: MqttClient
  readonly #onChange: () => void
  #logged = 0

  /** `onChange`: something of what is shown is different. */
  constructor({ clientId, username, password }: ConnectSettings, onChange: () => void) {
    this.clientId = clientId
    this.#onChange = onChange
    const { href } = new URL('mqtt', location.href.replace(/^http/, 'ws').replace(/#.*/s, ''))
    const options = {
      connect: createConnectPacket({
        version,
        clientId,
        cleanStart: true,
        keepAliveSeconds,
        username: username === '' ? undefined : username,
        password: password === '' ? undefined : Buffer.from(password),
        properties: { maximumPacketSizeBytes: maxPacketBytes, receiveMaximum: maxUnacknowledged },
      }),
      link: {
        decoder: { role: 'client', version, topics: new TopicTable(1_024), ...createReceiveLimits(maxPacketBytes) },
        later: (work: () => void) => queueMicrotask(work),
        ownsChunks: true,
      },
      brokerName: 'the broker',
      connectTimeoutMs,
      nowMs: () => performance.now(),
      after: startTimer,
    } as const
    this.#client = new MqttClient(new WebSocketStream(href), options, {
      handleOpen: ({ properties }) => {
        this.clientId = properties?.assignedClientIdentifier ?? clientId
        this.#change('connected', undefined)
      },
      handleEnd: ({ message }) => {
        this.filters = []
        this.#change('closed', message)
      },
      handleMessage: ({ topic, qos, retain, chunk, payloadStart, frameEnd }) => {
        const payload = chunk.subarray(payloadStart, frameEnd)
        const message = { topic: topic?.name ?? '', payload, qos, isRetained: retain, reason: undefined }
        this.received = this.#log(this.received, message)
        onChange()
      },
    })
  }

  disconnect(): void {
    if (this.state === 'closed') return
    this.#client.close()
    this.#change('closed', undefined)
  }

  /** A problem is a sentence. */
  subscribe(text: string): string | undefined {
    const filter = parseTopicFilter(text)
    if (filter === undefined) return `${text}: not a topic filter`
    if (this.#client.pending >= maxUnacknowledged) return tooMany
    const subscription = { filter, qos: 2, noLocal: false, retainAsPublished: true, retainHandling: 0 } as const
    this.#client.subscribe({ subscriptions: [subscription], properties: undefined }, (response) =>
      this.#handleSubscriptionResponse(text, response),
    )
    return undefined
  }

  unsubscribe(text: string): void {
    const filter = parseTopicFilter(text)
    if (filter === undefined || this.#client.pending >= maxUnacknowledged) return
    this.#client.unsubscribe({ filters: [filter], properties: undefined }, (response) =>
      this.#handleSubscriptionResponse(text, response),
    )
  }

  /** A problem is a sentence. */
  publish(topic: string, text: string, { qos, retain }: { qos: QoS; retain: boolean }): string | undefined {
    const name = parseTopicName(topic)
    if (name === undefined) return `${topic}: not a topic name`
    if (this.#client.pending >= maxUnacknowledged) return tooMany
    const payload = Buffer.from(text)
    this.sent = this.#log(this.sent, { topic, payload, qos, isRetained: retain, reason: undefined })
    const number = this.#logged
    this.#client.publish({ topic: name, qos, retain, payload }, (result) => {
      if (result instanceof Error) return
      const reason = result.result === 'accepted' ? '' : result.why
      this.sent = this.sent.map((one) => (one.number === number ? { ...one, reason } : one))
      this.#onChange()
    })
    this.#onChange()
    return undefined
  }

  #log(log: readonly LoggedMessage[], message: Omit<LoggedMessage, 'number' | 'ts'>): readonly LoggedMessage[] {
    this.#logged += 1
    return [{ ...message, number: this.#logged, ts: Date.now() }, ...log.slice(0, maxLogged - 1)]
  }

  #handleSubscriptionResponse(filter: string, response: SubackPacket | UnsubackPacket | Error): void {
    if (response instanceof Error) return
    const [code = reasonCodes.success] = response.reasonCodes
    const others = this.filters.filter((one) => one !== filter)
    if (code >= reasonCodes.unspecifiedError) this.problem = `${filter}: ${describeReason(code, version)}`
    else this.filters = response.type === 'suback' ? [...others, filter] : others
    this.#onChange()
  }

  #change(state: ConnectionState, problem: string | undefined): void {
    this.state = state
    this.problem = problem
    this.#onChange()
  }
}

function startTimer(delayMs: number, work: () => void): { cancel(): void } {
  const timer = setTimeout(work, delayMs)
  return { cancel: () => clearTimeout(timer) }
}
