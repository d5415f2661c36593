// Commands for rules in SQL, their actions and connectors.

import { readFileSync } from 'node:fs'
import { type CtlCall, type CtlCommand, reportDone, type Outcome, showReply } from '../ctl-command.ts'
import { controlService } from '../control-service.ts'

export const settingsOption = {
  flags: '--settings <json>',
  description: 'settings as JSON, or @FILE for a file with this JSON',
}
const contextOption = {
  flags: '--context <json>',
  description: 'columns as JSON, such as {"topic":"a","payload":{"t":1}}; or @FILE',
}

export const ruleCommands: readonly CtlCommand[] = [
  {
    name: 'rules list',
    description: 'list rules',
    run: ({ client }) =>
      showReply(client.get_rules(), ({ data }) => ({
        rows: data.map((rule) => ({
          ...rule,
          from: rule.from.join(', '),
          actions: rule.actions.map(readActionName).join(', '),
        })),
        columns: ['id', 'enable', 'from', 'actions', 'description'],
      })),
  },
  {
    name: 'rules show',
    description: 'show a rule with its counters',
    arguments: ['<id>'],
    run: async ({ client, operands: [id = ''] }) => {
      const rule = await client.get_rule({ params: { id } })
      if ('failure' in rule) return rule
      return showReply(client.get_rule_metrics({ params: { id } }), ({ metrics }) => ({
        thing: { ...rule.reply, ...metrics },
      }))
    },
  },
  {
    name: 'rules create',
    description: 'create a rule; an action is "type:name", or JSON such as {"function":"console"}',
    arguments: ['<id>', '<sql>', '[actions...]'],
    run: (call) => createRule(call),
  },
  {
    name: 'rules delete',
    description: 'delete a rule; messages that wait for its actions are sent',
    arguments: ['<id>'],
    run: ({ client, operands: [id = ''] }) => reportDone(client.remove_rule({ params: { id } }), `${id} is deleted`),
  },
  {
    name: 'rules enable',
    description: 'enable a rule, or disable it with --off',
    arguments: ['<id>'],
    options: [{ flags: '--off', description: 'the rule does not run' }],
    run: (call) => enableRule(call),
  },
  {
    name: 'rules test',
    description: 'run SQL on sample data; no action runs',
    arguments: ['<sql>'],
    options: [contextOption],
    run: ({ client, operands: [sql = ''], options }) =>
      withJson(options['context'], (context) => showReply(client.test_rule({ body: { sql, context } }), toTextOutcome)),
  },
  {
    name: 'rules explain',
    description: 'explain why a rule runs or does not run for a message or event',
    arguments: ['<id>'],
    options: [contextOption],
    run: ({ client, operands: [id = ''], options }) =>
      withJson(options['context'], (context) =>
        showReply(client.explain_rule({ params: { id }, body: { context } }), (explained) => ({
          text: [
            explained.summary,
            ...explained.sources.map(({ text, matches }) => `FROM ${text}: ${matches ? 'matches' : 'does not match'}`),
            ...explained.condition.map(({ text, value, depth }) => `${'  '.repeat(depth)}${text} = ${value}`),
          ].join('\n'),
          document: explained,
        })),
      ),
  },
  {
    name: 'rules convert',
    description: 'convert an SQL statement of EMQX 3',
    arguments: ['<sql>'],
    run: ({ client, operands: [rawsql = ''] }) =>
      showReply(client.convert_rule({ body: { rawsql } }), ({ rawsql: sql, warnings }) => ({
        text: [sql, ...warnings.map((warning) => `-- ${warning}`)].join('\n'),
        document: { sql, warnings },
      })),
  },
  ...createResourceCommands('connectors'),
  ...createResourceCommands('actions'),
  ...createActionCommands(),
  ...createQueueCommands(),
]

function readActionName(action: unknown): string {
  return typeof action === 'string' ? action : String((action as { readonly function?: unknown }).function)
}

function toTextOutcome(reply: unknown): Outcome {
  return { text: JSON.stringify(reply, null, 2), document: reply }
}

