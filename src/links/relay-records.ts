// The records of a relayed connection that have more fields than numbers and bytes.

import type { GatewayClientTraits, StreamCredentials } from '../transports/index.ts'
import type { FieldWriter } from './field-writer.ts'
import type { LinkBufferReader } from './link-buffer-reader.ts'
import type { RelayOrigin, RemoteListener } from './relayed-stream.ts'

const maxPort = 65_535
const originFlags = { hasCredentials: 1, hasGatewayClient: 2 } as const
const listenerKinds = { number: 0, ofOtherNode: 1 } as const
const listenerFlags = { isLoopback: 1 } as const
const credentialFlags = { hasCertificate: 1, hasPskIdentity: 2, hasCommonName: 4 } as const
const traitFlags = {
  hasSleep: 1,
  isSleeping: 2,
  hasVersion: 4,
  hasEndpointName: 8,
  hasLifetime: 16,
  hasAddress: 32,
  hasPort: 64,
} as const

export function writeOrigin(fields: FieldWriter, origin: RelayOrigin): void {
  const { listener, remoteAddress, remotePort, credentials, gatewayClient } = origin
  writeListener(fields, listener)
  fields.putText(remoteAddress).putNumber(remotePort)
  fields.putUint8(
    (credentials === undefined ? 0 : originFlags.hasCredentials) |
      (gatewayClient === undefined ? 0 : originFlags.hasGatewayClient),
  )
  if (credentials !== undefined) writeCredentials(fields, credentials)
  if (gatewayClient !== undefined) writeTraits(fields, gatewayClient)
}

export function readOrigin(reader: LinkBufferReader): RelayOrigin {
  const listener = readListener(reader)
  const remoteAddress = reader.text()
  const remotePort = reader.number(maxPort)
  const flags = reader.flags(originFlags.hasCredentials | originFlags.hasGatewayClient)
  const credentials = (flags & originFlags.hasCredentials) === 0 ? undefined : readCredentials(reader)
  const gatewayClient = (flags & originFlags.hasGatewayClient) === 0 ? undefined : readTraits(reader)
  return { listener, remoteAddress, remotePort, credentials, gatewayClient }
}

function writeListener(fields: FieldWriter, listener: number | RemoteListener): void {
  if (typeof listener === 'number') return void fields.putUint8(listenerKinds.number).putNumber(listener)
  const { kind, name, port, isLoopback } = listener
  fields.putUint8(listenerKinds.ofOtherNode).putText(kind).putText(name).putNumber(port)
  fields.putUint8(isLoopback ? listenerFlags.isLoopback : 0)
}

function readListener(reader: LinkBufferReader): number | RemoteListener {
  if (reader.flags(listenerKinds.ofOtherNode) === listenerKinds.number) return reader.number()
  const kind = reader.text()
  const name = reader.text()
  const port = reader.number(maxPort)
  return { kind, name, port, isLoopback: reader.flags(listenerFlags.isLoopback) === listenerFlags.isLoopback }
}

function writeCredentials(fields: FieldWriter, { certificate, pskIdentity }: StreamCredentials): void {
  fields.putUint8(
    (certificate === undefined ? 0 : credentialFlags.hasCertificate) |
      (pskIdentity === undefined ? 0 : credentialFlags.hasPskIdentity) |
      (certificate?.commonName === undefined ? 0 : credentialFlags.hasCommonName),
  )
  if (certificate !== undefined) {
    const { commonName, subject, serialNumber, fingerprint, der } = certificate
    if (commonName !== undefined) fields.putText(commonName)
    fields.putText(subject).putText(serialNumber).putText(fingerprint).putBytes(der)
  }
  if (pskIdentity !== undefined) fields.putText(pskIdentity)
}

function readCredentials(reader: LinkBufferReader): StreamCredentials {
  const flags = reader.flags(
    credentialFlags.hasCertificate | credentialFlags.hasPskIdentity | credentialFlags.hasCommonName,
  )
  return {
    certificate: (flags & credentialFlags.hasCertificate) === 0 ? undefined : readCertificate(reader, flags),
    pskIdentity: (flags & credentialFlags.hasPskIdentity) === 0 ? undefined : reader.text(),
  }
}

function readCertificate(reader: LinkBufferReader, flags: number): StreamCredentials['certificate'] {
  const commonName = (flags & credentialFlags.hasCommonName) === 0 ? undefined : reader.text()
  const subject = reader.text()
  const serialNumber = reader.text()
  const fingerprint = reader.text()
  // A copy, because a view would keep the link buffer in memory as long as the connection is open.
  const der = new Uint8Array(reader.bytes(reader.uint32()))
  return { commonName, subject, serialNumber, fingerprint, der }
}

export function writeTraits(fields: FieldWriter, traits: GatewayClientTraits): void {
  const { isSleeping, protocolVersion, endpointName, lifetimeSeconds, address, port } = traits
  fields.putUint8(
    (isSleeping === undefined ? 0 : traitFlags.hasSleep) |
      (isSleeping === true ? traitFlags.isSleeping : 0) |
      (protocolVersion === undefined ? 0 : traitFlags.hasVersion) |
      (endpointName === undefined ? 0 : traitFlags.hasEndpointName) |
      (lifetimeSeconds === undefined ? 0 : traitFlags.hasLifetime) |
      (address === undefined ? 0 : traitFlags.hasAddress) |
      (port === undefined ? 0 : traitFlags.hasPort),
  )
  if (protocolVersion !== undefined) fields.putFloat64(protocolVersion)
  if (endpointName !== undefined) fields.putText(endpointName)
  if (lifetimeSeconds !== undefined) fields.putFloat64(lifetimeSeconds)
  if (address !== undefined) fields.putText(address)
  if (port !== undefined) fields.putNumber(port)
}

export function readTraits(reader: LinkBufferReader): GatewayClientTraits {
  const flags = reader.flags(127)
  const has = (flag: number): boolean => (flags & flag) !== 0
  // The properties of the object are evaluated in this order, which is that of the fields.
  return {
    isSleeping: has(traitFlags.hasSleep) ? has(traitFlags.isSleeping) : undefined,
    protocolVersion: has(traitFlags.hasVersion) ? reader.duration() : undefined,
    endpointName: has(traitFlags.hasEndpointName) ? reader.text() : undefined,
    lifetimeSeconds: has(traitFlags.hasLifetime) ? reader.duration() : undefined,
    address: has(traitFlags.hasAddress) ? reader.text() : undefined,
    port: has(traitFlags.hasPort) ? reader.number(maxPort) : undefined,
  }
}
