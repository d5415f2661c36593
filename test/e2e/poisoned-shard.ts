// A real shard that breaks whenever it takes in the queue of the client `poison`.

import { BrokerCore, type Input } from '../../src/core/index.ts'

const { prototype } = BrokerCore
const sound: unknown = Object.getOwnPropertyDescriptor(prototype, 'handle')?.value
if (typeof sound !== 'function') throw new Error('the core handles inputs by another name')

prototype.handle = function (this: BrokerCore, input: Input, nowMs: number): void {
  const isPoison =
    input.kind === 'queue-loaded' &&
    input.records.some((record) => 'clientId' in record && record.clientId === 'poison')
  if (isPoison) throw new Error('poisoned on purpose')
  sound.call(this, input, nowMs)
}

await import('../../src/shard/worker.ts')
