// Finds the key that was probably meant.

const maxComparedLength = 80

/** Returns the most similar candidate, if it is similar enough. */
export function findNearestKey(key: string, candidates: Iterable<string>): string | undefined {
  const written = key.toLowerCase().slice(0, maxComparedLength)
  let nearest: string | undefined
  let leastDistance = Math.max(1, Math.floor(written.length / 3)) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - written.length) >= leastDistance) continue
    const distance = computeEditDistance(written, candidate.toLowerCase())
    if (distance >= leastDistance) continue
    leastDistance = distance
    nearest = candidate
  }
  return nearest
}

/** Number of characters to add, remove, change, or swap to turn one word into the other. */
function computeEditDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const change = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      let lowest = Math.min(change, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1)
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (isSwapped) lowest = Math.min(lowest, (beforePrevious[column - 2] ?? 0) + 1)
      current.push(lowest)
    }
    beforePrevious = previous
    previous = current
  }
  return previous[b.length] ?? 0
}
