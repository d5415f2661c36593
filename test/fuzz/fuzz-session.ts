// An incorrect client from a seed: its packets, their division into pieces, and its disconnection. It speaks MQTT well enough
// to be accepted, and then changes packets, their order, their number or their bytes.

import type { PlainPacket } from '../protocol/decoding.ts'
import { encode, smallConnect } from '../protocol/decoding.ts'
import { mutate } from '../protocol/fuzz/mutations.ts'
import type { Random } from '../protocol/fuzz/random.ts'
import { malformedPackets } from '../protocol/malformed-packets.ts'
import { namedPackets } from '../protocol/named-packets.ts'
import { AckPacket, reasonCodes, type ProtocolVersion, type QoS, type TopicFilter } from '../../src/protocol/index.ts'
import type { TopicName } from '../../src/protocol/index.ts'

/** Disconnection by FIN, by RST, or by silence until the broker disconnects the client. */
export type DisconnectKind = 'end' | 'destroy' | 'linger'

export interface FuzzSession {
  /** Chunks that are written one after the other. */
  readonly chunks: readonly Buffer[]
  /** The client does not read. */
  readonly isPaused: boolean
  readonly disconnectKind: DisconnectKind
}

/** Few client IDs and topics, so that clients take over sessions and receive messages of each other. */
const clientIds = ['', 'f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7', 'ü', 'a/#', '+', '$SYS', 'x'.repeat(300)]
const topicNames = ['f/a', 'f/b', 'f/a/b', 'f', '/f', 'f//', '$SYS/x', '$share', 'f/ü', 'f/'.repeat(60)]
const filters = ['f/a', 'f/#', '#', '+/+', 'f/+', '$share/g/f/#', '$share/h/f/a', '$SYS/#', '+', 'f/+/b', '$queue/f']
const payloadSizes = [0, 1, 10, 10, 10, 200, 5_000, 70_000]
/** Maximum number of actions in one session. */
const maxActions = 40
/** Maximum bytes and chunks of one session. Without them, sending takes longer than the broker needs to handle the bytes. */
const maxBytes = 1_000_000
export const maxPieces = 2_000

/** All named and malformed packets of test/protocol, by version. */
const corpora: Readonly<Record<ProtocolVersion, readonly Buffer[]>> = { 3: corpus(3), 4: corpus(4), 5: corpus(5) }

function corpus(version: ProtocolVersion): readonly Buffer[] {
  return [...namedPackets, ...malformedPackets].filter((any) => any.version === version).map(({ bytes }) => bytes)
}

export function fuzzSession(random: Random): FuzzSession {
  const version = random.pick([3, 4, 5, 5] as const)
  const packets: Buffer[] = []
  // One client in ten does not begin with a valid CONNECT.
  if (!random.oneIn(10)) packets.push(encode(connect(random, version), version))
  const steps = random.below(maxActions)
  for (let step = 0; step < steps; step++) packets.push(...act(random, version))
  if (random.oneIn(4)) packets.push(encode({ type: 'disconnect', reasonCode: 0, properties: undefined }, version))
  const mutated = packets.map((packet) =>
    random.oneIn(8) ? mutate([packet, random.pick(corpora[version])], random) : packet,
  )
  return {
    chunks: cut(Buffer.concat(shuffledSometimes(mutated, random)), random),
    isPaused: random.oneIn(10),
    disconnectKind: random.pick(['end', 'destroy', 'linger'] as const),
  }
}

function connect(random: Random, version: ProtocolVersion): PlainPacket {
  const clientId = random.pick(clientIds)
  const will = {
    topic: random.pick(topicNames) as TopicName,
    payload: payload(random).subarray(0, 65_535),
    qos: random.below(3) as QoS,
    retain: random.oneIn(2),
    properties: version === 5 ? { willDelayIntervalSeconds: random.below(3) } : undefined,
  }
  return {
    ...smallConnect(version),
    clientId: version === 3 ? clientId.slice(0, 23) : clientId,
    cleanStart: random.oneIn(2),
    keepAliveSeconds: random.pick([0, 1, 2, 65_535]),
    username: random.oneIn(3) ? 'someone' : undefined,
    password: undefined,
    will: random.oneIn(3) ? will : undefined,
    properties:
      version === 5
        ? {
            sessionExpiryIntervalSeconds: random.below(3),
            receiveMaximum: 1 + random.below(20),
            topicAliasMaximum: random.below(5),
            ...(random.oneIn(4) ? { maximumPacketSizeBytes: 1 + random.below(300) } : {}),
          }
        : undefined,
  }
}

