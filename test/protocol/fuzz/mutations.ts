// Mutations of valid packets, for the fuzzing of decoders.

import { frame } from '../bytes.ts'
import type { Random } from './random.ts'

type Mutation = (bytes: Buffer, random: Random, others: readonly Buffer[]) => Buffer

/** Bytes with a meaning in MQTT: ends of lengths, flags, topic characters, limits of UTF-8. */
const interestingBytes = [
  0x00, 0x01, 0x02, 0x7f, 0x80, 0x81, 0xff, 0x23, 0x2b, 0x2f, 0x24, 0xc0, 0xed, 0xf4, 0x26, 0x0b,
]

const flipBit: Mutation = (bytes, random) => {
  const at = random.below(bytes.length)
  bytes[at] ^= 1 << random.below(8)
  return bytes
}

const setByte: Mutation = (bytes, random) => {
  bytes[random.below(bytes.length)] = random.oneIn(2) ? random.pick(interestingBytes) : random.below(256)
  return bytes
}

const addToByte: Mutation = (bytes, random) => {
  bytes[random.below(bytes.length)] += random.below(5) - 2
  return bytes
}

const cutOut: Mutation = (bytes, random) => {
  const start = random.below(bytes.length)
  return Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + 1 + random.below(6))])
}

const repeatPart: Mutation = (bytes, random) => {
  const start = random.below(bytes.length)
  const end = start + 1 + random.below(12)
  return Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)])
}

const insert: Mutation = (bytes, random) => {
  const at = random.below(bytes.length + 1)
  const added = Buffer.from(Array.from({ length: 1 + random.below(4) }, () => random.pick(interestingBytes)))
  return Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at)])
}

const truncate: Mutation = (bytes, random) => bytes.subarray(0, 1 + random.below(bytes.length))

const splice: Mutation = (bytes, random, others) => {
  const other = random.pick(others)
  return Buffer.concat([bytes.subarray(0, random.below(bytes.length)), other.subarray(random.below(other.length))])
}

const follow: Mutation = (bytes, random, others) => Buffer.concat([bytes, random.pick(others)])

const mutations = [flipBit, setByte, setByte, addToByte, cutOut, repeatPart, insert, truncate, splice, follow]

/** Returns one of `packets` after one to four mutations. Three of four results get a correct remaining length. */
export function mutate(packets: readonly Buffer[], random: Random): Buffer {
  let bytes: Buffer = Buffer.from(random.pick(packets))
  for (let remaining = random.oneIn(2) ? 1 : 1 + random.below(4); remaining > 0; remaining--) {
    if (bytes.length > 0) bytes = random.pick(mutations)(bytes, random, packets)
  }
  return random.oneIn(4) ? bytes : withCorrectLength(bytes)
}

/** Sets the remaining length, so that the decoder also reads what follows it. */
function withCorrectLength(bytes: Buffer): Buffer {
  if (bytes.length < 2) return bytes
  let bodyStart = 1
  while (bodyStart < Math.min(bytes.length, 4) && bytes[bodyStart] >= 0x80) bodyStart++
  return frame(bytes[0], bytes.subarray(bodyStart + 1))
}

/** Runs `run` without stack traces: most mutated packets cause an error, and its stack trace takes longer than decoding. */
export function withoutStackTraces<Result>(run: () => Result): Result {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return run()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
