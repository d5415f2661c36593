// A device that speaks MQTT-SN as the standard requires: one request at a time, repeated until it is acknowledged. It acknowledges
// each received message. Written from the tables of the standard, without the gateway's codec.

import type { PlannedEvent, Stage } from '../stage.ts'
import type { LossyNetwork } from './lossy-network.ts'

const retryMs = 5_000
const durationSeconds = 60
/** So few identifiers that they repeat within a scenario. */
const maxMessageId = 24
const types = {
  connect: 0x04,
  connack: 0x05,
  register: 0x0a,
  regack: 0x0b,
  publish: 0x0c,
  puback: 0x0d,
  pubcomp: 0x0e,
  pubrec: 0x0f,
  pubrel: 0x10,
  subscribe: 0x12,
  suback: 0x13,
  pingreq: 0x16,
  pingresp: 0x17,
  disconnect: 0x18,
} as const

interface Request {
  readonly name: string
  /** `isRepeated`: DUP, where the packet has it. */
  readonly write: (isRepeated: boolean) => Buffer
  /** Whether this packet is the response. */
  readonly isResponse: (type: number, body: Buffer) => boolean
  readonly done: (body: Buffer) => void
}

export class SimulatedSnDevice {
  readonly id: string
  readonly #stage: Stage
  readonly #network: LossyNetwork
  #port: number
  state: 'disconnected' | 'active' | 'asleep' = 'disconnected'
  readonly #queue: Request[] = []
  #current: Request | undefined
  #timer: PlannedEvent | undefined
  #messageId = 0
  /** Topic IDs that the gateway has assigned, also during sleep. */
  readonly #topics = new Map<number, string>()
  /** QoS 2: message IDs that were accepted and not released. */
  readonly #unreleased = new Set<number>()
  /** Number of starts of the broker. */
  readonly #starts: () => number
  #connectedInStart = 0
  /** The broker had it as connected when it fell asleep: otherwise the response is the same. */
  #isSleepKnown = false
  #sleptAtMs = 0
  #lastResponseAtMs = 0
  isSubscribed = false
  /** In the order of arrival, without duplicates of QoS 2. */
  readonly received: string[] = []
  /** The gateway reported during sleep that it is not connected. */
  disconnectsAsleep = 0
  /** The topic ID to which it publishes. */
  topicId = 0

