// Functions that read the message or event.

import { matchesFilter } from '../../protocol/index.ts'
import { getKey, isMap, isText, type RuleArray, RuleError, type RuleValue, equalsStrictly } from '../../values/index.ts'
import { readPath } from './map-functions.ts'
import type { Call, FunctionDefinition, FunctionDefinitions } from './rule-function.ts'

function createColumnFunction(name: string, description: string): FunctionDefinition {
  return { signatures: [''], returns: 'any', description, run: (_args, { event }) => event.readColumn(name) }
}

function payload([path]: readonly RuleValue[], call: Call): RuleValue {
  return path === undefined ? call.event.readPayload() : readPath(call.event.readDecodedPayload(), path as string, call)
}

function topic([level]: readonly RuleValue[], { event }: Call): RuleValue {
  const name = event.readColumn('topic')
  if (level === undefined || !isText(name)) return name
  const levels = (name as string).split('/')
  if (typeof level === 'number' && level >= 1 && level <= levels.length) return levels[level - 1]
  throw new RuleError(`topic: the topic has ${levels.length} levels`)
}

function readFlag(name: RuleValue, { event }: Call): RuleValue {
  const flags = event.readColumn('flags')
  return isMap(flags) ? getKey(flags, name as string) : undefined
}

/** Subscriptions are maps with `topic` and `qos`. */
function hasTopic(
  [subscriptions, name, qos]: readonly RuleValue[],
  { budget }: Call,
  matches: (filter: string, topic: string) => boolean,
): boolean {
  const first = (subscriptions as RuleArray).find((subscription) => {
    const filter = isMap(subscription) ? getKey(subscription, 'topic') : undefined
    if (typeof filter !== 'string') return false
    budget.countRead(filter.length + (name as string).length)
    return matches(filter, name as string)
  })
  if (!isMap(first)) return false
  return qos === undefined || equalsStrictly(getKey(first, 'qos'), qos, budget)
}

const topicSignatures = ['subscriptions: array, topic: text', 'subscriptions: array, topic: text, qos: integer']

export const messageFunctions: FunctionDefinitions = {
  clientid: createColumnFunction('clientid', 'The column `clientid`.'),
  username: createColumnFunction('username', 'The column `username`.'),
  payload: {
    signatures: ['', 'path: text'],
    returns: 'any',
    description: 'The payload, or the member at a dotted path of its JSON.',
    run: payload,
  },
  topic: {
    signatures: ['', 'level: integer'],
    returns: 'text',
    description: 'The topic, or one of its levels; an error outside of the topic.',
    run: topic,
  },
  qos: createColumnFunction('qos', 'The column `qos`.'),
  flags: {
    signatures: [''],
    returns: 'map',
    description: 'The column `flags`; an empty map without it.',
    run: (_args, { event }) => event.readColumn('flags') ?? {},
  },
  flag: {
    signatures: ['name: text'],
    returns: 'boolean',
    description: 'A member of the column `flags`: `dup` or `retain`.',
    run: ([name], call) => readFlag(name, call),
  },
  msgid: createColumnFunction('id', 'The column `id`.'),
  clientip: createColumnFunction('peerhost', 'The column `peerhost`.'),
  peerhost: createColumnFunction('peerhost', 'The column `peerhost`.'),
  contains_topic: {
    signatures: topicSignatures,
    returns: 'boolean',
    description: 'Whether a subscription in the array has this topic filter, and this QoS if it is given.',
    run: (args, call) => hasTopic(args, call, (filter, name) => filter === name),
  },
  contains_topic_match: {
    signatures: topicSignatures,
    returns: 'boolean',
    description:
      'Whether a subscription in the array matches the topic; if a QoS is given, the first one must have it.',
    run: (args, call) => hasTopic(args, call, matchesFilter),
  },
}
