// Visits what a generator yields in slices between turns, so that no client waits for a query.

/** Entries between two reads of the clock. */
const entriesBetweenClockReads = 256
const sliceMs = 4

/** Resolves when `visit` was called for each entry that is not undefined. */
export async function visitInSlices<Entry>(
  entries: Iterable<Entry | undefined>,
  visit: (entry: Entry) => void,
): Promise<void> {
  let visited = 0
  let sliceEndsAtMs = performance.now() + sliceMs
  for (const entry of entries) {
    if (entry !== undefined) visit(entry)
    if (++visited % entriesBetweenClockReads !== 0 || performance.now() < sliceEndsAtMs) continue
    await new Promise((resolve) => setImmediate(resolve))
    sliceEndsAtMs = performance.now() + sliceMs
  }
}
