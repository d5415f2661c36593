// The clients of a large queue: a publisher that fills it, window by window, and a subscriber that reconnects and receives it.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import {
  measurePacket,
  measurePublish,
  PacketDecoder,
  parseTopicFilter,
  parseTopicName,
  Topic,
  TopicTable,
  writeAck,
  writePacket,
  writePublish,
  type ControlPacket,
  type Packet,
} from '../../src/protocol/index.ts'

const version = 4
const topics = new TopicTable(64)
const ackBytes = 4
/** After this time without a packet, the queue is considered empty. */
const timeoutMs = 20_000

/** One connection of a 3.1.1 client with a durable session. */
class Connection {
  readonly socket: Socket
  onPacket: (packet: Packet) => void

  constructor(port: number, clientId: string) {
    this.onPacket = () => {}
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.on('error', () => {})
    const decoder = new PacketDecoder({
      role: 'client',
      version,
      topics,
      maxPacketBytes: 0xfff_ffff,
      maxPropertyBytes: 65_536,
      maxTopicLevels: 128,
      maxTopicBytes: 65_535,
    })
    this.socket.on('data', (chunk: Buffer) => {
      decoder.push(chunk)
      for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) this.onPacket(packet)
    })
    this.send({
      type: 'connect',
      version,
      clientId,
      cleanStart: false,
      keepAliveSeconds: 0,
      username: undefined,
      password: undefined,
      will: undefined,
      properties: undefined,
      isBridge: false,
    })
  }

  send(packet: ControlPacket): void {
    const bytes = Buffer.alloc(measurePacket(packet, version))
    writePacket(packet, version, bytes, 0)
    this.socket.write(bytes)
  }

  /** Resolves with the first packet of the type. */
  first<T extends Packet['type']>(type: T): Promise<Extract<Packet, { type: T }>> {
    return new Promise((resolve) => {
      this.onPacket = (packet) => {
        if (packet.type === type) resolve(packet as Extract<Packet, { type: T }>)
      }
    })
  }

  async close(): Promise<void> {
    this.socket.destroy()
    if (!this.socket.closed) await once(this.socket, 'close')
  }
}

/** Creates the session with its subscription, and disconnects. */
export async function subscribeAndLeave(port: number, clientId: string, filter: string): Promise<void> {
  const connection = new Connection(port, clientId)
  const parsed = parseTopicFilter(filter)
  if (parsed === undefined) throw new Error(`${filter} is not a filter`)
  const options = { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
  await connection.first('connack')
  connection.send({
    type: 'subscribe',
    packetId: 1,
    subscriptions: [{ filter: parsed, ...options }],
    properties: undefined,
  })
  await connection.first('suback')
  await connection.close()
}

/** Publishes `count` messages of QoS 1, each beginning with its number; resolves when all are acknowledged. */
export async function fill(
  port: number,
  what: { clientId: string; topic: string; count: number; payloadBytes: number; window: number },
): Promise<void> {
  const connection = new Connection(port, what.clientId)
  await connection.first('connack')
  const name = parseTopicName(what.topic)
  if (name === undefined) throw new Error(`${what.topic} is not a topic`)
  const topic = new Topic(name, Buffer.from(name))
  let next = 0
  const publish = (messages: number): void => {
    const end = Math.min(what.count, next + messages)
    const frames: Buffer[] = []
    for (; next < end; next++) frames.push(frameOf(topic, next, what.payloadBytes))
    if (frames.length > 0) connection.socket.write(Buffer.concat(frames))
  }
  await new Promise<void>((resolve) => {
    let acknowledged = 0
    let toReplace = 0
    connection.onPacket = (packet) => {
      if (packet.type !== 'puback') return
      if (++acknowledged === what.count) resolve()
      if (++toReplace < what.window / 4) return
      publish(toReplace)
      toReplace = 0
    }
    publish(what.window)
  })
  await connection.close()
}

function frameOf(topic: Topic, number: number, payloadBytes: number): Buffer {
  const payload = Buffer.alloc(payloadBytes, 'x')
  payload.writeUInt32BE(number)
  const fields = {
    topic,
    topicIsOmitted: false,
    topicAlias: 0,
    qos: 1,
    retain: false,
    dup: false,
    packetId: (number % 65_535) + 1,
    properties: undefined,
    messageExpiryIntervalSeconds: undefined,
    subscriptionIdentifiers: undefined,
    chunk: payload,
    payloadStart: 0,
    payloadEnd: payloadBytes,
  } as const
  const bytes = Buffer.alloc(measurePublish(fields, version))
  writePublish(fields, version, bytes, 0)
  return bytes
}

/** The subscriber reconnects: returns the milliseconds from CONNECT to its first message. It acknowledges nothing and disconnects. */
export async function firstMessageAfterMs(port: number, clientId: string): Promise<number> {
  const startedMs = performance.now()
  const connection = new Connection(port, clientId)
  await connection.first('publish')
  const tookMs = performance.now() - startedMs
  await connection.close()
  return tookMs
}

export interface Drained {
  readonly tookMs: number
  /** Messages that did not come in the order in which they were published. */
  readonly outOfOrder: number
}

/** The subscriber reconnects, and disconnects after it has acknowledged `count` messages. */
export async function drain(port: number, clientId: string, count: number): Promise<Drained> {
  const startedMs = performance.now()
  const connection = new Connection(port, clientId)
  let outOfOrder = 0
  let received = 0
  let acks: Buffer[] = []
  const acknowledge = (): void => {
    connection.socket.write(Buffer.concat(acks))
    acks = []
  }
  await new Promise<void>((resolve, reject) => {
    const stillness = setTimeout(
      () => reject(new Error(`nothing came behind ${received} of ${count} messages`)),
      timeoutMs,
    )
    connection.onPacket = (packet) => {
      if (packet.type !== 'publish') return
      if (packet.chunk.readUInt32BE(packet.payloadStart) !== received) outOfOrder++
      const ack = Buffer.alloc(ackBytes)
      writeAck('puback', packet.packetId, ack, 0)
      if (acks.push(ack) === 1) setImmediate(acknowledge)
      if (++received % 1_000 === 0) stillness.refresh()
      if (received < count) return
      clearTimeout(stillness)
      resolve()
    }
  })
  const tookMs = performance.now() - startedMs
  // The last acknowledgements are sent before the connection is closed.
  await new Promise<void>((resolve) => setImmediate(resolve))
  connection.socket.end()
  await once(connection.socket, 'close')
  return { tookMs, outOfOrder }
}
