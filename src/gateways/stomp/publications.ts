// Converts SEND into PUBLISH, at once or when its transaction is committed.

import {
  type AckPacket,
  type MessageProperties,
  parseTopicName,
  type QoS,
  reasonCodes,
  type TopicName,
  TopicTable,
} from '../../protocol/index.ts'
import { type MqttConnection, toPublishFields } from '../gateway.ts'
import type { StompFrame } from './frames.ts'

/** Maximum publications of one client without a response of the broker. */
export const maxUnacknowledged = 1_024
const maxTransactions = 16
/** Maximum frames in all open transactions of one client. */
const maxTransactionFrames = 1_024
const maxTransactionBytes = 4_194_304
const cachedTopics = 64

/** Headers with a meaning here; all others become user properties. */
const ownHeaders = new Set([
  'destination',
  'content-length',
  'content-type',
  'receipt',
  'transaction',
  'qos',
  'retain',
  'expiry',
])

interface Message {
  readonly topic: TopicName
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly expirySeconds: number | undefined
  readonly properties: MessageProperties | undefined
}

/** Called once: undefined when the broker has acknowledged everything, otherwise with the reason. */
export type Settled = (problem: string | undefined) => void

/** ACK and NACK within a transaction. */
export type Deferred = () => void

interface Transaction {
  readonly work: (Message | Deferred)[]
}

export class Publications {
  readonly #mqtt: () => MqttConnection | undefined
  readonly #topics = new TopicTable(cachedTopics)
  readonly #unacknowledged = new Map<number, { readonly topic: string; readonly settled: Settled }>()
  readonly #transactions = new Map<string, Transaction>()
  #heldFrames = 0
  #heldBytes = 0
  #nextPacketId = 0

  constructor(mqtt: () => MqttConnection | undefined) {
    this.#mqtt = mqtt
  }

  get unacknowledged(): number {
    return this.#unacknowledged.size
  }

  /** A problem is for ERROR. Otherwise `settled` is called. */
  send(frame: StompFrame, settled: Settled): string | undefined {
    const message = parseMessage(frame)
    if (typeof message === 'string') return message
    const name = frame.headers.get('transaction')
    if (name !== undefined) {
      const problem = this.defer(name, message, message.payload.length)
      if (problem === undefined) settled(undefined)
      return problem
    }
    this.#publish([message], settled)
    return undefined
  }

  begin(name: string | undefined): string | undefined {
    if (name === undefined) return 'BEGIN without transaction'
    if (this.#transactions.has(name)) return `the transaction ${name} is open already`
    if (this.#transactions.size >= maxTransactions) return `more than ${maxTransactions} transactions are open`
    this.#transactions.set(name, { work: [] })
    return undefined
  }

  /** Waits for COMMIT. */
  defer(name: string, work: Message | Deferred, bytes: number): string | undefined {
    const transaction = this.#transactions.get(name)
    if (transaction === undefined) return `there is no transaction ${name}`
    if (this.#heldFrames >= maxTransactionFrames || this.#heldBytes + bytes > maxTransactionBytes)
      return `transactions have more than ${maxTransactionFrames} frames or ${maxTransactionBytes} octets`
    this.#heldFrames++
    this.#heldBytes += bytes
    transaction.work.push(work)
    return undefined
  }

  commit(name: string | undefined, settled: Settled): string | undefined {
    const work = this.#close(name)
    if (typeof work === 'string') return work
    const messages = work.filter((one) => typeof one !== 'function')
    for (const one of work) if (typeof one === 'function') one()
    this.#publish(messages, settled)
    return undefined
  }

  abort(name: string | undefined): string | undefined {
    const work = this.#close(name)
    return typeof work === 'string' ? work : undefined
  }

  handleAck({ type, packetId, reasonCode }: AckPacket): void {
    const known = this.#unacknowledged.get(packetId)
    if (known === undefined) return
    const isRefused = reasonCode >= reasonCodes.unspecifiedError
    if (type === 'pubrec' && !isRefused) return this.#mqtt()?.acknowledge('pubrel', packetId)
    this.#unacknowledged.delete(packetId)
    known.settled(isRefused ? describeRefusal(reasonCode, known.topic) : undefined)
  }

  #close(name: string | undefined): readonly (Message | Deferred)[] | string {
    const transaction = name === undefined ? undefined : this.#transactions.get(name)
    if (name === undefined || transaction === undefined) return `there is no transaction ${name ?? 'without a name'}`
    this.#transactions.delete(name)
    this.#heldFrames -= transaction.work.length
    for (const one of transaction.work) if (typeof one !== 'function') this.#heldBytes -= one.payload.length
    return transaction.work
  }

  #publish(messages: readonly Message[], settled: Settled): void {
    let open = 1
    let problem: string | undefined
    const settleOne = (why: string | undefined): void => {
      problem ??= why
      if (--open === 0) settled(problem)
    }
    for (const message of messages) {
      const packetId = message.qos === 0 ? 0 : this.#takePacketId()
      if (message.qos > 0) {
        open++
        this.#unacknowledged.set(packetId, { topic: message.topic, settled: settleOne })
      }
      const { topic, ...rest } = message
      this.#mqtt()?.publish(toPublishFields({ ...rest, topic: this.#topics.internName(topic), packetId }))
    }
    settleOne(undefined)
  }

  /** One is always free: reading pauses at `maxUnacknowledged`, and a transaction has no more than that. */
  #takePacketId(): number {
    do this.#nextPacketId = this.#nextPacketId >= 0xffff ? 1 : this.#nextPacketId + 1
    while (this.#unacknowledged.has(this.#nextPacketId))
    return this.#nextPacketId
  }
}

function parseMessage({ headers, body }: StompFrame): Message | string {
  const destination = headers.get('destination')
  if (destination === undefined || destination === '') return 'SEND without destination'
  const topic = parseTopicName(destination)
  if (topic === undefined) return `${destination} is not a topic that messages can be published to`
  const qos = headers.get('qos') ?? (headers.has('receipt') ? '1' : '0')
  if (qos !== '0' && qos !== '1' && qos !== '2') return `qos: ${qos} is not 0, 1 or 2`
  const expiry = headers.get('expiry')
  if (expiry !== undefined && !/^\d{1,9}$/.test(expiry)) return `expiry: ${expiry} is not a number of seconds`
  return {
    topic,
    payload: body,
    qos: Number(qos) as QoS,
    retain: headers.get('retain') === 'true',
    expirySeconds: expiry === undefined ? undefined : Number(expiry),
    properties: toMessageProperties(headers),
  }
}

function toMessageProperties(headers: ReadonlyMap<string, string>): MessageProperties | undefined {
  const contentType = headers.get('content-type')
  const more = [...headers].filter(([name]) => !ownHeaders.has(name))
  if (contentType === undefined && more.length === 0) return undefined
  return {
    ...(contentType === undefined ? {} : { contentType }),
    ...(more.length === 0 ? {} : { userProperties: more }),
  }
}

function describeRefusal(reasonCode: number, topic: string): string {
  if (reasonCode === reasonCodes.notAuthorized) return `not authorized to publish to ${topic}`
  if (reasonCode === reasonCodes.quotaExceeded) return `a quota is exceeded: nothing more can be published to ${topic}`
  return `the broker refused a message for ${topic}: reason code ${reasonCode}`
}
