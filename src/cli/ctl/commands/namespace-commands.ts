// Namespaces: separate sets of clients, topics and access records. Other commands show one with `--namespace NAME`.

import { type CtlCommand, reportDone, showReply } from '../ctl-command.ts'

export const namespaceCommands: readonly CtlCommand[] = [
  {
    name: 'namespaces list',
    description: 'list the namespaces that were created, or that a listener or an account names',
    run: ({ client }) =>
      showReply(client.get_namespaces(), ({ data }) => ({
        rows: data.map(({ limits, ...row }) => ({ ...row, ...limits })),
      })),
  },
  {
    name: 'namespaces show',
    description: 'show the use and the limits of a namespace',
    arguments: ['<name>'],
    run: ({ client, operands: [namespace = ''] }) =>
      showReply(
        client.get_namespace({ params: { namespace } }),
        ({ limits, namespace: name, created_at, clients, retained_messages }) => ({
          thing: { namespace: name, created_at, clients, retained_messages, ...limits },
        }),
      ),
  },
  {
    name: 'namespaces limit',
    description:
      'change the limits of a namespace: a number, "infinity", or "default" for the value of the configuration',
    arguments: ['<name>'],
    options: [
      { flags: '--max-clients <number>', description: 'maximum number of connected clients' },
      { flags: '--max-retained-messages <number>', description: 'maximum number of retained messages' },
      {
        flags: '--messages-rate <number>',
        description: 'maximum messages per second of all clients of the namespace together',
      },
    ],
    run: ({ client, operands: [namespace = ''], options }) => {
      const limits = {
        max_clients: parseLimit(options['maxClients']),
        max_retained_messages: parseLimit(options['maxRetainedMessages']),
        messages_rate: parseLimit(options['messagesRate']),
      }
      const given = Object.entries(limits).filter(([, limit]) => limit !== undefined)
      if (given.some(([, limit]) => Number.isNaN(limit))) {
        return { usage: 'a limit is a whole number from 1 on, "infinity" or "default"' }
      }
      const body = Object.fromEntries(given)
      return reportDone(
        client.change_namespace({ params: { namespace }, body }),
        `the limits of ${namespace} are changed`,
      )
    },
  },
  {
    name: 'namespaces add',
    description: 'create a namespace',
    arguments: ['<name>'],
    run: ({ client, operands: [namespace = ''] }) =>
      reportDone(client.add_namespace({ body: { namespace } }), `${namespace} is created`),
  },
  {
    name: 'namespaces del',
    description: 'delete a namespace with its clients, sessions, retained messages, credentials, rules and bans',
    arguments: ['<name>'],
    run: ({ client, operands: [namespace = ''] }) =>
      reportDone(client.remove_namespace({ params: { namespace } }), `${namespace} is deleted`),
  },
]

/** Null: the value of the configuration. NaN: the text is not a limit. */
function parseLimit(text: string | true | undefined): number | 'infinity' | null | undefined {
  if (text === undefined || text === 'infinity') return text
  if (text === 'default') return null
  return /^[1-9]\d{0,9}$/.test(String(text)) ? Number(text) : Number.NaN
}