  constructor(
    stage: Stage,
    network: LossyNetwork,
    { id, port, starts }: { readonly id: string; readonly port: number; readonly starts: () => number },
  ) {
    this.#stage = stage
    this.#network = network
    this.id = id
    this.#starts = starts
    this.#port = port
    network.attach(port, (bytes) => this.#receive(bytes))
  }

  get isIdle(): boolean {
    return this.#current === undefined && this.#queue.length === 0
  }

  /** Connects with a persistent session, registers and subscribes. */
  connect(): void {
    const connect: Request = {
      name: 'CONNECT',
      write: () => packet(types.connect, Buffer.concat([Buffer.of(0, 1, 0, durationSeconds), Buffer.from(this.id)])),
      isResponse: (type) => type === types.connack,
      done: (body) => {
        this.state = body[0] === 0 ? 'active' : 'disconnected'
        this.#connectedInStart = this.#starts()
        if (this.state === 'disconnected') this.connect()
      },
    }
    this.#enqueue(connect)
    const name = Buffer.from(`up/${this.id}`)
    const register = this.#takeMessageId()
    this.#enqueue({
      name: 'REGISTER',
      write: () => packet(types.register, Buffer.concat([Buffer.of(0, 0), uint16(register), name])),
      isResponse: (type, body) => type === types.regack && body.readUInt16BE(2) === register,
      done: (body) => (this.topicId = body.readUInt16BE(0)),
    })
    const subscribe = this.#takeMessageId()
    const filter = Buffer.from(`down/${this.id}`)
    this.#enqueue({
      name: 'SUBSCRIBE',
      write: (dup) => packet(types.subscribe, Buffer.concat([Buffer.of(dup ? 0xa0 : 0x20), uint16(subscribe), filter])),
      isResponse: (type, body) => type === types.suback && body.readUInt16BE(3) === subscribe,
      done: (body) => {
        this.#topics.set(body.readUInt16BE(1), filter.toString())
        this.isSubscribed = true
      },
    })
  }

  /** `done` is called when the gateway has acknowledged. */
  publish(payload: string, qos: 1 | 2, done: () => void): void {
    const id = this.#takeMessageId()
    const write = (dup: boolean): Buffer => {
      const head = Buffer.concat([Buffer.of((dup ? 0x80 : 0) | (qos << 5)), uint16(this.topicId), uint16(id)])
      return packet(types.publish, Buffer.concat([head, Buffer.from(payload)]))
    }
    const isFor = (wanted: number, at: number) => (type: number, body: Buffer) =>
      type === wanted && body.readUInt16BE(at) === id
    this.#enqueue({
      name: `PUBLISH ${payload} with QoS ${qos}`,
      write,
      isResponse: qos === 1 ? isFor(types.puback, 2) : isFor(types.pubrec, 0),
      done: (body) => {
        if (qos === 1 && body[4] === 0) return done()
        if (qos === 1) return this.publish(payload, qos, done)
        this.#queue.unshift({
          name: `PUBREL of ${payload}`,
          write: () => packet(types.pubrel, uint16(id)),
          isResponse: isFor(types.pubcomp, 0),
          done,
        })
      },
    })
  }

  sleep(seconds: number): void {
    this.#enqueue({
      name: `DISCONNECT for ${seconds} s`,
      write: () => packet(types.disconnect, uint16(seconds)),
      isResponse: (type, body) => type === types.disconnect && body.length === 0,
      done: () => {
        this.state = 'asleep'
        const wasLost = this.#stage.nowMs - this.#lastResponseAtMs > durationSeconds * 1_000
        this.#isSleepKnown = this.#connectedInStart === this.#starts() && !wasLost
        this.#sleptAtMs = this.#stage.nowMs
      },
    })
  }

  /** Fetches waiting messages, also from a new port. Afterwards it is asleep again. */
  fetch(port = this.#port): void {
    if (port !== this.#port) {
      this.#network.detach(this.#port)
      this.#port = port
      this.#network.attach(port, (bytes) => this.#receive(bytes))
    }
    this.#enqueue({
      name: 'PINGREQ',
      write: () => packet(types.pingreq, Buffer.from(this.id)),
      isResponse: (type) => type === types.pingresp,
      done: () => {},
    })
  }

  #enqueue(request: Request): void {
    this.#queue.push(request)
    this.#next()
  }

  #next(): void {
    if (this.#current !== undefined) return
    this.#current = this.#queue.shift()
    if (this.#current !== undefined) this.#send(this.#current, false)
  }

  #send(request: Request, isRepeated: boolean): void {
    this.#stage.record(this.id, () => `sends ${request.name}${isRepeated ? ' again' : ''}`)
    this.#sendPacket(request.write(isRepeated))
    this.#timer = this.#stage.after(retryMs, () => this.#send(request, true))
  }

  #sendPacket(bytes: Buffer): void {
    this.#network.sendToGateway(bytes, this.#port)
  }

  #receive(datagram: Buffer): void {
    // Its radio is off.
    if (this.state === 'asleep' && this.#current === undefined) return
    const type = datagram[1] ?? 0
    const body = datagram.subarray(2)
    const current = this.#current
    if (current?.isResponse(type, body) === true) {
      this.#stage.record(this.id, () => `has the response to ${current.name}`)
      this.#stage.cancel(this.#timer)
      this.#current = undefined
      current.done(body)
      this.#lastResponseAtMs = this.#stage.nowMs
      return this.#next()
    }
    if (type === types.register) this.#takeRegister(body)
    else if (type === types.publish) this.#takePublish(body)
    else if (type === types.pubrel) {
      this.#unreleased.delete(body.readUInt16BE(0))
      this.#sendPacket(packet(types.pubcomp, body))
    } else if (type === types.disconnect) this.#takeDisconnect()
  }

  #takeRegister(body: Buffer): void {
    this.#topics.set(body.readUInt16BE(0), body.toString('utf8', 4))
    this.#sendPacket(packet(types.regack, Buffer.concat([body.subarray(0, 4), Buffer.of(0)])))
  }

  #takePublish(body: Buffer): void {
    const [flags = 0] = body
    const qos = (flags >> 5) & 3
    const topicId = body.readUInt16BE(1)
    const messageId = body.readUInt16BE(3)
    const payload = body.toString('utf8', 5)
    if (!this.#topics.has(topicId)) {
      // [MQTT-SN 6.10] The topic is registered again.
      return this.#sendPacket(packet(types.puback, Buffer.concat([uint16(topicId), uint16(messageId), Buffer.of(2)])))
    }
    if (qos === 2) {
      if (!this.#unreleased.has(messageId)) this.received.push(payload)
      this.#unreleased.add(messageId)
      return this.#sendPacket(packet(types.pubrec, uint16(messageId)))
    }
    this.received.push(payload)
    this.#stage.record(this.id, () => `receives ${payload}`)
    if (qos === 1)
      this.#sendPacket(packet(types.puback, Buffer.concat([uint16(topicId), uint16(messageId), Buffer.of(0)])))
  }

  /** The gateway does not have it as connected. It repeats its request after it has connected again. */
  #takeDisconnect(): void {
    if (this.#current?.name === 'CONNECT' || this.state === 'disconnected') return
    // The response to a repetition.
    if (this.#stage.nowMs - this.#sleptAtMs < retryMs * 2) return
    if (this.state === 'asleep' && this.#isSleepKnown) this.disconnectsAsleep++
    this.#stage.record(this.id, () => 'receives DISCONNECT: the gateway does not know it')
    this.#stage.cancel(this.#timer)
    const pending = [...(this.#current === undefined ? [] : [this.#current]), ...this.#queue.splice(0)]
    this.#current = undefined
    this.state = 'disconnected'
    this.connect()
    for (const request of pending) if (!isOfConnection(request)) this.#enqueue(request)
  }

  #takeMessageId(): number {
    this.#messageId = this.#messageId >= maxMessageId ? 1 : this.#messageId + 1
    return this.#messageId
  }
}

/** Requests of the ended connection. */
function isOfConnection({ name }: Request): boolean {
  return ['CONNECT', 'REGISTER', 'SUBSCRIBE', 'PINGREQ'].includes(name) || name.startsWith('DISCONNECT')
}

function packet(type: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.of(body.length + 2, type), body])
}

function uint16(value: number): Buffer {
  return Buffer.of(value >> 8, value & 0xff)
}
