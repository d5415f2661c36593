// Records packets and events of selected clients in a file, for a limited time.

import { responseWith, noContent, endpoint, Type } from '../../contract/index.ts'

const name = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'Name of the trace: up to 64 letters, digits, `_` and `-`.',
})
const type = Type.Union([Type.Literal('clientid'), Type.Literal('topic'), Type.Literal('ip_address')])
const text = Type.String({ minLength: 1, maxLength: 65_535 })

const trace = Type.Object({
  name: Type.String(),
  type,
  clientid: Type.Optional(Type.String()),
  topic: Type.Optional(Type.String()),
  ip_address: Type.Optional(Type.String()),
  status: Type.Union([Type.Literal('running'), Type.Literal('stopped')]),
  start_at: Type.String({ description: 'Start of the trace: local time of the node, `YYYY-MM-DD HH:mm:ss`.' }),
  end_at: Type.String(),
  log_size: Type.Integer({ minimum: 0, description: 'Size of the file of the trace, in bytes.' }),
})

/** A day. */
const maxSeconds = 86_400

const named = Type.Object({ name })

export const traceEndpoints = {
  list_traces: endpoint({
    method: 'GET',
    path: '/trace',
    summary: 'Lists the running traces, and the ended traces whose files exist.',
    reply: responseWith(Type.Array(trace)),
    access: 'read',
    isForNamespaces: true,
  }),
  create_trace: endpoint({
    method: 'POST',
    path: '/trace',
    summary: 'Starts a trace: writes the packets and events of a client, a topic or an address to a file.',
    body: Type.Object({
      name,
      type,
      clientid: Type.Optional(text),
      topic: Type.Optional(text),
      ip_address: Type.Optional(text),
      duration: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxSeconds,
          description: 'Duration of the trace in seconds. Default: 600.',
        }),
      ),
      end_at: Type.Optional(
        Type.String({
          description: 'End of the trace in RFC 3339, at most a day from now. Use instead of `duration`.',
        }),
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
    summary: 'Stops all traces and deletes their files.',
    reply: noContent,
    access: 'change',
    isForNamespaces: true,
  }),
  delete_trace: endpoint({
    method: 'DELETE',
    path: '/trace/:name',
    summary: 'Stops a trace and deletes its file.',
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
    summary: 'Stops a trace. Its file stays.',
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
    summary: 'Returns the lines that a trace has written: a line of JSON for each packet or event.',
    params: named,
    reply: 'text',
    replyType: 'application/x-ndjson; charset=utf-8',
    failures: ['invalidParameter'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
    isForNamespaces: true,
  }),
}
