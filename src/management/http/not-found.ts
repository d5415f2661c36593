// The response for an unknown path.

import { findNearestKey } from '../../config/index.ts'
import { type Endpoint, listUrls } from '../../contract/index.ts'
import { type ApiError, refuse } from './api-error.ts'

const methodsOfTheApi = ['GET', 'POST', 'PUT', 'DELETE']

/** For the header `allow`. */
export const allowedMethods = methodsOfTheApi.join(', ')

/** Maximum characters of a path in a message. */
const maxPathInMessage = 200

export function refuseMethod(method: string): ApiError {
  return refuse('unknownError', `method not supported: ${method}; use ${allowedMethods}`, 405)
}

type Endpoints = Readonly<Record<string, Endpoint>>

/** `endpoints`: the served ones, from which a similar path is suggested. */
export function refuseUnknownPath(endpoints: Endpoints, method: string, url: string): ApiError {
  const path = url.split('?')[0] ?? ''
  if (!methodsOfTheApi.includes(method)) return refuseMethod(method)
  const problem = `there is no ${method} ${path.slice(0, maxPathInMessage)}`
  const successor = findReplacementPath(path)
  if (successor !== undefined) return refuse('unknownError', `${problem} any more; use ${successor}`, 404)
  const suggestion = suggestPath(endpoints, method, path.replace(/(?<=.)\/$/, ''))
  return refuse('unknownError', suggestion === undefined ? problem : `${problem}; ${suggestion}`, 404)
}

/** For paths of older brokers with the same interface. */
function findReplacementPath(path: string): string | undefined {
  if (/^(\/api\/v[34])?(\/nodes\/[^/]+)?\/(connections|sessions)(\/|$)/.test(path)) return '/api/v4/clients'
  return /^\/api\/v3(\/|$)/.test(path) ? path.replace('v3', 'v4').slice(0, maxPathInMessage) : undefined
}

interface Served {
  readonly path: string
  readonly segments: readonly string[]
  readonly methods: readonly string[]
}

const servedPaths = new WeakMap<Endpoints, readonly Served[]>()

/** Each path once, with its methods. Created at first use. */
function listServedPaths(endpoints: Endpoints): readonly Served[] {
  const known = servedPaths.get(endpoints)
  if (known !== undefined) return known
  const methods = new Map<string, string[]>()
  for (const endpoint of Object.values(endpoints)) {
    for (const url of listUrls(endpoint)) {
      const path = url.replace(/(?<=.)\/$/, '')
      methods.set(path, [...(methods.get(path) ?? []), endpoint.method])
    }
  }
  const served = [...methods].map(([path, known]) => ({ path, segments: path.split('/'), methods: known }))
  servedPaths.set(endpoints, served)
  return served
}

/** Returns the methods of this path, or the path that was probably meant: one with this method, or else another one with its methods. */
function suggestPath(endpoints: Endpoints, method: string, path: string): string | undefined {
  const segments = path.split('/')
  const same = listServedPaths(endpoints).filter((served) => matches(served.segments, segments))
  if (same.length > 0) return `use ${[...new Set(same.flatMap(({ methods }) => methods))].join(' or ')}`
  // Parameters cannot be compared, so only paths of the same length that differ in one word are candidates.
  const candidates = listServedPaths(endpoints).filter((served) => served.segments.length === segments.length)
  const near = new Map<string, readonly string[]>()
  for (const { segments: known, methods } of candidates) {
    const wrong = known.findIndex((word, index) => !word.startsWith(':') && word !== segments[index])
    const others = known.filter((_, index) => index !== wrong)
    const rest = segments.filter((_, index) => index !== wrong)
    if (wrong < 0 || !matches(others, rest)) continue
    const found = segments.with(wrong, known[wrong] ?? '').join('/')
    near.set(found, [...(near.get(found) ?? []), ...methods])
  }
  const withMethod = [...near].filter(([, methods]) => methods.includes(method)).map(([found]) => found)
  const nearest = findNearestKey(path, withMethod)
  if (nearest !== undefined) return `did you mean ${nearest.slice(0, maxPathInMessage)}?`
  const other = findNearestKey(path, near.keys())
  if (other === undefined) return undefined
  return `did you mean ${[...new Set(near.get(other))].join(' or ')} ${other.slice(0, maxPathInMessage)}?`
}

function matches(known: readonly string[], segments: readonly string[]): boolean {
  return (
    known.length === segments.length && known.every((word, index) => word.startsWith(':') || word === segments[index])
  )
}
