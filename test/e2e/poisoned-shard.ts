// A real shard that breaks whenever it takes in the queue of the client `poison`, and at its start the will of the client
// `poisoned will` and what the topic `poisoned/topic` remembers.

import { BrokerCore, type Input } from '../../src/core/index.ts'
import type { StoredRecord } from '../../src/records/index.ts'

const { prototype } = BrokerCore
const sound: unknown = Object.getOwnPropertyDescriptor(prototype, 'handle')?.value
if (typeof sound !== 'function') throw new Error('the core handles inputs by another name')

const isQueueOfPoison = (record: StoredRecord): boolean => 'clientId' in record && record.clientId === 'poison'

const breaksTheStart = (record: StoredRecord): boolean =>
  (record.kind === 'will' && record.clientId === 'poisoned will') ||
  (record.kind === 'retained' && record.message.topic === 'poisoned/topic')

prototype.handle = function (this: BrokerCore, input: Input, nowMs: number): void {
  const isPoison =
    (input.kind === 'queue-loaded' && input.records.some(isQueueOfPoison)) ||
    (input.kind === 'restore' && input.records.some(breaksTheStart))
  if (isPoison) throw new Error('poisoned on purpose')
  sound.call(this, input, nowMs)
}

await import('../../src/shard/worker.ts')
