// Suggestions for misspelled names.

/** Longer names get no suggestion: the distance costs the product of both lengths. */
const maxNameLength = 64

/** Returns the name that differs least from `name`, if it differs in at most a third of its characters. */
export function findNearestName(name: string, names: Iterable<string>): string | undefined {
  if (name.length > maxNameLength) return undefined
  const wanted = name.toLowerCase()
  let nearest: string | undefined
  let shortest = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const candidate of names) {
    const distance = computeEditDistance(wanted, candidate.toLowerCase())
    if (distance < shortest) [nearest, shortest] = [candidate, distance]
  }
  return nearest
}

/** The number of characters to insert, delete or replace. */
function computeEditDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const replaced = previous[column - 1] + (left[row - 1] === right[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, previous[column] + 1, current[column - 1] + 1))
    }
    previous = current
  }
  return previous[right.length]
}
