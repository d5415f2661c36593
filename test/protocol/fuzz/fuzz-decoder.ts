// Decodes mutated packets that a seed determines. Requirements for each packet:
//
// - the decoder gives packets or throws a ProtocolError, and nothing else;
// - it allocates in proportion to the received bytes, whatever lengths were announced;
// - an accepted packet can be written again, and is then read as the same packet.

import assert from 'node:assert/strict'
import { ProtocolError, type PacketDecoder, type ProtocolVersion, type Role } from '../../../src/protocol/index.ts'
import { decoderFor, encode, freshDecoder, plain, type PlainPacket } from '../decoding.ts'
import { malformedPackets } from '../malformed-packets.ts'
import { namedPackets } from '../named-packets.ts'
import { mutate, withoutStackTraces } from './mutations.ts'
import { Random } from './random.ts'

export interface FuzzTally {
  inputs: number
  /** Inputs that ended in a ProtocolError. */
  refused: number
  packets: number
}

/** Allows for copies of strings and payloads, and for the doubling of the buffer of an incomplete packet. */
const allowedBytesPerByte = 8
const allowedBytesBeside = 512

/** Throws an Error with the bytes of the input if a requirement above is violated. */
export function fuzzDecoder(inputs: number, seed: number): FuzzTally {
  return withoutStackTraces(() => fuzzAll(inputs, seed))
}

function fuzzAll(inputs: number, seed: number): FuzzTally {
  const random = new Random(seed)
  const corpora = corporaByEnd()
  const tally: FuzzTally = { inputs: 0, refused: 0, packets: 0 }
  const allocations = countAllocations()
  try {
    for (; tally.inputs < inputs; tally.inputs++) {
      const corpus = random.pick(corpora)
      const input = mutate(corpus.packets, random)
      try {
        fuzzOne(corpus, input, { random, tally, allocations })
      } catch (fault) {
        const at = `input ${tally.inputs} of seed ${seed}, MQTT ${corpus.version} at a ${corpus.role}`
        throw new Error(`${at}: ${input.toString('hex', 0, 2_000)}`, { cause: fault })
      }
    }
  } finally {
    allocations.restore()
  }
  return tally
}

interface Corpus {
  readonly version: ProtocolVersion
  readonly role: Role
  readonly isFirst: boolean
  readonly packets: readonly Buffer[]
}

/** Every named packet, valid and malformed, by its version and the end that reads it. */
function corporaByEnd(): readonly Corpus[] {
  const good = namedPackets.map(({ version, role, bytes, packet }) => {
    return { version, role, bytes, isFirst: packet.type === 'connect' }
  })
  const bad = malformedPackets.map(({ version, role, bytes, isFirst }) => {
    return { version, role, bytes, isFirst: isFirst === true }
  })
  // A malformed packet hides the effect of a mutation, so valid packets are more frequent.
  const all = [...good, ...good, ...good, ...good, ...bad].filter(({ bytes }) => bytes.length < 1_000)
  const corpora: Corpus[] = []
  for (const version of [3, 4, 5] as const) {
    for (const role of ['server', 'client'] as const) {
      const packets = all.filter((any) => any.version === version && any.role === role && !any.isFirst)
      corpora.push({ version, role, isFirst: false, packets: packets.map(({ bytes }) => bytes) })
    }
  }
  const connects = all.filter(({ isFirst }) => isFirst).map(({ bytes }) => bytes)
  // Twice, because these packets have the most fields.
  for (let times = 0; times < 2; times++) corpora.push({ version: 4, role: 'server', isFirst: true, packets: connects })
  return corpora
}

function fuzzOne(
  { version, role, isFirst }: Corpus,
  input: Buffer,
  { random, tally, allocations }: { random: Random; tally: FuzzTally; allocations: Allocations },
): void {
  const decoder = isFirst ? freshDecoder() : decoderFor(version, role)
  const pieces = cut(input, random)
  allocations.bytes = 0
  const { packets, isRefused } = feed(decoder, pieces, random.oneIn(2))
  const allowed = input.length * allowedBytesPerByte + allowedBytesBeside
  assert.ok(allocations.bytes <= allowed, `${allocations.bytes} bytes allocated for ${input.length} that came`)
  assert.ok(decoder.bufferedBytes <= input.length, 'more is buffered than came')
  if (isRefused) tally.refused++
  tally.packets += packets.length
  for (const packet of packets) expectSameAgain(packet, decoder.version, role)
}

function cut(input: Buffer, random: Random): Buffer[] {
  if (random.oneIn(2)) return [input]
  const pieces: Buffer[] = []
  for (let at = 0; at < input.length;) {
    const size = 1 + random.below(random.oneIn(3) ? 3 : 24)
    pieces.push(input.subarray(at, at + size))
    at += size
  }
  return pieces
}

function feed(decoder: PacketDecoder, pieces: readonly Buffer[], readsInBetween: boolean) {
  const packets: PlainPacket[] = []
  const drain = (): void => {
    for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) packets.push(plain(packet))
  }
  try {
    for (const piece of pieces) {
      decoder.push(piece)
      if (readsInBetween) drain()
    }
    drain()
  } catch (fault) {
    assert.ok(fault instanceof ProtocolError, `${String(fault)} is no ProtocolError`)
    assert.throws(
      () => decoder.next(),
      (again) => again === fault,
    )
    return { packets, isRefused: true }
  }
  return { packets, isRefused: false }
}

function expectSameAgain(packet: PlainPacket, version: ProtocolVersion, role: Role): void {
  const isConnect = packet.type === 'connect'
  const writtenIn = isConnect ? packet.version : version
  const decoder = isConnect ? freshDecoder() : decoderFor(version, role)
  decoder.push(encode(packet, writtenIn))
  const again = decoder.next()
  assert.ok(again !== undefined, 'what was written is not whole')
  assert.deepEqual(plain(again), packet)
}

interface Allocations {
  bytes: number
  restore(): void
}

/** Counts the bytes that any code allocates through Buffer. */
function countAllocations(): Allocations {
  const allocUnsafe = Buffer.allocUnsafe.bind(Buffer)
  const allocUnsafeSlow = Buffer.allocUnsafeSlow.bind(Buffer)
  const allocations: Allocations = {
    bytes: 0,
    restore: () => Object.assign(Buffer, { allocUnsafe, allocUnsafeSlow }),
  }
  Object.assign(Buffer, {
    allocUnsafe: (size: number) => {
      allocations.bytes += size
      return allocUnsafe(size)
    },
    allocUnsafeSlow: (size: number) => {
      allocations.bytes += size
      return allocUnsafeSlow(size)
    },
  })
  return allocations
}
