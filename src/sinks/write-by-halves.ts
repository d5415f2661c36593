// Some services refuse a batch without naming the bad entry. This module sends halves of the batch until the bad entry is alone.

import type { WriteOutcome } from './sink.ts'

/** Returns one outcome for each item, in order. `send` returns one outcome for all items together, or one for each. */
export async function writeByHalves<Item>(
  items: readonly Item[],
  send: (items: readonly Item[]) => Promise<WriteOutcome | readonly WriteOutcome[]>,
): Promise<readonly WriteOutcome[]> {
  const result = await send(items)
  if (!('outcome' in result)) return result
  if (result.outcome !== 'refused' || items.length <= 1) return items.map(() => result)
  const middle = Math.ceil(items.length / 2)
  const rest = items.slice(middle)
  const first = await writeByHalves(items.slice(0, middle), send)
  const last = first.at(-1)
  // The service is not available, so the rest is not sent.
  if (last?.outcome === 'retry') return [...first, ...rest.map(() => last)]
  return [...first, ...(await writeByHalves(rest, send))]
}
