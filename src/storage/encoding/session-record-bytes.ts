// The values of sessions, and of their subscriptions.

import type { ProtocolVersion, RetainHandling } from '../../protocol/index.ts'
import type { SessionRecord, StoredRecord, SubscriptionRecord } from '../../records/index.ts'
import { type ByteReader, DamagedRecord } from './record-byte-reader.ts'
import type { ByteWriter } from './record-byte-writer.ts'
import { toQoS } from './message-bytes.ts'
import { readOptionalTime, writeOptionalTime } from './optional-time.ts'
import { sessionPrefixBytes } from './record-keys.ts'

/** The value contains the client ID too, so that a lost generation record can be created again. */
export function writeSession(writer: ByteWriter, record: SessionRecord): void {
  writer.text(record.clientId)
  writer.byte(record.version)
  writer.byte(record.username === undefined ? 0 : 1)
  if (record.username !== undefined) writer.text(record.username)
  writer.float(record.createdAtMs)
  writer.varint(record.expirySeconds)
  writeOptionalTime(writer, record.disconnectedAtMs)
  writer.varint(record.queueHead)
  writer.varint(record.sentBelow)
  writer.varint(record.receiveMaximum)
  writer.byte(record.isSuperuser ? 1 : 0)
  writer.text(record.mountpoint)
  writer.text(record.principal ?? '')
}

export function readSession1(_key: Buffer, reader: ByteReader, clientId: string): SessionRecord {
  return { ...readSessionStart(reader, clientId), isSuperuser: false, mountpoint: '', principal: undefined }
}

export function readSession2(_key: Buffer, reader: ByteReader, clientId: string): SessionRecord {
  const start = readSessionStart(reader, clientId)
  return { ...start, isSuperuser: reader.byte() !== 0, mountpoint: reader.text(), principal: undefined }
}

export function readSession3(key: Buffer, reader: ByteReader, clientId: string): SessionRecord {
  const earlier = readSession2(key, reader, clientId)
  const principal = reader.text()
  return { ...earlier, principal: principal === '' ? undefined : principal }
}

function readSessionStart(
  reader: ByteReader,
  clientId: string,
): Omit<SessionRecord, 'isSuperuser' | 'mountpoint' | 'principal'> {
  const written = reader.text()
  return {
    kind: 'session',
    // One string for all records of a session: client IDs may be long.
    clientId: written === clientId ? clientId : written,
    version: toProtocolVersion(reader.byte()),
    username: reader.byte() === 0 ? undefined : reader.text(),
    createdAtMs: reader.float(),
    expirySeconds: reader.varint(),
    disconnectedAtMs: readOptionalTime(reader),
    queueHead: reader.varint(),
    sentBelow: reader.varint(),
    receiveMaximum: reader.varint(),
  }
}

function toProtocolVersion(value: number): ProtocolVersion {
  if (value !== 3 && value !== 4 && value !== 5) throw new DamagedRecord(`${value} is not a protocol version`)
  return value
}

const subscriptionFlags = { noLocal: 0x04, retainAsPublished: 0x08, identifier: 0x10 } as const

export function writeSubscription(writer: ByteWriter, record: SubscriptionRecord): void {
  let flags: number = record.qos
  if (record.noLocal) flags |= subscriptionFlags.noLocal
  if (record.retainAsPublished) flags |= subscriptionFlags.retainAsPublished
  if (record.identifier !== undefined) flags |= subscriptionFlags.identifier
  writer.byte(flags)
  writer.byte(record.retainHandling)
  if (record.identifier !== undefined) writer.varint(record.identifier)
}

export function readSubscription1(key: Buffer, reader: ByteReader, clientId: string): StoredRecord {
  const flags = reader.byte()
  return {
    kind: 'subscription',
    clientId,
    filter: key.toString('utf8', sessionPrefixBytes),
    qos: toQoS(flags & 0x03),
    noLocal: (flags & subscriptionFlags.noLocal) !== 0,
    retainAsPublished: (flags & subscriptionFlags.retainAsPublished) !== 0,
    retainHandling: toRetainHandling(reader.byte()),
    identifier: (flags & subscriptionFlags.identifier) === 0 ? undefined : reader.varint(),
  }
}

function toRetainHandling(value: number): RetainHandling {
  if (value !== 0 && value !== 1 && value !== 2) throw new DamagedRecord(`${value} is not a valid retain handling`)
  return value
}
