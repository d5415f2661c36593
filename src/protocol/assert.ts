// Assertions for the pure rooms, which import nothing of Node. They stay on in production: a broker that has
// contradicted itself stops before it does harm.

/** Throws a plain `Error` where `condition` does not hold: our own mistake, never the peer's (see `ProtocolError`). */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${message}`)
}
