// Error texts of services.

import { describeServiceError } from '../telemetry/index.ts'
import { explainLibraryText } from './library-error-text.ts'

/** Returns the text of a thrown value: for administrators, so codes of the system and texts of libraries are sentences. */
export function formatError(error: unknown): string {
  return explainLibraryText(error instanceof Error ? describeServiceError(error, 'ssl.cacertfile') : String(error))
}

export function describeNoConnection(timeoutMs: number): string {
  return `no connection within ${timeoutMs} ms: check the service, its address and the network, or increase connect_timeout of the connector`
}

export function describeNoResponse(timeoutMs: number): string {
  return `no response within ${timeoutMs} ms: check the service, its load and the network, or increase the time limits of the connector and of the action`
}
