// Answers that are what their endpoints promise.

import assert from 'node:assert/strict'
import {
  type EndpointName,
  endpoints,
  failure,
  resultCodes,
  type ResultCodeName,
  shapeOf,
} from '../../src/contract/index.ts'
import type { ApiResponse } from './api.ts'

const shapeOfFailure = shapeOf(failure)

/** The body of an answer that went well, looked at by the schema of its endpoint. */
// oxlint-disable-next-line typescript/no-explicit-any
export function promised(name: EndpointName, answer: ApiResponse): any {
  assert.equal(answer.status, 200, answer.text)
  const { reply } = endpoints[name]
  if (typeof reply !== 'string') assert.equal(shapeOf(reply).faultOf(answer.json), undefined, answer.text)
  return answer.json
}

/** The answer is this refusal, with a sentence. */
export function refused(answer: ApiResponse, code: ResultCodeName, status: number = resultCodes[code].status): void {
  assert.deepEqual([answer.status, answer.json?.code], [status, resultCodes[code].code], answer.text)
  assert.equal(shapeOfFailure.faultOf(answer.json), undefined)
  assert.notEqual(answer.json.message, '')
}
