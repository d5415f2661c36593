// Sends the requests of the library of OpenID Connect by the HTTP client of the broker: with its time limits, its limit of the size of a response,
// its certificate authorities, and without redirects. An endpoint is used only over https, or over http on loopback.

import type { HttpClient } from '../../../access/index.ts'
import { isSafeAddress } from '../../../config/index.ts'
import type { CustomFetch } from './oidc-library.ts'

/** The end of a sentence that begins with "the provider". */
export interface ProviderFailure {
  readonly failure: string
}

/** Thrown through the library, which has no values for failures. */
class ProviderError extends Error {}

/** Only responses with the status 200 reach the library. Texts of the provider are not part of a failure, except error codes of OAuth. */
export function createFetch(http: Pick<HttpClient, 'send'>): CustomFetch {
  return async (url, { method, headers, body }) => {
    if (!isSafeAddress(url)) throw new ProviderError('has an endpoint that is neither https nor http on loopback')
    const response = await http.send(
      {
        url: new URL(url),
        method: method === 'POST' ? 'POST' : 'GET',
        headers,
        body: body instanceof URLSearchParams ? body.toString() : undefined,
      },
      () => true,
    )
    if ('failure' in response) throw new ProviderError(response.failure)
    const { status, contentType } = response
    if (status !== 200) throw new ProviderError(`returned status ${status}${formatErrorCode(response.body)}`)
    return new Response(response.body, { status, headers: { 'content-type': contentType } })
  }
}

/** [RFC6749-5.2] */
function formatErrorCode(body: string): string {
  try {
    const { error } = JSON.parse(body) as { readonly error?: unknown }
    return typeof error === 'string' && /^[\w.-]{1,64}$/.test(error) ? ` (${error})` : ''
  } catch {
    return '' // A page of a proxy, for example.
  }
}

/** The error of the library that has a code, with the error in it that caused it. */
interface LibraryError {
  readonly code?: string
  readonly message: string
  readonly cause?: unknown
}

/**
 * Returns the result of a call of the library, or why the provider failed. Data of a provider can make the library throw any error. The result is
 * in an object of its own, because a provider can name a member `failure`.
 */
export async function callLibrary<Result>(call: () => Promise<Result>): Promise<{ result: Result } | ProviderFailure> {
  try {
    return { result: await call() }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return { failure: explainError(error) }
  }
}

/** The messages of the library name claims and parameters, but contain no values. */
function explainError(error: LibraryError): string {
  const { code, message, cause } = error
  if (cause instanceof ProviderError) return cause.message
  const details = cause instanceof Error ? (cause.cause as Readonly<Record<string, unknown>> | undefined) : undefined
  switch (code) {
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
      return details?.['claim'] === 'exp'
        ? expired
        : 'sent an ID token that is not yet valid: compare its clock with the clock of the broker'
    case 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED':
      return 'returned another user at its userinfo endpoint'
    default:
      // The redirect is the only response with parameters.
      if (details?.['parameters'] instanceof URLSearchParams) return 'is not the provider with which the login started'
      return `sent an invalid response: ${cause instanceof Error ? cause.message : message}`
  }
}

export const expired = 'sent an ID token that has expired: compare its clock with the clock of the broker'
