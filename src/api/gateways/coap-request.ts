// A request to a CoAP client in the form of the API.

import type { gatewayClientEndpoints } from './client-endpoints.ts'
import type { RequestOf } from '../../contract/index.ts'
import type { GatewayRequest } from '../../gateways/index.ts'
import { type ApiError, refuseFor, quoteShortened } from '../../management/index.ts'

type Body = RequestOf<typeof gatewayClientEndpoints.send_coap_request>['body']

const octets = 'application/octet-stream'
/** Content formats of CoAP. */
const formats: Readonly<Record<string, number>> = { 'text/plain': 0, 'application/json': 50, [octets]: 42 }
const msOfUnits: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 }
const defaultTimeoutMs = 10_000
const maxTimeoutMs = 300_000
const maxTokenBytes = 8
const maxPayloadBytes = 1_048_576

export function readCoapRequest({
  token = '',
  method,
  timeout,
  content_type: contentType = 'text/plain',
  payload = '',
}: Body): (GatewayRequest & { kind: 'coap-request' }) | ApiError {
  const tokenBytes = Buffer.byteLength(token)
  if (tokenBytes === 0 || tokenBytes > maxTokenBytes)
    return refuseFor('BAD_REQUEST', `token has ${tokenBytes} octets: it needs 1 to ${maxTokenBytes}`)
  const timeoutMs = timeout === undefined ? defaultTimeoutMs : parseDuration(timeout)
  if (timeoutMs === undefined || timeoutMs > maxTimeoutMs)
    return refuseFor('BAD_REQUEST', `timeout ${quoteShortened(timeout ?? '')} is not a time up to 300s, such as 10s`)
  const bytes = Buffer.from(payload, contentType === octets ? 'base64' : 'utf8')
  if (bytes.length > maxPayloadBytes)
    return refuseFor('BAD_REQUEST', `payload has ${bytes.length} octets: at most ${maxPayloadBytes} are sent`)
  const format = bytes.length === 0 ? undefined : formats[contentType]
  return { kind: 'coap-request', method, token, format, payload: bytes, timeoutMs }
}

function parseDuration(text: string): number | undefined {
  const [, number, unit = 's'] = /^(\d{1,6})(ms|s|m)?$/.exec(text) ?? []
  const ms = Number(number) * (msOfUnits[unit] ?? 0)
  return ms > 0 ? ms : undefined
}

export function encodePayload(payload: Uint8Array, contentType: string | undefined): string {
  return Buffer.from(payload).toString(contentType === octets ? 'base64' : 'utf8')
}
