// What gateways keep across restarts stands among the facts of the store, and is written with the batches of the core.

import type { Store } from '../../storage/index.ts'
import type { PendingCommands } from '../runtime/pending-commands.ts'
import type { GatewayManagerDependencies } from './gateway-manager.ts'

type KeptFacts = Pick<GatewayManagerDependencies, 'keep' | 'whenKept' | 'readKept'>

export function keptFacts(shard: () => { readonly commands: PendingCommands }, store: Store): KeptFacts {
  return {
    // Where the disk fails it is written when the disk serves again.
    keep: (name, value) => void shard().commands.run({ name: 'keep-facts', facts: [{ name, value }] }),
    whenKept: (done) =>
      void shard()
        .commands.run({ name: 'keep-facts', facts: [] })
        .then((result) => {
          if (result.done) done()
        }),
    readKept: (prefix) => factsOf(store, prefix),
  }
}

async function* factsOf(
  store: Store,
  prefix: string,
): AsyncGenerator<{ readonly name: string; readonly value: string }> {
  for await (const record of store.read({ kind: 'fact' }))
    if (record.kind === 'fact' && record.name.startsWith(prefix)) yield record
}
