// All valid packets, as arbitraries of fast-check.

import {
  AckPacket,
  type AckType,
  type DisconnectProperties,
  type ProtocolVersion,
  type ReasonCode,
  type Role,
  type TopicFilter,
  type TopicName,
} from '../../src/protocol/index.ts'
import type { PlainPacket } from './decoding.ts'
import { anyCharacter, fc } from '../properties.ts'

/** A packet, the version in which it is written, and the end that reads it. */
export interface Travelling {
  readonly version: ProtocolVersion
  readonly role: Role
  readonly packet: PlainPacket
}

const text = fc.string({ unit: anyCharacter, maxLength: 12 }).map((any) => any.replaceAll('\0', '0'))
const binary = fc.uint8Array({ maxLength: 40 }).map((any) => Buffer.from(any))
const uint16 = fc.integer({ min: 0, max: 0xffff })
const uint32 = fc.integer({ min: 0, max: 0xffff_ffff })
const packetId = fc.integer({ min: 1, max: 0xffff })
const identifier = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 268_435_455 }))
const qos = fc.constantFrom(0 as const, 1 as const, 2 as const)
const userProperties = fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 4 })
const version = fc.constantFrom<ProtocolVersion>(3, 4, 5)
const role = fc.constantFrom<Role>('server', 'client')

