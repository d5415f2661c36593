// Commands for traces: files with the events of a client, a topic or an address.

import { type CtlCall, type CtlCommand, reportDone, type Outcome, showReply } from '../ctl-command.ts'

export const traceCommands: readonly CtlCommand[] = [
  {
    name: 'trace list',
    description: 'list running traces, and ended traces whose files exist',
    run: ({ client }) => showReply(client.list_traces(), ({ data }) => ({ rows: data })),
  },
  {
    name: 'trace start',
    description: 'start a trace: write the events of a clientid, a topic or an ip_address to a file',
    arguments: ['<name>', '<type>', '<value>'],
    options: [{ flags: '--seconds <number>', description: 'duration of the trace in seconds (default: 600)' }],
    run: startTrace,
  },
  {
    name: 'trace stop',
    description: 'stop a trace; its file stays',
    arguments: ['<name>'],
    run: ({ client, operands: [name = ''] }) =>
      reportDone(client.stop_trace({ params: { name } }), `${name} is stopped`),
  },
  {
    name: 'trace show',
    description: 'show the lines that a trace has written',
    arguments: ['<name>'],
    run: ({ client, operands: [name = ''] }) =>
      showReply(client.download_trace({ params: { name } }), (text) => ({ text: text === '' ? 'nothing yet' : text })),
  },
  {
    name: 'trace del',
    description: 'stop a trace and delete its file',
    arguments: ['<name>'],
    run: ({ client, operands: [name = ''] }) =>
      reportDone(client.delete_trace({ params: { name } }), `${name} is deleted`),
  },
]

function startTrace({
  client,
  operands: [name = '', type = '', value = ''],
  options,
}: CtlCall): Promise<Outcome> | Outcome {
  if (type !== 'clientid' && type !== 'topic' && type !== 'ip_address') {
    return { usage: `${type}: use clientid, topic or ip_address` }
  }
  const { seconds = '600' } = options
  if (typeof seconds !== 'string' || !/^[1-9]\d{0,9}$/.test(seconds))
    return { usage: '--seconds: give a number from 1 to 9999999999' }
  const about = { clientid: undefined, topic: undefined, ip_address: undefined, [type]: value }
  const body = { name, type, duration: Number(seconds), ...about } as const
  return reportDone(client.create_trace({ body }), `${name} is started`)
}
