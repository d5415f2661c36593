// A real shard that crashes when it loads the queue of the client `poison`, and at its start, when it loads the will of the client
// `poisoned will` or the retained message of the topic `poisoned/topic`.

import { BrokerCore, type Input } from '../../src/core/index.ts'
import type { StoredRecord } from '../../src/records/index.ts'

const { prototype } = BrokerCore
const sound: unknown = Object.getOwnPropertyDescriptor(prototype, 'handle')?.value
if (typeof sound !== 'function') throw new Error('the core handles inputs by another name')

const isQueueOfPoison = (record: StoredRecord): boolean => 'clientId' in record && record.clientId === 'poison'

const crashesAtStart = (record: StoredRecord): boolean =>
  (record.kind === 'will' && record.clientId === 'poisoned will') ||
  (record.kind === 'retained' && record.message.topic === 'poisoned/topic')

prototype.handle = function (this: BrokerCore, input: Input, nowMs: number): void {
  const isPoison =
    (input.kind === 'queue-loaded' && input.records.some(isQueueOfPoison)) ||
    (input.kind === 'restore' && input.records.some(crashesAtStart))
  if (isPoison) throw new Error('poisoned on purpose')
  sound.call(this, input, nowMs)
}

await import('../../src/shard/worker.ts')