const level = text.map((any) => any.replaceAll(/[+#/]/g, '_'))
export const topicName = fc
  .array(level, { minLength: 1, maxLength: 5 })
  .map((levels) => (levels.join('/') || 'a') as TopicName)
const plainFilter = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { minLength: 1, maxLength: 5 }), fc.boolean())
  .map(([levels, endsInHash]) => [...levels, ...(endsInHash ? ['#'] : [])].join('/') || '#')
  .filter((any) => !any.startsWith('$share/'))
const group = level.map((any) => any || 'g')
export const topicFilter = fc
  .tuple(plainFilter, fc.option(group, { nil: undefined }))
  .map(([filter, shareName]) => (shareName === undefined ? filter : `$share/${shareName}/${filter}`) as TopicFilter)

/** Any subset of the properties; the empty set is `undefined`. */
function someOf<Properties extends object>(fields: { [Name in keyof Properties]-?: fc.Arbitrary<Properties[Name]> }) {
  const record = fc.record(fields, { requiredKeys: [], noNullPrototype: true })
  return record.map((any) => (Object.keys(any).length === 0 ? undefined : (any as Partial<Properties>)))
}

const in5 = <Value>(packetVersion: ProtocolVersion, arbitrary: fc.Arbitrary<Value>) =>
  packetVersion === 5 ? arbitrary : fc.constant(undefined)

const messageFields = {
  payloadFormatIndicator: fc.constantFrom(0 as const, 1 as const),
  messageExpiryIntervalSeconds: uint32,
  contentType: text,
  responseTopic: topicName,
  correlationData: binary,
  userProperties,
}
const ackProperties = someOf({ reasonString: text, userProperties })

function connect(): fc.Arbitrary<Travelling> {
  const properties = someOf({
    sessionExpiryIntervalSeconds: uint32,
    receiveMaximum: packetId,
    maximumPacketSizeBytes: uint32.map((any) => any || 1),
    topicAliasMaximum: uint16,
    requestResponseInformation: fc.boolean(),
    requestProblemInformation: fc.boolean(),
    authenticationMethod: text,
    userProperties,
  })
  const will = (packetVersion: ProtocolVersion) =>
    fc.record(
      {
        topic: topicName,
        payload: binary,
        qos,
        retain: fc.boolean(),
        properties: in5(packetVersion, someOf({ ...messageFields, willDelayIntervalSeconds: uint32 })),
      },
      { noNullPrototype: true },
    )
  return version.chain((packetVersion) =>
    fc
      .record(
        {
          type: fc.constant('connect' as const),
          version: fc.constant(packetVersion),
          clientId: text,
          cleanStart: fc.boolean(),
          keepAliveSeconds: uint16,
          username: fc.option(text, { nil: undefined }),
          password: fc.option(binary, { nil: undefined }),
          will: fc.option(will(packetVersion), { nil: undefined }),
          properties: in5(packetVersion, properties),
          isBridge: fc.boolean(),
        },
        { noNullPrototype: true },
      )
      .map((packet) =>
        packetVersion === 5 || packet.username !== undefined ? packet : { ...packet, password: undefined },
      )
      .map((packet) => ({ version: packetVersion, role: 'server', packet })),
  )
}

function connack(): fc.Arbitrary<Travelling> {
  const properties = someOf({
    sessionExpiryIntervalSeconds: uint32,
    receiveMaximum: packetId,
    maximumQoS: fc.constantFrom(0 as const, 1 as const),
    retainAvailable: fc.boolean(),
    maximumPacketSizeBytes: uint32.map((any) => any || 1),
    assignedClientIdentifier: text,
    topicAliasMaximum: uint16,
    reasonString: text,
    wildcardSubscriptionAvailable: fc.boolean(),
    subscriptionIdentifiersAvailable: fc.boolean(),
    sharedSubscriptionAvailable: fc.boolean(),
    serverKeepAliveSeconds: uint16,
    responseInformation: text,
    serverReference: text,
    authenticationMethod: text,
    authenticationData: binary,
    userProperties,
  })
  return fc
    .tuple(version, fc.boolean(), fc.nat(5), fc.constantFrom(0, 0x80, 0x84, 0x9f), properties)
    .map(([packetVersion, sessionPresent, returnCode, reasonCode, any]) => ({
      version: packetVersion,
      role: 'client',
      packet: {
        type: 'connack',
        sessionPresent,
        reasonCode: packetVersion === 5 ? reasonCode : returnCode,
        properties: packetVersion === 5 ? any : undefined,
      },
    }))
}

function publish(): fc.Arbitrary<Travelling> {
  const fromServer = { ...messageFields, subscriptionIdentifiers: fc.array(identifier, { minLength: 1, maxLength: 3 }) }
  const properties = (reader: Role) =>
    someOf({ ...(reader === 'client' ? fromServer : messageFields), topicAlias: packetId })
  return fc.tuple(version, role).chain(([packetVersion, reader]) =>
    fc
      .record(
        {
          type: fc.constant('publish' as const),
          topic: topicName.map(String),
          qos,
          retain: fc.boolean(),
          dup: fc.boolean(),
          packetId,
          properties: in5(packetVersion, properties(reader)),
          payload: fc.oneof(
            binary,
            fc.uint8Array({ maxLength: 400 }).map((any) => Buffer.from(any)),
          ),
        },
        { noNullPrototype: true },
      )
      .map((packet) => (packet.qos === 0 ? { ...packet, dup: false, packetId: 0 } : packet))
      .map((packet) => (packet.properties?.topicAlias === 7 ? { ...packet, topic: '' } : packet))
      .map((packet) => ({ version: packetVersion, role: reader, packet })),
  )
}

function acknowledgement(): fc.Arbitrary<Travelling> {
  const reasons: Record<AckType, readonly ReasonCode[]> = {
    puback: [0, 0x10, 0x87, 0x97],
    pubrec: [0, 0x10, 0x91, 0x99],
    pubrel: [0, 0x92],
    pubcomp: [0, 0x92],
  }
  const type = fc.constantFrom<AckType>('puback', 'pubrec', 'pubrel', 'pubcomp')
  return fc.tuple(version, role, type, packetId, fc.nat(3), ackProperties).map(([packetVersion, reader, ...any]) => {
    const [ackType, id, reasonIndex, properties] = any
    const reason = reasons[ackType][reasonIndex % reasons[ackType].length]
    const packet =
      packetVersion === 5 ? new AckPacket(ackType, id, reason, properties) : new AckPacket(ackType, id, 0, undefined)
    return { version: packetVersion, role: reader, packet }
  })
}

function subscribe(): fc.Arbitrary<Travelling> {
  const options5 = { noLocal: fc.boolean(), retainAsPublished: fc.boolean(), retainHandling: qos }
  const plainOptions = {
    noLocal: fc.constant(false),
    retainAsPublished: fc.constant(false),
    retainHandling: fc.constant(0 as const),
  }
  const subscription = (packetVersion: ProtocolVersion) =>
    fc
      .record(
        { filter: topicFilter, qos, ...(packetVersion === 5 ? options5 : plainOptions) },
        { noNullPrototype: true },
      )
      .map((any) => (any.filter.startsWith('$share/') ? { ...any, noLocal: false } : any))
  return version.chain((packetVersion) =>
    fc
      .record(
        {
          type: fc.constant('subscribe' as const),
          packetId,
          subscriptions: fc.array(subscription(packetVersion), { minLength: 1, maxLength: 4 }),
          properties: in5(packetVersion, someOf({ subscriptionIdentifier: identifier, userProperties })),
        },
        { noNullPrototype: true },
      )
      .map((packet) => ({ version: packetVersion, role: 'server', packet })),
  )
}

function unsubscribe(): fc.Arbitrary<Travelling> {
  return version.chain((packetVersion) =>
    fc
      .record(
        {
          type: fc.constant('unsubscribe' as const),
          packetId,
          filters: fc.array(topicFilter, { minLength: 1, maxLength: 4 }),
          properties: in5(packetVersion, someOf({ userProperties })),
        },
        { noNullPrototype: true },
      )
      .map((packet) => ({ version: packetVersion, role: 'server', packet })),
  )
}

function suback(): fc.Arbitrary<Travelling> {
  const codes = fc.array(fc.constantFrom(0, 1, 2, 0x80), { minLength: 1, maxLength: 5 })
  return fc.tuple(version, packetId, codes, ackProperties).map(([packetVersion, id, reasonCodes, any]) => ({
    version: packetVersion,
    role: 'client',
    packet: { type: 'suback', packetId: id, reasonCodes, properties: packetVersion === 5 ? any : undefined },
  }))
}

function unsuback(): fc.Arbitrary<Travelling> {
  const codes = fc.array(fc.constantFrom(0, 0x11, 0x87), { minLength: 1, maxLength: 5 })
  return fc.tuple(version, packetId, codes, ackProperties).map(([packetVersion, id, any, properties]) => ({
    version: packetVersion,
    role: 'client',
    packet: {
      type: 'unsuback',
      packetId: id,
      reasonCodes: packetVersion === 5 ? any : [],
      properties: packetVersion === 5 ? properties : undefined,
    },
  }))
}

function disconnect(): fc.Arbitrary<Travelling> {
  const either = { reasonString: text, serverReference: text, userProperties }
  const properties = (reader: Role): fc.Arbitrary<DisconnectProperties | undefined> =>
    reader === 'server' ? someOf({ ...either, sessionExpiryIntervalSeconds: uint32 }) : someOf(either)
  const reason = fc.constantFrom<ReasonCode>(0, 4, 0x81, 0x8e, 0x9d)
  const in50 = role
    .chain((end) => fc.tuple(fc.constant(end), reason, properties(end)))
    .map(([reader, reasonCode, any]): Travelling => ({
      version: 5,
      role: reader,
      packet: { type: 'disconnect', reasonCode, properties: any },
    }))
  const before = fc.constantFrom<ProtocolVersion>(3, 4).map((packetVersion): Travelling => ({
    version: packetVersion,
    role: 'server',
    packet: { type: 'disconnect', reasonCode: 0, properties: undefined },
  }))
  return fc.oneof(in50, before)
}

function auth(): fc.Arbitrary<Travelling> {
  const properties = someOf({
    authenticationMethod: text,
    authenticationData: binary,
    reasonString: text,
    userProperties,
  })
  return fc.tuple(role, fc.constantFrom<ReasonCode>(0, 0x18, 0x19), properties).map(([reader, reasonCode, any]) => ({
    version: 5,
    role: reader,
    packet: { type: 'auth', reasonCode, properties: any },
  }))
}

function ping(): fc.Arbitrary<Travelling> {
  return fc.tuple(version, role).map(([packetVersion, reader]) => ({
    version: packetVersion,
    role: reader,
    packet: { type: reader === 'server' ? 'pingreq' : 'pingresp' },
  }))
}

export const travellingPacket: fc.Arbitrary<Travelling> = fc.oneof(
  connect(),
  connack(),
  publish(),
  acknowledgement(),
  subscribe(),
  unsubscribe(),
  suback(),
  unsuback(),
  disconnect(),
  auth(),
  ping(),
)
