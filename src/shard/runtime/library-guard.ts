// Keeps a shard running when a client library throws in a timer or event of its own: the actions and sources that use the library fail, and
// start again after a pause. Any other exception without a handler ends the thread.

import { findFailedLibrary, type LibraryName, formatError } from '../../sinks/index.ts'
import { maskUrlSecrets } from '../../config/index.ts'
import type { Log } from '../../telemetry/index.ts'

export interface LibraryGuardDependencies {
  readonly log: Log
  /** A clock that does not jump. */
  monotonicMs(): number
  /** Counts an exception of a library. */
  countFailure(): void
  /** Closes the connections of all actions and sources that use the library, and opens them again after the delay. */
  restartUsers(library: LibraryName, why: string, delayMs: number): void
}

const firstDelayMs = 1_000
const maxDelayMs = 60_000
/** After this time without an exception, the next delay is the first one again. */
const forgivenAfterMs = 300_000

interface LibraryFailures {
  delayMs: number
  /** Until then, the users of the library wait for their restart. */
  restartsAtMs: number
  /** Exceptions since the last log line. */
  unreported: number
}

export class LibraryGuard {
  readonly #dependencies: LibraryGuardDependencies
  readonly #failures = new Map<LibraryName, LibraryFailures>()
  /** Exceptions that the shard has reported as internal errors, whatever their stack. */
  readonly #internal = new WeakSet()

  constructor(dependencies: LibraryGuardDependencies) {
    this.#dependencies = dependencies
  }

  /** The shard itself found that it cannot continue: `handle` throws this exception again. */
  markInternal(error: unknown): void {
    if (error instanceof Error) this.#internal.add(error)
  }

  /** Handles an exception that nothing has caught. Throws it again if it is not only of a library. */
  handle(error: unknown): void {
    const library = error instanceof Error && this.#internal.has(error) ? undefined : findFailedLibrary(error)
    if (library === undefined) throw error
    this.#handleFailure(library, maskUrlSecrets(formatError(error)))
  }

  #handleFailure(library: LibraryName, reason: string): void {
    const dependencies = this.#dependencies
    const nowMs = dependencies.monotonicMs()
    const failures = this.#failures.get(library) ?? { delayMs: 0, restartsAtMs: 0, unreported: 0 }
    this.#failures.set(library, failures)
    dependencies.countFailure()
    failures.unreported++
    // Connections that are being closed may throw as well. Their users wait already.
    if (nowMs < failures.restartsAtMs) return
    const isForgiven = failures.delayMs === 0 || nowMs - failures.restartsAtMs >= forgivenAfterMs
    failures.delayMs = isForgiven ? firstDelayMs : Math.min(maxDelayMs, failures.delayMs * 2)
    failures.restartsAtMs = nowMs + failures.delayMs
    dependencies.log.warn('library failed', {
      library,
      reason,
      exceptions: failures.unreported,
      restartInMs: failures.delayMs,
    })
    failures.unreported = 0
    dependencies.restartUsers(library, `the library ${library} threw an exception: ${reason}`, failures.delayMs)
  }
}