function createRule({ client, operands: [id = '', sql = '', ...actionArgs] }: CtlCall): Promise<Outcome> | Outcome {
  const actions: unknown[] = []
  for (const action of actionArgs.flat()) {
    const read = action.startsWith('{') ? readJson(action) : { value: action }
    if ('usage' in read) return read
    actions.push(read.value)
  }
  const body = { id, sql, actions: actions as (string | { function: 'republish' | 'console' | 'do_nothing' })[] }
  return showReply(client.add_rule({ body }), ({ warnings }) => ({
    done: [`${id} is created`, ...warnings.map((warning) => `warning: ${warning}`)].join('\n'),
  }))
}

async function enableRule({ client, operands: [id = ''], options }: CtlCall): Promise<Outcome> {
  const found = await client.get_rule({ params: { id } })
  if ('failure' in found) return found
  const { sql, actions, description } = found.reply
  const enable = options['off'] === undefined
  const result = client.change_rule({ params: { id }, body: { sql, actions, description, enable } })
  return reportDone(result, `${id} ${enable ? 'runs' : 'does not run'}`)
}

function createResourceCommands(kind: 'connectors' | 'actions'): CtlCommand[] {
  const one = kind === 'connectors' ? 'connector' : 'action'
  return [
    {
      name: `${kind} list`,
      description: `list ${kind} with their status`,
      run: ({ client }) =>
        showReply(kind === 'connectors' ? client.get_connectors() : client.get_actions(), (all) => ({
          rows: all.map((each) => ({ ...each, id: `${each.type}:${each.name}` })),
          columns: ['id', 'enable', 'status', 'status_reason'],
        })),
    },
    {
      name: `${kind} show`,
      description: `show the settings of the ${one}; secrets are masked`,
      arguments: ['<id>'],
      run: ({ client, operands: [id = ''] }) => {
        const call = { params: { id } }
        const result = kind === 'connectors' ? client.get_connector(call) : client.get_action(call)
        return showReply(result, (thing) => ({ thing }))
      },
    },
    {
      name: `${kind} create`,
      description: `create the ${one} with this ID (type:name)`,
      arguments: ['<id>'],
      options: [settingsOption],
      run: ({ client, operands: [id = ''], options }) =>
        withJson(options['settings'], (settings) => {
          const [type = '', name = ''] = id.split(':')
          const call = { body: { ...settings, type, name } }
          const result = kind === 'connectors' ? client.add_connector(call) : client.add_action(call)
          return reportDone(result, `${id} is created`)
        }),
    },
    {
      name: `${kind} probe`,
      description: `check whether the service of the ${one} can be reached; nothing is stored`,
      arguments: ['<type>'],
      options: [settingsOption],
      run: ({ client, operands: [type = ''], options }) =>
        withJson(options['settings'], (settings) => {
          const call = { body: { ...settings, type } }
          const result = kind === 'connectors' ? client.probe_connector(call) : client.probe_action(call)
          return reportDone(result, 'the service is available')
        }),
    },
    {
      name: `${kind} delete`,
      description: `delete the ${one} if nothing uses it`,
      arguments: ['<id>'],
      ...(kind === 'actions' && {
        options: [{ flags: '--force', description: 'also discard the messages that wait for the action' }],
      }),
      run: ({ client, operands: [id = ''], options }) => {
        const params = { id }
        const force = options['force'] === true
        const result =
          kind === 'connectors'
            ? client.remove_connector({ params })
            : client.remove_action({ params, query: { force } })
        return reportDone(result, `${id} is deleted`)
      },
    },
  ]
}

function createActionCommands(): CtlCommand[] {
  return [
    ...(['start', 'stop', 'restart'] as const).map((operation) => ({
      name: `connectors ${operation}`,
      description: `${operation} the actions and sources of a connector until the next change or start of the broker`,
      arguments: ['<id>'],
      run: ({ client, operands: [id = ''] }: CtlCall) =>
        controlService(client.control_connector({ params: { id, operation } }), { id, operation }, () =>
          client.get_connector({ params: { id } }),
        ),
    })),
    ...(['start', 'stop', 'restart'] as const).map((operation) => ({
      name: `actions ${operation}`,
      description: `${operation} an action until the next change or start of the broker`,
      arguments: ['<id>'],
      run: ({ client, operands: [id = ''] }: CtlCall) =>
        controlService(client.control_action({ params: { id, operation } }), { id, operation }, () =>
          client.get_action({ params: { id } }),
        ),
    })),
    {
      name: 'actions metrics',
      description: 'show the counters of an action',
      arguments: ['<id>'],
      run: ({ client, operands: [id = ''] }) =>
        showReply(client.get_action_metrics({ params: { id } }), ({ metrics }) => ({ thing: metrics })),
    },
  ]
}

