// Batches of which a service says only that something in them is wrong: halves are sent until what is wrong is alone.

import type { WriteOutcome } from './sink.ts'

/** `send`: the outcome of all items together, or one for each. One outcome for each item comes back, in order. */
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
  // What is not there now is not there for the rest either.
  if (last?.outcome === 'retry') return [...first, ...rest.map(() => last)]
  return [...first, ...(await writeByHalves(rest, send))]
}
