// What may go wrong with an operation: what it says itself, and what follows from what it takes.

import type { Endpoint } from '../endpoint.ts'
import { type ResultCodeName, resultCodes } from '../result-codes.ts'

/** Names of result codes, by their numbers. */
export function possibleFailures({ access, params, query, body, failures = [] }: Endpoint): ResultCodeName[] {
  const names = new Set<ResultCodeName>(failures)
  if (access !== 'open') for (const name of ofSignIn) names.add(name)
  if (params !== undefined || query !== undefined || body !== undefined) names.add('invalidParameter')
  if (body !== undefined && body !== 'text') names.add('missingParameter').add('notJson')
  names.add('unknownError')
  return [...names].toSorted((one, other) => resultCodes[one].code - resultCodes[other].code)
}

const ofSignIn = ['wrongCredentials', 'emptyCredentials', 'tokenExpired'] as const