/** One action of a client, usually valid, sometimes repeated many times. */
function act(random: Random, version: ProtocolVersion): Buffer[] {
  const packetId = 1 + random.below(8)
  const repeated = random.oneIn(20) ? 1 + random.below(200) : 1
  const packet = chosenPacket(random, version, packetId)
  return Array.from({ length: repeated }, () => packet)
}

function chosenPacket(random: Random, version: ProtocolVersion, packetId: number): Buffer {
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      return encode(publish(random, version, packetId), version)
    case 3:
      return encode(subscribe(random, version, packetId), version)
    case 4:
      return encode(
        { type: 'unsubscribe', packetId, filters: [random.pick(filters) as TopicFilter], properties: undefined },
        version,
      )
    case 5:
    case 6: {
      const type = random.pick(['puback', 'pubrec', 'pubrel', 'pubcomp'] as const)
      const reason = version === 5 && random.oneIn(4) ? reasonCodes.unspecifiedError : reasonCodes.success
      const isRelease = type === 'pubrel' || type === 'pubcomp'
      return encode(new AckPacket(type, packetId, isRelease ? reasonCodes.success : reason, undefined), version)
    }
    case 7:
      return encode({ type: 'pingreq' }, version)
    default:
      return random.pick(corpora[version])
  }
}

function publish(random: Random, version: ProtocolVersion, packetId: number): PlainPacket {
  const qos = random.below(3) as QoS
  const alias = version === 5 && random.oneIn(3) ? { topicAlias: 1 + random.below(4) } : undefined
  return {
    type: 'publish',
    topic: alias !== undefined && random.oneIn(2) ? '' : random.pick(topicNames),
    qos,
    retain: random.oneIn(4),
    dup: qos > 0 && random.oneIn(4),
    packetId: qos === 0 ? 0 : packetId,
    properties: version === 5 && random.oneIn(3) ? { ...alias, messageExpiryIntervalSeconds: random.below(3) } : alias,
    payload: payload(random),
  }
}

function subscribe(random: Random, version: ProtocolVersion, packetId: number): PlainPacket {
  const subscriptions = Array.from({ length: 1 + random.below(3) }, () => {
    const filter = random.pick(filters) as TopicFilter
    return {
      filter,
      qos: random.below(3) as QoS,
      noLocal: version === 5 && !filter.startsWith('$share') && random.oneIn(4),
      retainAsPublished: version === 5 && random.oneIn(4),
      retainHandling: version === 5 ? (random.below(3) as 0 | 1 | 2) : (0 as const),
    }
  })
  const properties = version === 5 && random.oneIn(3) ? { subscriptionIdentifier: 1 + random.below(300) } : undefined
  return { type: 'subscribe', packetId, subscriptions, properties }
}

function payload(random: Random): Buffer {
  return Buffer.alloc(random.pick(payloadSizes), random.below(256))
}

function shuffledSometimes(packets: Buffer[], random: Random): Buffer[] {
  if (packets.length < 3 || !random.oneIn(6)) return packets
  const first = 1 + random.below(packets.length - 1)
  const second = 1 + random.below(packets.length - 1)
  const swapped = [...packets]
  swapped[first] = packets[second]
  swapped[second] = packets[first]
  return swapped
}

/** The bytes as one piece, as a few pieces, or (if they are short) byte by byte; sometimes the end is missing. */
function cut(bytes: Buffer, random: Random): Buffer[] {
  const all = bytes.subarray(0, maxBytes)
  const sent = random.oneIn(6) ? all.subarray(0, random.below(all.length + 1)) : all
  const wanted = random.pick([Infinity, Infinity, 1 + random.below(1_000), sent.length < 200 ? 1 : 50])
  const pieceBytes = Math.max(wanted, Math.ceil(sent.length / maxPieces))
  const pieces: Buffer[] = []
  for (let at = 0; at < sent.length; at += pieceBytes)
    pieces.push(sent.subarray(at, Math.min(sent.length, at + pieceBytes)))
  return pieces
}
