// Calls of sinks whose internal errors do not end the shard.

import type { ActionEntry, Sink, WriteOutcome } from '../../sinks/index.ts'

/**
 * Sinks do not reject. One that throws or rejects nevertheless has an internal error, which must not end the shard: each entry is sent
 * alone, and the one that causes the error is refused.
 */
export function writeSafely(
  sink: Sink,
  batch: readonly { readonly prepared: ActionEntry }[],
  next: (outcomes: readonly WriteOutcome[]) => void,
): void {
  const handleError = (error: unknown): void => {
    const [first, ...rest] = batch
    if (first === undefined || rest.length === 0)
      return next([{ outcome: 'refused', why: describeInternalError(error) }])
    writeSafely(sink, [first], (outcomes) => writeSafely(sink, rest, (others) => next([...outcomes, ...others])))
  }
  try {
    sink.write(batch.map(({ prepared }) => prepared)).then(next, handleError)
  } catch (error) {
    handleError(error)
  }
}

/** Passes on why the service is not available; undefined: it is available. */
export function checkSafely(sink: Sink, next: (problem: string | undefined) => void): void {
  const handleError = (error: unknown): void => next(describeInternalError(error))
  try {
    sink.check().then(next, handleError)
  } catch (error) {
    handleError(error)
  }
}

function describeInternalError(error: unknown): string {
  return `failed: internal error of the sink: ${error instanceof Error ? error.message : String(error)}`
}
