// Stores values of gateways across restarts as facts of the store, which the core writes with its batches.

import type { Store } from '../../storage/index.ts'
import type { PendingCommands } from '../runtime/pending-commands.ts'
import type { GatewayManagerDependencies } from './gateway-manager-dependencies.ts'

type StoredFacts = Pick<GatewayManagerDependencies, 'storeValues' | 'runWhenDurable' | 'readStoredValues'>

export function createStoredFacts(shard: () => { readonly commands: PendingCommands }, store: Store): StoredFacts {
  return {
    // If the disk fails, the value is written when the disk works again.
    storeValues: (facts) => void shard().commands.run({ name: 'keep-facts', facts }),
    runWhenDurable: (done) =>
      void shard()
        .commands.run({ name: 'keep-facts', facts: [] })
        .then((result) => {
          if (result.done) done()
        }),
    readStoredValues: (prefix) => readFacts(store, prefix),
  }
}

async function* readFacts(
  store: Store,
  prefix: string,
): AsyncGenerator<{ readonly name: string; readonly value: string }> {
  for await (const record of store.read({ kind: 'fact' }))
    if (record.kind === 'fact' && record.name.startsWith(prefix)) yield record
}
