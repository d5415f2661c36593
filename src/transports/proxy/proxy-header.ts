// The PROXY protocol, versions 1 and 2 (specification of HAProxy, section 2): the client of a proxy.
//
//   1:  "PROXY TCP4 198.51.100.7 10.0.0.1 40123 1883\r\n"
//   2:  signature (12) | version, command (1) | family, protocol (1) | length (2) | addresses | TLVs
//
// This file only parses bytes: pure.

import { isIPv4, isIPv6 } from 'node:net'
import type { ClientAddress } from '../streams/byte-stream.ts'
import { parseProxiedAddress } from './parse-proxied-address.ts'

export type ProxyHeader =
  | { readonly state: 'incomplete' }
  /** An invalid header: the connection ends. */
  | { readonly state: 'malformed'; readonly why: string }
  /** `client` undefined: the connection is the proxy's own, or the client is unknown. `bytes`: size of the header. */
  | { readonly state: 'complete'; readonly client: ClientAddress | undefined; readonly bytes: number }

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const signature1 = Buffer.from('PROXY ')
/** Section 2.1: the longest header of version 1, with its line end. */
const maxHeader1Bytes = 107
/**
 * Maximum size of addresses and TLVs of version 2: certificates may be among them, but no proxy sends more than this.
 */
export const maxHeader2Bytes = 4_096
const head2Bytes = 16
const incomplete = { state: 'incomplete' } as const

/** Parses the header at the start of `bytes`. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  if (matchesBeginning(bytes, signature)) return bytes.length < head2Bytes ? incomplete : parseHeader2(bytes)
  if (matchesBeginning(bytes, signature1)) return parseHeader1(bytes)
  return createMalformedHeader('it does not begin with a PROXY header')
}

/** True also if there are fewer bytes than `beginning`, and all of them match. */
function matchesBeginning(bytes: Buffer, beginning: Buffer): boolean {
  const common = Math.min(bytes.length, beginning.length)
  return bytes.subarray(0, common).equals(beginning.subarray(0, common))
}

function parseHeader1(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, maxHeader1Bytes).indexOf('\r\n')
  if (end === -1)
    return bytes.length < maxHeader1Bytes ? incomplete : createMalformedHeader('its PROXY line has no end')
  const complete = end + 2
  const line = bytes.toString('latin1', 0, end)
  const [, family, source, destination, sourcePort, destinationPort, ...more] = line.split(' ')
  if (family === 'UNKNOWN') return { state: 'complete', client: undefined, bytes: complete }
  if (family !== 'TCP4' && family !== 'TCP6')
    return createMalformedHeader('its PROXY line names no family that there is')
  const isAddress = family === 'TCP4' ? isIPv4 : isIPv6
  const areAddresses = isAddress(source ?? '') && isAddress(destination ?? '')
  const address = areAddresses ? parseProxiedAddress(source ?? '') : undefined
  const port = parsePort(sourcePort)
  if (address === undefined || port === undefined || parsePort(destinationPort) === undefined || more.length > 0) {
    return createMalformedHeader('its PROXY line is not two addresses and two ports')
  }
  return { state: 'complete', client: { address, port }, bytes: complete }
}

/** Section 2.1: decimal, without leading zeros. */
function parsePort(text = ''): number | undefined {
  return /^(?:0|[1-9][0-9]{0,4})$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined
}

const families = {
  0x11: { addressBytes: 4, totalBytes: 12 },
  0x21: { addressBytes: 16, totalBytes: 36 },
} as const

function parseHeader2(bytes: Buffer): ProxyHeader {
  const versionAndCommand = bytes.readUInt8(12)
  const length = bytes.readUInt16BE(14)
  if (versionAndCommand >> 4 !== 2) return createMalformedHeader('its PROXY header is of no version that there is')
  if (length > maxHeader2Bytes) return createMalformedHeader(`its PROXY header is longer than ${maxHeader2Bytes} bytes`)
  const end = head2Bytes + length
  if (bytes.length < end) return incomplete
  const command = versionAndCommand & 0x0f
  if (command > 1) return createMalformedHeader('its PROXY header has no command that there is')
  const body = bytes.subarray(head2Bytes, end)
  // LOCAL: a health check of the proxy. Other fields have no meaning.
  if (command === 0) return { state: 'complete', client: undefined, bytes: end }
  return parseAddresses(bytes.readUInt8(13), body, end)
}

function parseAddresses(kind: number, body: Buffer, end: number): ProxyHeader {
  // Section 2.2: addresses of an unsupported family are ignored.
  if (kind === 0x00 || kind === 0x31 || kind === 0x32) return { state: 'complete', client: undefined, bytes: end }
  if (kind !== 0x11 && kind !== 0x21) return createMalformedHeader('its PROXY header is for no connection of TCP')
  const { addressBytes, totalBytes } = families[kind]
  if (body.length < totalBytes) return createMalformedHeader('its PROXY header is too short for its addresses')
  if (!hasWholeTlvs(body.subarray(totalBytes)))
    return createMalformedHeader('a TLV of its PROXY header is longer than the header')
  const source = body.subarray(0, addressBytes)
  const address = kind === 0x11 ? [...source].join('.') : formatIPv6(source)
  return { state: 'complete', client: { address, port: body.readUInt16BE(addressBytes * 2) }, bytes: end }
}

/** A type, a length of two bytes, and the content. */
function hasWholeTlvs(bytes: Buffer): boolean {
  let at = 0
  while (at < bytes.length) {
    if (at + 3 > bytes.length) return false
    at += 3 + bytes.readUInt16BE(at + 1)
  }
  return at === bytes.length
}

function formatIPv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16))
  return parseProxiedAddress(groups.join(':')) ?? ''
}

function createMalformedHeader(why: string): ProxyHeader {
  return { state: 'malformed', why }
}
