// Commands for delayed messages: publications to `$delayed/<seconds>/<topic>` whose time has not come.

import { type CtlCommand, reportDone, showReply } from '../ctl-command.ts'

export const delayedCommands: readonly CtlCommand[] = [
  {
    name: 'delayed list',
    description: 'list delayed messages that are not published yet',
    options: [
      { flags: '--page <number>', description: 'number of the page, from 1' },
      { flags: '--limit <number>', description: 'maximum rows in a page' },
    ],
    run: ({ client, options: { page, limit } }) =>
      showReply(
        client.list_delayed_messages({
          query: {
            ...(page !== undefined && { page: Number(page) }),
            ...(limit !== undefined && { limit: Number(limit) }),
          },
        }),
        ({ data }) => ({
          rows: data,
          columns: ['msgid', 'topic', 'qos', 'expected_at', 'from_clientid', 'payload_bytes'],
        }),
      ),
  },
  {
    name: 'delayed show',
    description: 'show a delayed message with its payload',
    arguments: ['<node>', '<msgid>'],
    run: ({ client, operands: [node = '', msgid = ''] }) =>
      showReply(client.get_delayed_message({ params: { node, msgid } }), (thing) => ({ thing })),
  },
  {
    name: 'delayed delete',
    description: 'delete a delayed message; it is not published',
    arguments: ['<node>', '<msgid>'],
    run: ({ client, operands: [node = '', msgid = ''] }) =>
      reportDone(client.delete_delayed_message({ params: { node, msgid } }), `${msgid} is deleted`),
  },
]
