// Batches of which a service says only that something in them is wrong: halves are sent until what is wrong is alone.

import type { WriteOutcome } from './sink.ts'

/** `send`: the outcome of all items together. One outcome for each item comes back, in order. */
export async function writeByHalves<Item>(
  items: readonly Item[],
  send: (items: readonly Item[]) => Promise<WriteOutcome>,
): Promise<readonly WriteOutcome[]> {
  const outcome = await send(items)
  if (outcome.outcome !== 'refused' || items.length <= 1) return items.map(() => outcome)
  const middle = Math.ceil(items.length / 2)
  const rest = items.slice(middle)
  const first = await writeByHalves(items.slice(0, middle), send)
  const last = first.at(-1)
  // What is not there now is not there for the rest either.
  if (last?.outcome === 'retry') return [...first, ...rest.map(() => last)]
  return [...first, ...(await writeByHalves(rest, send))]
}
