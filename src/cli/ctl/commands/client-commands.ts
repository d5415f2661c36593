// Commands for clients and their subscriptions.

import { type CtlCall, type CtlCommand, reportDone, type Outcome, showReply } from '../ctl-command.ts'
import { parseQuery } from '../parse-query.ts'
import { escapeControls } from '../print-outcome.ts'

const columns = ['clientid', 'username', 'conn_state', 'ip_address', 'proto_ver', 'subscriptions_cnt', 'mqueue_len']

export const clientCommands: readonly CtlCommand[] = [
  {
    name: 'clients list',
    description: 'list connected clients and sessions; filters as KEY=VALUE: username=a conn_state=connected',
    arguments: ['[filters...]'],
    run: listClients,
  },
  {
    name: 'clients top',
    description: 'measure the traffic of connected clients, and list those with most: who floods the broker',
    options: [
      { flags: '--by <rate>', description: 'recv_msg, send_msg, recv_oct or send_oct (default: recv_msg)' },
      { flags: '--seconds <number>', description: 'time of the measurement, 1 to 10 (default: 2)' },
      { flags: '--limit <rows>', description: 'maximum number of clients (default: 20)' },
    ],
    run: listBusyClients,
  },
  {
    name: 'clients show',
    description: 'show all properties of a client and its session',
    arguments: ['<client>'],
    run: ({ client, operands: [clientid = ''] }) =>
      showReply(client.lookup_client({ params: { clientid } }), ({ data: [found] }): Outcome => {
        return found === undefined
          ? { problem: `client not found: ${clientid}; "godwit ctl clients list" lists all` }
          : { thing: found }
      }),
  },
  {
    name: 'clients kick',
    description: 'disconnect a client; a persistent session stays',
    arguments: ['<client>'],
    options: [
      { flags: '--session', description: 'also end its session, which frees the client ID for another identity' },
    ],
    run: ({ client, operands: [clientid = ''], options }) => {
      const session = options.session === true
      const text = session ? `the session of ${clientid} is ended` : `${clientid} is disconnected`
      return reportDone(client.kickout_client({ params: { clientid }, query: session ? { session } : {} }), text)
    },
  },
  {
    name: 'subscriptions list',
    description: 'list subscriptions of clients; filters as KEY=VALUE: clientid=a topic=b qos=1 share=group',
    arguments: ['[filters...]'],
    run: listSubscriptions,
  },
  { name: 'topics tree', description: 'show subscriptions as a tree of topic levels', run: showTree },
  {
    name: 'topics list',
    description: 'list the topic filters with subscriptions',
    run: ({ client }) => showReply(client.list_routes(), ({ data }) => ({ rows: data, columns: ['topic', 'node'] })),
  },
]

function listClients({ client, operands }: CtlCall): Promise<Outcome> | Outcome {
  const filters = parseQuery('list_clients', operands)
  if ('usage' in filters) return filters
  return showReply(client.list_clients(filters), ({ data }) => ({ rows: data, columns }))
}

const rates = ['recv_msg', 'send_msg', 'recv_oct', 'send_oct'] as const

function listBusyClients({
  client,
  options: { by = 'recv_msg', seconds, limit },
}: CtlCall): Promise<Outcome> | Outcome {
  const rate = rates.find((name) => name === by)
  if (rate === undefined) return { usage: `--by ${String(by)}: use one of ${rates.join(', ')}` }
  if (seconds !== undefined && !/^([1-9]|10)$/.test(String(seconds)))
    return { usage: '--seconds: give a number from 1 to 10' }
  if (limit !== undefined && !/^([1-9]\d{0,2}|1000)$/.test(String(limit)))
    return { usage: '--limit: give a number from 1 to 1000' }
  const query = {
    order_by: `${rate}_rate`,
    ...(seconds === undefined ? {} : { seconds: Number(seconds) }),
    ...(limit === undefined ? {} : { _limit: Number(limit) }),
  } as const
  return showReply(client.list_busy_clients({ query }), ({ data }) => ({
    rows: data,
    columns: ['clientid', 'recv_msg_rate', 'send_msg_rate', 'recv_oct_rate', 'send_oct_rate'],
  }))
}

function listSubscriptions({ client, operands }: CtlCall): Promise<Outcome> | Outcome {
  const filters = parseQuery('list_subscriptions', operands)
  if ('usage' in filters) return filters
  const shows = ['clientid', 'topic', 'qos']
  return showReply(client.list_subscriptions(filters), ({ data }) => ({ rows: data, columns: shows }))
}

interface TreeNode {
  readonly topic: string
  readonly cld_cnt: number
  readonly clientid?: readonly string[]
}

function showTree({ client }: CtlCall): Promise<Outcome> {
  return showReply(client['list_topic-tree'](), ({ data }) => ({ text: drawTree(data), document: data }))
}

/** Each level has the children of the level before in its order: so many of the first node, so many of the second. */
function drawTree(levels: readonly (readonly TreeNode[])[]): string {
  const taken = levels.map(() => 0)
  const lines: string[] = []
  const draw = (node: TreeNode, depth: number): void => {
    const whose = node.clientid === undefined ? '' : `  (${node.clientid.join(', ')})`
    if (depth > 0) lines.push(`${'  '.repeat(depth - 1)}${escapeControls(node.topic)}${escapeControls(whose)}`)
    const below = levels[depth + 1] ?? []
    const from = taken[depth + 1] ?? 0
    taken[depth + 1] = from + node.cld_cnt
    for (const child of below.slice(from, from + node.cld_cnt)) draw(child, depth + 1)
  }
  for (const root of levels[0] ?? []) draw(root, 0)
  return lines.join('\n')
}