/** Commands for what waits for a service, and for what it refused. */
function createQueueCommands(): CtlCommand[] {
  const letter = { flags: '--letter <id>', description: 'only the dead letter with this ID' }
  return [
    {
      name: 'actions queue',
      description: 'list the results that wait for the service of an action: the oldest 1,000 of each shard',
      arguments: ['<id>'],
      run: ({ client, operands: [id = ''] }) =>
        showReply(client.get_queued_results({ params: { id } }), ({ data }) => ({
          rows: data,
          columns: ['id', 'rule', 'refusals', 'reason', 'payload'],
        })),
    },
    {
      name: 'actions discard-queue',
      description: 'move the results that wait for the service of an action to its dead letters',
      arguments: ['<id>'],
      options: [{ flags: '--entry <id>', description: 'only the result with this ID' }],
      run: ({ client, operands: [id = ''], options: { entry } }) =>
        showReply(
          client.discard_queued_results({ params: { id }, query: typeof entry === 'string' ? { entry } : {} }),
          ({ count }) => ({ done: `${count} are moved to the dead letters` }),
        ),
    },
    {
      name: 'actions dead-letters',
      description: 'list the dead letters of an action: messages that the service refused',
      arguments: ['<id>'],
      run: ({ client, operands: [id = ''] }) =>
        showReply(client.get_dead_letters({ params: { id } }), ({ data }) => ({
          rows: data,
          columns: ['id', 'at', 'rule', 'reason', 'payload'],
        })),
    },
    {
      name: 'actions retry-dead-letters',
      description: 'send dead letters of an action to the service again',
      arguments: ['<id>'],
      options: [letter],
      run: (call) =>
        showReply(
          call.client.retry_dead_letters({ params: { id: call.operands[0] }, query: toLetterQuery(call) }),
          (progress) => ({ done: retryText(progress, call.operands[0]) }),
        ),
    },
    {
      name: 'actions retry-progress',
      description: 'show the progress of sending the dead letters of an action again',
      arguments: ['<id>'],
      run: ({ client, operands: [id = ''] }) =>
        showReply(client.get_dead_letters_retry({ params: { id } }), (progress) => ({ done: retryText(progress, id) })),
    },
    {
      name: 'actions delete-dead-letters',
      description: 'delete dead letters of an action',
      arguments: ['<id>'],
      options: [letter],
      run: (call) =>
        showReply(
          call.client.remove_dead_letters({ params: { id: call.operands[0] }, query: toLetterQuery(call) }),
          ({ count }) => ({ done: `${count} are deleted` }),
        ),
    },
  ]
}

interface RetryProgress {
  readonly state: 'running' | 'done'
  readonly count: number
  readonly stayed: number
  readonly pending: number
  readonly reason: string
}

function retryText({ state, count, stayed, pending, reason }: RetryProgress, action: string | undefined): string {
  const sent = `${count} are sent again`
  const kept = stayed === 0 ? '' : `, ${stayed} stay: ${reason}`
  if (state === 'done') return sent + kept
  return `${sent}${kept}; ${pending} follow: see godwit ctl actions retry-progress ${action ?? ''}`
}

function toLetterQuery({ options }: CtlCall): { letter?: string } {
  return typeof options['letter'] === 'string' ? { letter: options['letter'] } : {}
}

function readJson(text: string): { readonly value: unknown } | { readonly usage: string } {
  try {
    const json = text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text
    return { value: JSON.parse(json) }
  } catch (error) {
    return { usage: `${text.slice(0, 100)} is not JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
}

export function withJson(
  text: string | true | undefined,
  run: (value: Record<string, unknown>) => Promise<Outcome>,
): Promise<Outcome> | Outcome {
  const read = typeof text === 'string' ? readJson(text) : { value: {} }
  if ('usage' in read) return read
  const { value } = read
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { usage: 'write a JSON object' }
  return run(value as Record<string, unknown>)
}
