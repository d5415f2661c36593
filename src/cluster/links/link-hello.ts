// The hello of a connection between two nodes: fields with a tag and a length, so that a version can add fields that others skip.
//
//   | tag (1 byte) | length (2 bytes) | value | ...
//
// The level of the protocol that both sides use from then on is the highest that both understand. A node understands its own level and the
// one before it.

import { isLife, type Life } from '../peer-name.ts'
import { LinkFailure } from './link-failure.ts'
import { LinkBodyReader } from './link-frame-reader.ts'
import { linkFrameKinds, LinkFrameWriter } from './link-frames.ts'

/** What a connection is for. Main threads have the heartbeat connections, link threads the data connections. */
export type LinkPurpose = 'data' | 'heartbeat'

/** Levels of the protocol that a node understands, both included. */
export interface LinkLevels {
  readonly oldest: number
  readonly newest: number
}

/** This version's levels. */
export const linkLevels: LinkLevels = { oldest: 1, newest: 1 }

/** What a node says about itself. */
export interface LinkIdentity {
  readonly clusterId: string
  readonly nodeName: string
  readonly life: Life
  /** Grows with each start of a link thread within a life, from 1. What an earlier run had sent and received is lost. */
  readonly run: number
  readonly levels: LinkLevels
  /** System identifier of each store, in the order of the configuration. Empty: not known yet. */
  readonly storeIdentifiers: readonly string[]
}

export interface LinkHello extends LinkIdentity {
  readonly purpose: LinkPurpose
  /** The life that the sender expects at the other end; undefined: any. */
  readonly expectedLife: Life | undefined
}

const tags = {
  levels: 1,
  purpose: 2,
  clusterId: 3,
  nodeName: 4,
  life: 5,
  run: 6,
  expectedLife: 7,
  storeIdentifier: 8,
} as const

const purposes: readonly LinkPurpose[] = ['data', 'heartbeat']

export const maxHelloBytes = 4_096
const maxTextBytes = 255
const maxStores = 16

/** Returns the frame. */
export function encodeLinkHello(hello: LinkHello): Buffer {
  const frame = new LinkFrameWriter(linkFrameKinds.hello, maxHelloBytes)
  const addText = (tag: number, text: string): void => void frame.uint8(tag).text(text)
  frame.uint8(tags.levels).uint16(2).uint8(hello.levels.oldest).uint8(hello.levels.newest)
  frame.uint8(tags.purpose).uint16(1).uint8(purposes.indexOf(hello.purpose))
  addText(tags.clusterId, hello.clusterId)
  addText(tags.nodeName, hello.nodeName)
  addText(tags.life, hello.life)
  frame.uint8(tags.run).uint16(4).uint32(hello.run)
  if (hello.expectedLife !== undefined) addText(tags.expectedLife, hello.expectedLife)
  for (const identifier of hello.storeIdentifiers.slice(0, maxStores)) addText(tags.storeIdentifier, identifier)
  return frame.end()
}

/** Reads the body of a hello. Throws `LinkFailure` if a required field is missing or invalid. */
export function decodeLinkHello(body: Buffer): LinkHello {
  const fields = readFields(body)
  const levels = readField(fields, tags.levels, 'levels')
  const purpose = purposes[readField(fields, tags.purpose, 'purpose').uint8()]
  const expectedLife = fields.get(tags.expectedLife)?.[0]
  if (purpose === undefined) throw new LinkFailure('bad-frame', 'the hello has an unknown purpose')
  return {
    levels: { oldest: levels.uint8(), newest: levels.uint8() },
    purpose,
    clusterId: readText(fields, tags.clusterId, 'cluster'),
    nodeName: readText(fields, tags.nodeName, 'node'),
    life: checkLife(readText(fields, tags.life, 'life')),
    run: readField(fields, tags.run, 'run').uint32(),
    expectedLife: expectedLife === undefined ? undefined : checkLife(expectedLife.toString('utf8')),
    storeIdentifiers: (fields.get(tags.storeIdentifier) ?? []).map((value) => decodeText(value, 'store')),
  }
}

/** Returns the level that both sides use. Throws `LinkFailure` if there is none. */
export function chooseLinkLevel(own: LinkLevels, other: LinkLevels): number {
  const level = Math.min(own.newest, other.newest)
  if (level >= Math.max(own.oldest, other.oldest)) return level
  throw new LinkFailure(
    'no-common-level',
    `the other node understands the protocol levels ${other.oldest} to ${other.newest}, this one ${own.oldest} to ` +
      `${own.newest}; upgrade one version at a time`,
  )
}

function readFields(body: Buffer): Map<number, Buffer[]> {
  const fields = new Map<number, Buffer[]>()
  const reader = new LinkBodyReader(body)
  while (reader.hasMore) {
    const tag = reader.uint8()
    const values = fields.get(tag) ?? []
    values.push(reader.bytes(reader.uint16()))
    fields.set(tag, values)
  }
  return fields
}

function readField(fields: ReadonlyMap<number, readonly Buffer[]>, tag: number, name: string): LinkBodyReader {
  const value = fields.get(tag)?.[0]
  if (value === undefined) throw new LinkFailure('bad-frame', `the hello has no ${name}`)
  return new LinkBodyReader(value)
}

function readText(fields: ReadonlyMap<number, readonly Buffer[]>, tag: number, name: string): string {
  return decodeText(readField(fields, tag, name).rest(), name)
}

function decodeText(value: Buffer, name: string): string {
  if (value.length === 0 || value.length > maxTextBytes) {
    throw new LinkFailure('bad-frame', `the hello has a ${name} of ${value.length} bytes; 1 to ${maxTextBytes}`)
  }
  return value.toString('utf8')
}

function checkLife(text: string): Life {
  if (!isLife(text)) throw new LinkFailure('bad-frame', 'the hello has a life that is not 16 hexadecimal digits')
  return text
}
