// Assertions for pure modules, which do not import Node.js modules. They stay active in production: a shard in an invalid state
// stops before it does harm.

/**
 * Throws a plain `Error` if `condition` is false, which is an internal error, not an error of the peer (see `ProtocolError`).
 * A message is built at every call, even if it is not needed. If that is expensive, throw `failedAssertion` instead.
 */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw createAssertionError(message)
}

/** The error that `assert` throws, for callers that build the message only if it is needed. */
export function createAssertionError(message: string): Error {
  return new Error(`Assertion failed: ${message}`)
}
