// Records packets and events of selected clients in a file, for a limited time.

import { answer, noContent, endpoint } from '../endpoint.ts'
import { Type } from '../schema.ts'

const name = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'Letters, digits, `_` and `-`.' })
const type = Type.Union([Type.Literal('clientid'), Type.Literal('topic'), Type.Literal('ip_address')])
const text = Type.String({ minLength: 1, maxLength: 65_535 })

const trace = Type.Object({
  name: Type.String(),
  type,
  clientid: Type.Optional(Type.String()),
  topic: Type.Optional(Type.String()),
  ip_address: Type.Optional(Type.String()),
  status: Type.Union([Type.Literal('running'), Type.Literal('stopped')]),
  start_at: Type.String({ description: 'Local time of the node, `YYYY-MM-DD HH:mm:ss`.' }),
  end_at: Type.String(),
  log_size: Type.Integer({ minimum: 0, description: 'Bytes.' }),
})

/** A day. */
const maxSeconds = 86_400

const named = Type.Object({ name })

export const traceEndpoints = {
  list_traces: endpoint({
    method: 'GET',
    path: '/trace',
    summary: 'The traces that run, and those whose files are still there.',
    reply: answer(Type.Array(trace)),
    access: 'read',
    isForNamespaces: true,
  }),
  create_trace: endpoint({
    method: 'POST',
    path: '/trace',
    summary: 'Begins to write what a client, a topic or an address has to do with to a file.',
    body: Type.Object({
      name,
      type,
      clientid: Type.Optional(text),
      topic: Type.Optional(text),
      ip_address: Type.Optional(text),
      duration: Type.Optional(
        Type.Integer({ minimum: 1, maximum: maxSeconds, description: 'Seconds until it ends; unsaid: 600.' }),
      ),
      end_at: Type.Optional(
        Type.String({ description: 'In place of `duration`: when it ends, RFC 3339, within a day from now.' }),
      ),
    }),
    reply: noContent,
    failures: ['missingParameter', 'invalidParameter', 'notJson', 'invalidTopic'],
    access: 'change',
    isForNamespaces: true,
  }),
  delete_traces: endpoint({
    method: 'DELETE',
    path: '/trace',
    summary: 'Ends all traces and deletes their files.',
    reply: noContent,
    access: 'change',
    isForNamespaces: true,
  }),
  delete_trace: endpoint({
    method: 'DELETE',
    path: '/trace/:name',
    summary: 'Ends a trace and deletes its file.',
    params: named,
    reply: noContent,
    failures: ['invalidParameter'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
    isForNamespaces: true,
  }),
  stop_trace: endpoint({
    method: 'PUT',
    path: '/trace/:name/stop',
    summary: 'Ends a trace; its file stays.',
    params: named,
    reply: noContent,
    failures: ['invalidParameter'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
    isForNamespaces: true,
  }),
  download_trace: endpoint({
    method: 'GET',
    path: '/trace/:name/download',
    summary: 'What a trace has written so far: a line of JSON for each packet or event.',
    params: named,
    reply: 'text',
    replyType: 'application/x-ndjson; charset=utf-8',
    failures: ['invalidParameter'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
    isForNamespaces: true,
  }),
}
