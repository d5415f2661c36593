// What may go wrong with an operation: what it says itself, and what follows from what it takes.

import type { Endpoint } from '../endpoint.ts'
import { type ReasonName, reasons } from '../reasons.ts'
import { type ResultCodeName, resultCodes } from '../result-codes.ts'

/** Names of result codes, by their numbers. */
export function possibleFailures(endpoint: Endpoint): ResultCodeName[] {
  const { version, access, params, query, body, failures = [] } = endpoint
  if (version !== undefined) return []
  const names = new Set<ResultCodeName>(failures)
  if (access !== 'open') for (const name of ofSignIn) names.add(name)
  if (params !== undefined || query !== undefined || body !== undefined) names.add('invalidParameter')
  if (typeof body === 'object') names.add('missingParameter').add('notJson')
  names.add('unknownError')
  return [...names].toSorted((one, other) => resultCodes[one].code - resultCodes[other].code)
}

/** Reasons of an operation of the fifth version, by the status that goes with them. */
export function possibleReasons({ version, access, params, query, body, reasons: own = [] }: Endpoint): ReasonName[] {
  if (version === undefined) return []
  const names = new Set<ReasonName>(own)
  if (access !== 'open') for (const name of reasonsOfSignIn) names.add(name)
  if (access !== 'open' && access !== 'signed-in') names.add('UNAUTHORIZED_ROLE')
  if (access === 'accounts' || access === 'own-account') names.add('API_KEY_NOT_ALLOW')
  if (params !== undefined || query !== undefined || body !== undefined) names.add('BAD_REQUEST')
  names.add('INTERNAL_ERROR').add('SERVICE_UNAVAILABLE')
  return [...names].toSorted((one, other) => reasons[one].status - reasons[other].status)
}

const reasonsOfSignIn = ['AUTHORIZATION_HEADER_ERROR', 'BAD_API_KEY_OR_SECRET', 'BAD_TOKEN', 'TOKEN_TIME_OUT'] as const

const ofSignIn = ['wrongCredentials', 'emptyCredentials', 'tokenExpired'] as const
