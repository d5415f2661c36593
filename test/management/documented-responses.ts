// Checks of responses against the schemas of their endpoints.

import assert from 'node:assert/strict'
import { type EndpointName, endpoints } from '../../src/api/endpoints.ts'
import { failure, resultCodes, type ResultCodeName, compileShape } from '../../src/contract/index.ts'
import type { ApiResponse } from './api.ts'

const shapeOfFailure = compileShape(failure)

/** Returns the body of a successful response, checked against the schema of its endpoint. */
// oxlint-disable-next-line typescript/no-explicit-any
export function promised(name: EndpointName, response: ApiResponse): any {
  assert.equal(response.status, 200, response.text)
  const { reply } = endpoints[name]
  if (typeof reply !== 'string') assert.equal(compileShape(reply).findFault(response.json), undefined, response.text)
  return response.json
}

/** Checks that the response is this error, with a message. */
export function refused(response: ApiResponse, code: ResultCodeName, status: number = resultCodes[code].status): void {
  assert.deepEqual([response.status, response.json?.code], [status, resultCodes[code].code], response.text)
  assert.equal(shapeOfFailure.findFault(response.json), undefined)
  assert.notEqual(response.json.message, '')
}
