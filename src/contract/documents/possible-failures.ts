// Possible failures of an operation: its own, and those of its parameters.

import type { Endpoint } from '../definition/endpoint.ts'
import { type ReasonName, reasons } from '../definition/reasons.ts'
import { type ResultCode, type ResultCodeName, resultCodes } from '../definition/result-codes.ts'

/** By number. The same number may have several statuses. */
export function listPossibleFailures(endpoint: Endpoint): ResultCode[] {
  const { version, path, access, body, failures = [], otherStatuses = [] } = endpoint
  if (version !== undefined) return []
  // Headers may be invalid as well.
  const names = new Set<ResultCodeName>([...failures, 'invalidParameter', 'unknownError'])
  if (access !== 'open') for (const name of loginFailures) names.add(name)
  if (typeof body === 'object') names.add('missingParameter').add('notJson')
  const others = new Map<string, ResultCode>()
  const addFailure = (name: ResultCodeName, status: number): void => {
    others.set(`${name} ${status}`, { code: resultCodes[name].code, status, sentence: wordsOf[status] ?? '' })
  }
  addFailure('invalidParameter', 403)
  if (access !== 'open') addFailure('rpcError', 503)
  if (access !== 'open' && access !== 'signed-in') addFailure('wrongCredentials', 403)
  if (path.includes('/:node')) addFailure('invalidParameter', 404)
  for (const [name, status] of otherStatuses) addFailure(name, status)
  const all: ResultCode[] = [...[...names].map((name) => resultCodes[name]), ...others.values()]
  return all.toSorted((one, other) => one.code - other.code)
}

/** Meaning of a number with a status that is not its default. */
const wordsOf: Readonly<Record<number, string>> = {
  400: 'the value in the body is empty',
  403: 'the caller or the web page has no right to do this',
  404: 'there is no object with this name',
  503: 'the broker cannot respond now: retry later',
}

/** Reasons of an operation of version 5, by status. */
export function listPossibleReasons({ version, access, reasons: own = [] }: Endpoint): ReasonName[] {
  if (version === undefined) return []
  const names = new Set<ReasonName>([...own, 'BAD_REQUEST', 'FORBIDDEN', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'])
  if (access !== 'open') for (const name of loginReasons) names.add(name)
  if (access !== 'open' && access !== 'signed-in') names.add('UNAUTHORIZED_ROLE')
  if (access === 'accounts' || access === 'own-account' || access === 'install') names.add('API_KEY_NOT_ALLOW')
  return [...names].toSorted((one, other) => reasons[one].status - reasons[other].status)
}

const loginReasons = ['AUTHORIZATION_HEADER_ERROR', 'BAD_API_KEY_OR_SECRET', 'BAD_TOKEN', 'TOKEN_TIME_OUT'] as const

const loginFailures = ['wrongCredentials', 'emptyCredentials', 'tokenExpired'] as const
