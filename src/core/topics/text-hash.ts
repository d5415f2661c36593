const prime = 0x01000193

/** Where every hash begins (FNV-1a). */
export const hashStart = 0x811c9dc5 | 0

/** One UTF-16 unit, or any other small number, more. */
export const hashStep = (hash: number, unit: number): number => Math.imul(hash ^ unit, prime)

/**
 * FNV-1a over the UTF-16 units of `text` up to `end`. Not for tables that a flood of colliding keys would slow down: it
 * only chooses among parts that stand collisions themselves.
 */
export function hashOf(text: string, end: number): number {
  let hash = hashStart
  for (let at = 0; at < end; at += 1) hash = hashStep(hash, text.charCodeAt(at))
  return hash
}
