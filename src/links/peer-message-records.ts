// Writes and reads the records of all peer messages except publications, which are in publish-writer.ts:
//
//   committed           the number of a batch, because it is frequent
//   retained-response   a header, and then a record for each retained message
//   all others          a structured clone

import { deserialize, serialize } from 'node:v8'
import type { Message, PeerCommitted, PeerMessage, PeerPublish } from '../core/index.ts'
import { createAssertionError } from '../protocol/index.ts'
import type { LinkBufferReader } from './link-buffer-reader.ts'
import type { LinkBufferWriter } from './link-buffer-writer.ts'
import type { PublishWriter } from './publish-writer.ts'
import { recordKinds } from './record-kinds.ts'

type RetainedResponse = Extract<PeerMessage, { kind: 'retained-response' }>

const float64Bytes = 8

export function writePeerMessage(
  writer: LinkBufferWriter,
  publishes: PublishWriter,
  message: Exclude<PeerMessage, PeerPublish>,
): void {
  if (message.kind === 'retained-response') writeRetainedResponse(writer, publishes, message)
  else if (message.kind === 'committed' && isPlainCommitted(message)) writeCommitted(writer, message.upTo)
  else writeClone(writer, recordKinds.clone, message)
}

export function readPeerMessage(reader: LinkBufferReader): PeerMessage {
  return readClone(reader) as PeerMessage
}

export function readCommitted(reader: LinkBufferReader): PeerMessage {
  return { kind: 'committed', upTo: reader.float64(), refused: undefined, uncommitted: undefined }
}

function isPlainCommitted({ refused, uncommitted }: PeerCommitted): boolean {
  return refused === undefined && uncommitted === undefined
}

function writeCommitted(writer: LinkBufferWriter, upTo: number): void {
  const target = writer.begin(recordKinds.committed, float64Bytes)
  writer.at = target.writeDoubleLE(upTo, writer.at)
  writer.end()
}

interface RetainedResponseHeader {
  readonly requestId: number
  readonly isEnd: boolean
  readonly count: number
}

function writeRetainedResponse(writer: LinkBufferWriter, publishes: PublishWriter, found: RetainedResponse): void {
  const { requestId, isEnd, messages } = found
  const header: RetainedResponseHeader = { requestId, isEnd, count: messages.length }
  writeClone(writer, recordKinds.retainedResponse, header)
  for (const message of messages) {
    publishes.writeMessage(recordKinds.retainedMessage, message, { flags: 0, details: undefined })
  }
}

/** A response with retained messages that is not complete yet: its messages arrive as one record each. */
export class PartialRetainedResponse {
  readonly #header: RetainedResponseHeader
  readonly #messages: Message[] = []

  constructor(reader: LinkBufferReader) {
    this.#header = readClone(reader) as RetainedResponseHeader
  }

  get isComplete(): boolean {
    return this.#messages.length === this.#header.count
  }

  add(message: Message): void {
    if (this.isComplete) throw createAssertionError(`more than ${this.#header.count} retained messages arrived`)
    this.#messages.push(message)
  }

  read(): RetainedResponse {
    const { requestId, isEnd } = this.#header
    return { kind: 'retained-response', requestId, messages: this.#messages, isEnd }
  }
}

export function writeClone(writer: LinkBufferWriter, kind: number, value: unknown): void {
  const bytes = serialize(value)
  const target = writer.begin(kind, bytes.length)
  bytes.copy(target, writer.at)
  writer.at += bytes.length
  writer.end()
}

/** Reads a structured clone. The result does not share memory with the link buffer. */
export function readClone(reader: LinkBufferReader): unknown {
  return deserialize(reader.rest())
}
