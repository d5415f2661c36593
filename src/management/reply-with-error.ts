// Sends a refusal as the response.

import type { ApiError } from './http/api-error.ts'
import { formatRefusal } from './http/format-refusal.ts'
import type { FastifyReply } from './fastify-library.ts'

export function replyWithError(reply: FastifyReply, refusal: ApiError): FastifyReply {
  const { status, headers, body } = formatRefusal(refusal, reply.request.url)
  return reply.code(status).headers(headers).type('application/json; charset=utf-8').send(body)
}
