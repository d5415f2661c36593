// Error texts of services, and timeouts of their responses.

import { serviceErrorText } from '../telemetry/index.ts'
import { explainLibraryText } from './library-error-text.ts'

/** Returns the text of a thrown value: for administrators, so codes of the system and texts of libraries are sentences. */
export function messageOf(error: unknown): string {
  return explainLibraryText(error instanceof Error ? serviceErrorText(error, 'ssl.cacertfile') : String(error))
}

/** Resolves like `work`. Rejects if the service does not respond in time. */
export async function withTimeout<Value>(work: Promise<Value>, timeoutMs: number): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs} ms`)), timeoutMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
