// Commands for access rules and bans. Changes apply at once.

import { readAllPages } from '../read-all-pages.ts'
import { type CtlCall, type CtlCommand, reportDone, type Outcome, type Row, showReply } from '../ctl-command.ts'

const subjectOptions = [
  { flags: '--client <id>', description: 'rules for this client ID' },
  { flags: '--user <name>', description: 'rules for this user name' },
]

export const clientRuleCommands: readonly CtlCommand[] = [
  {
    name: 'acl list',
    description: 'list stored rules; without --client and --user: the rules of all kinds',
    options: subjectOptions,
    run: listRules,
  },
  {
    name: 'acl add',
    description:
      'store a rule: allow or deny, pub, sub or pubsub, and a topic filter; without --client and --user: for all clients',
    arguments: ['<access>', '<action>', '<filter>'],
    options: subjectOptions,
    run: addRule,
  },
  {
    name: 'acl del',
    description: 'delete the stored rules of a topic filter; without --client and --user: the rules for all clients',
    arguments: ['<filter>'],
    options: subjectOptions,
    run: removeRule,
  },
  {
    name: 'ban list',
    description: 'list bans',
    run: ({ client }) =>
      showReply(
        readAllPages((query) => client.list_banned({ query })),
        toRows,
      ),
  },
  {
    name: 'ban add',
    description: 'ban a clientid, a username or a peerhost (IP address); connected clients are disconnected',
    arguments: ['<kind>', '<value>'],
    options: [
      { flags: '--seconds <number>', description: 'duration in seconds (default: 300)' },
      { flags: '--for-ever', description: 'the ban does not end until it is deleted' },
      { flags: '--reason <text>', description: 'reason of the ban, for administrators' },
    ],
    run: addBan,
  },
  {
    name: 'ban del',
    description: 'delete a ban',
    arguments: ['<kind>', '<value>'],
    run: ({ client, operands: [as = '', value = ''] }) =>
      reportDone(client.delete_banned({ params: { as, who: value } }), `the ban of ${value} is deleted`),
  },
]

/** Returns the subject of the rule; empty: all clients. */
function toRuleSubject({ client, user }: CtlCall['options']): { clientid?: string; username?: string } {
  return typeof client === 'string' ? { clientid: client } : typeof user === 'string' ? { username: user } : {}
}

const toRows = ({ data }: { readonly data: readonly Row[] }): Outcome => ({ rows: data })

async function listRules({ client, options }: CtlCall): Promise<Outcome> {
  const { clientid, username } = toRuleSubject(options)
  if (clientid !== undefined) return showReply(client.lookup_acl_clientid({ params: { clientid } }), toRows)
  if (username !== undefined) return showReply(client.lookup_acl_username({ params: { username } }), toRows)
  const lists = [
    await readAllPages<Row>((query) => client.list_acl_clientid({ query })),
    await readAllPages<Row>((query) => client.list_acl_username({ query })),
    await readAllPages<Row>((query) => client.list_acl_all({ query })),
  ]
  const rows: Row[] = []
  for (const list of lists) {
    if ('failure' in list) return list
    rows.push(...list.reply.data)
  }
  return { rows, columns: ['clientid', 'username', 'all', 'access', 'action', 'topic'] }
}

/** `publish` and `subscribe` are accepted too, because `ctl explain` uses these names. */
const actions = new Map<string, 'pub' | 'sub' | 'pubsub'>([
  ['pub', 'pub'],
  ['publish', 'pub'],
  ['sub', 'sub'],
  ['subscribe', 'sub'],
  ['pubsub', 'pubsub'],
])

function addRule({
  client,
  operands: [access = '', action = '', topic = ''],
  options,
}: CtlCall): Promise<Outcome> | Outcome {
  if (access !== 'allow' && access !== 'deny') return { usage: `${access}: use allow or deny` }
  const act = actions.get(action)
  if (act === undefined) return { usage: `${action}: use pub, sub or pubsub` }
  return reportDone(
    client.create_acl({ body: { ...toRuleSubject(options), topic, action: act, access } }),
    `${access} ${action} ${topic}`,
  )
}

function removeRule({ client, operands: [topic = ''], options }: CtlCall): Promise<Outcome> {
  const { clientid, username } = toRuleSubject(options)
  const sentence = `the rule for ${topic} is deleted`
  if (clientid !== undefined) return reportDone(client.delete_acl_clientid({ params: { clientid, topic } }), sentence)
  if (username !== undefined) return reportDone(client.delete_acl_username({ params: { username, topic } }), sentence)
  return reportDone(client.delete_acl_all({ params: { topic } }), sentence)
}

const defaultBanSeconds = 300

function addBan({ client, operands: [as = '', value = ''], options }: CtlCall): Promise<Outcome> | Outcome {
  if (as !== 'clientid' && as !== 'username' && as !== 'peerhost') {
    return { usage: `${as}: use clientid, username or peerhost` }
  }
  const { seconds = String(defaultBanSeconds), forEver, reason } = options
  if (typeof seconds !== 'string' || !/^[1-9]\d{0,9}$/.test(seconds)) return { usage: '--seconds: give a number' }
  const until = forEver === true ? null : Math.floor(Date.now() / 1_000) + Number(seconds)
  const body = { as, who: value, until, by: 'ctl', ...(typeof reason === 'string' ? { reason } : {}) } as const
  return reportDone(client.create_banned({ body }), `${value} is banned`)
}
