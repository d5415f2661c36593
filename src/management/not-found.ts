// What is said about a path that nothing is served at.

import { type Refusal, refuse } from './api-error.ts'

const methodsOfTheApi = ['GET', 'POST', 'PUT', 'DELETE']

/** For the header `allow`. */
export const allowedMethods = methodsOfTheApi.join(', ')

/** Most of a path that is said again. */
const maxSaidPath = 200

export function refuseMethod(method: string): Refusal {
  return refuse('unknownError', `the API knows no ${method}; it knows ${allowedMethods}`, 405)
}

export function refuseAbsent(method: string, url: string): Refusal {
  const path = url.split('?')[0] ?? ''
  if (!methodsOfTheApi.includes(method)) return refuseMethod(method)
  const successor = successorOf(path)
  const said = `there is no ${method} ${path.slice(0, maxSaidPath)}`
  return refuse('unknownError', successor === undefined ? said : `${said} any more; use ${successor}`, 404)
}

/** Of paths that older brokers of the same interface had. */
function successorOf(path: string): string | undefined {
  if (/^(\/api\/v[34])?(\/nodes\/[^/]+)?\/(connections|sessions)(\/|$)/.test(path)) return '/api/v4/clients'
  return /^\/api\/v3(\/|$)/.test(path) ? path.replace('v3', 'v4').slice(0, maxSaidPath) : undefined
}
