// Assertions for pure modules, which import nothing of Node. They stay active in production: a shard in an invalid state
// stops before it does harm.

/**
 * Throws a plain `Error` where `condition` does not hold: our own mistake, never the peer's (see `ProtocolError`).
 * A message that has to be put together is so at every call, most of which need none: there `failedAssertion` is thrown.
 */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw failedAssertion(message)
}

/** The error that `assert` throws, for callers that build the message only if it is needed. */
export function failedAssertion(message: string): Error {
  return new Error(`Assertion failed: ${message}`)
}
