// Memory of wills: counted for the shard as the use 'wills'. A large will is removed from memory when its record is
// durable.

import type { Parts } from '../state/parts.ts'
import type { MemoryAccount } from '../model/memory-account.ts'
import type { Message } from '../messages/message.ts'
import { measureMessage } from '../messages/measure-message.ts'
import type { SessionWill } from '../state/sessions/session-will.ts'

/** The objects of one will without its topic, payload and properties, measured with 10,000 wills. */
const willObjectBytes = 200

/** Counts the memory of the will. */
export function countWill(memory: MemoryAccount, will: SessionWill): void {
  setWillBytes(memory, will, willObjectBytes + will.name.length + measureWillMessage(will.message))
}

function setWillBytes(memory: MemoryAccount, will: SessionWill, heldBytes: number): void {
  memory.add('wills', heldBytes - will.heldBytes)
  will.heldBytes = heldBytes
}

function measureWillMessage(message: Message | undefined): number {
  return message === undefined ? 0 : measureMessage(message.topic.name, message.payloadBytes, message.properties)
}

/** Batches up to `number` are durable: large wills in them are on disk only from now on. */
export function releaseWrittenWills(state: Parts<'memory' | 'wills'>, number: number): void {
  const { unwritten } = state.wills
  for (let next = unwritten.peek(); next !== undefined && next.batch <= number; next = unwritten.peek()) {
    unwritten.shift()
    const { will } = next
    will.message = undefined
    if (will.heldBytes > 0) countWill(state.memory, will)
  }
}

/** Stops counting a will that was published or deleted. */
export function releaseWill(memory: MemoryAccount, will: SessionWill): void {
  setWillBytes(memory, will, 0)
}

/** Returns the bytes of a published will that is kept until every shard has it. */
export function measurePendingWill(message: Message): number {
  return willObjectBytes + measureWillMessage(message)
}
