const prime = 0x01000193

/** Start value of every hash (FNV-1a). */
export const hashStart = 0x811c9dc5 | 0

/** Adds one UTF-16 unit, or another small number. */
export const hashStep = (hash: number, unit: number): number => Math.imul(hash ^ unit, prime)

/**
 * FNV-1a over the UTF-16 units of `text` up to `end`. Not for tables that become slow with many colliding keys: it
 * selects among parts that tolerate collisions.
 */
export function hashText(text: string, end: number): number {
  let hash = hashStart
  for (let at = 0; at < end; at += 1) hash = hashStep(hash, text.charCodeAt(at))
  return hash
}
