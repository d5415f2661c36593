// The bytes of a WebSocket message that are buffered, whatever its frames are and wherever they are cut.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrameMeter } from '../../src/transports/websocket/frame-meter.ts'
import { frame, opcodes } from './websocket-peer.ts'
import { fc } from '../properties.ts'

/** Lengths in each size of the length field. */
const anyPayload = fc
  .oneof(fc.integer({ min: 0, max: 130 }), fc.constantFrom(65_535, 65_536, 70_000))
  .map((length) => Buffer.alloc(length, 7))
const anyPing = fc.integer({ min: 0, max: 125 }).map((length) => Buffer.alloc(length, 9))
interface MessageParts {
  readonly parts: readonly Buffer[]
  /** After the first part. */
  readonly ping: Buffer | null
  readonly lengthBytes: 8 | undefined
}

const anyMessage: fc.Arbitrary<MessageParts> = fc.record({
  parts: fc.array(anyPayload, { minLength: 1, maxLength: 4 }),
  ping: fc.option(anyPing),
  lengthBytes: fc.constantFrom(undefined, 8 as const),
})

interface Frame {
  readonly bytes: Buffer
  readonly isControl: boolean
  readonly isFinal: boolean
}

function framesOf({ parts, ping, lengthBytes }: MessageParts): Frame[] {
  const frames = parts.map((payload, index): Frame => {
    const isFinal = index === parts.length - 1
    const opcode = index === 0 ? opcodes.binary : opcodes.continuation
    const length = lengthBytes === undefined ? {} : { lengthBytes }
    return { bytes: frame({ opcode, payload, isFinal, ...length }), isControl: false, isFinal }
  })
  if (ping === null) return frames
  const between = { bytes: frame({ opcode: opcodes.ping, payload: ping }), isControl: true, isFinal: true }
  return [...frames.slice(0, 1), between, ...frames.slice(1)]
}

/** The buffered bytes of the current message after this number of bytes of all frames. */
function heldAfter(frames: readonly Frame[], bytes: number): number {
  let left = bytes
  let held = 0
  for (const { bytes: whole, isControl, isFinal } of frames) {
    const come = Math.min(left, whole.length)
    left -= come
    if (!isControl) held = isFinal && come === whole.length ? 0 : held + come
    if (come < whole.length) break
  }
  return held
}

test('nothing is buffered after the end of a message, and of a partial one the received bytes', () => {
  fc.assert(
    fc.property(
      fc.array(anyMessage, { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 20 }),
      (messages, sizes) => {
        const frames = messages.flatMap(framesOf)
        const all = Buffer.concat(frames.map(({ bytes }) => bytes))
        const meter = new FrameMeter()
        let at = 0
        for (let chunk = 0; at < all.length; chunk++) {
          const size = sizes[chunk % sizes.length] ?? 1
          meter.measureChunk(all.subarray(at, at + size))
          at = Math.min(all.length, at + size)
          const held = heldAfter(frames, at)
          if (held === 0) assert.equal(meter.heldBytes, 0)
          else assert.ok(meter.heldBytes >= held, `${meter.heldBytes} for ${held}`)
        }
        assert.equal(meter.heldBytes, 0)
      },
    ),
    { numRuns: 300 },
  )
})

test('many small parts of a message are counted with their overhead', () => {
  const meter = new FrameMeter()
  const bytes = frame({ opcode: opcodes.binary, payload: Buffer.alloc(10_000) })
  for (let at = 0; at < bytes.length - 1; at++) meter.measureChunk(bytes.subarray(at, at + 1))
  assert.ok(meter.heldBytes >= 100 * bytes.length, `${meter.heldBytes}`)
  meter.measureChunk(bytes.subarray(-1))
  assert.equal(meter.heldBytes, 0)
})
