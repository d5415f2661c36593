// Requests to read and change the configuration, with checks of the responses.

import assert from 'node:assert/strict'
import { type EndpointName, endpoints } from '../../src/api/endpoints.ts'
import { compileShape, type TSchema } from '../../src/contract/index.ts'
import type { ApiResponse, BrokerWithApi } from './api.ts'

/** Returns the data of a response after a check against the contract. */
// oxlint-disable-next-line typescript/no-explicit-any
export function dataOf(name: EndpointName, { status, json, text }: ApiResponse): any {
  assert.equal(status, 200, text)
  assert.equal(compileShape(endpoints[name].reply as TSchema).findFault(json), undefined, text)
  return json.data
}

export function refused(
  { status, json }: ApiResponse,
  expected: readonly [status: number, code: number],
  message: RegExp,
): void {
  assert.deepEqual([status, json.code], expected, json.message)
  assert.match(json.message, message)
}

export const keysOf = (list: readonly { key: string }[]): string[] => list.map(({ key }) => key).toSorted()

export const post = (broker: BrokerWithApi, path: string, body: unknown): Promise<ApiResponse> =>
  broker.request(`/api/v4${path}`, { method: 'POST', body })

export const get = (broker: BrokerWithApi, path: string): Promise<ApiResponse> => broker.request(`/api/v4${path}`)
