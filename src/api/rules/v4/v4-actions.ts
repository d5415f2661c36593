// Actions of rules in the form of EMQX 4: a list of objects with a name and parameters. A function (`republish`, `inspect`) is stored in
// the rule. An action that sends to a service is stored as `actions.<type>.<id>` in the configuration, and is deleted with the rule
// that created it.
//
//   {name: data_to_webserver, params: {$resource, ...}}  <──►  actions.http.<id> {connector, parameters}, "http:<id>" in the rule

import type { Resource } from '../../../actions/index.ts'
import { randomBytes } from 'node:crypto'
import { type ApiError, refuse } from '../../../management/index.ts'
import type { ConfiguredRules } from '../configured-rules.ts'
import type { V4Resources } from './v4-resource-settings.ts'
import { findServiceNames, renameKeys, reverseNames } from './service-names.ts'

export interface SentAction {
  readonly id?: string | undefined
  readonly name: string
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly fallbacks?: readonly SentFallback[] | undefined
}

export interface SentFallback extends Omit<SentAction, 'fallbacks'> {
  /** Must be empty: a fallback has no fallbacks. */
  readonly fallbacks?: readonly unknown[] | undefined
}

/** An action of the configuration that a rule needs. */
export interface ConfiguredAction {
  readonly type: string
  readonly name: string
  readonly settings: Readonly<Record<string, unknown>>
}

export interface ParsedAction {
  /** The action as the rule contains it. */
  readonly ruleAction: unknown
  /** Actions of the configuration for the action and its fallbacks. */
  readonly configuredActions: readonly ConfiguredAction[]
}

export interface V4Action {
  readonly id: string
  readonly name: string
  readonly params: Record<string, unknown>
}

const idBytes = 4
const idForm = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/
const resourceKey = '$resource'
/** Value of `target_qos` that keeps the QoS of the message. */
const keepsQos = -1
const methods = ['post', 'put', 'get', 'delete']

/** Reads the actions of a request; `ownIds`: names of existing actions of the rule, which may be kept. */
export function readActions(
  sent: readonly SentAction[],
  { resources, ownIds }: { readonly resources: V4Resources; readonly ownIds: ReadonlySet<string> },
): readonly ParsedAction[] | ApiError {
  const read: ParsedAction[] = []
  for (const action of sent) {
    const one = readAction(action, resources, ownIds)
    if ('code' in one) return one
    read.push(one)
  }
  return read
}

function readAction(action: SentAction, resources: V4Resources, ownIds: ReadonlySet<string>): ParsedAction | ApiError {
  const { fallbacks = [] } = action
  const read = readPlainAction(action, resources, ownIds)
  if ('code' in read || fallbacks.length === 0) return read
  if (fallbacks.some((fallback) => (fallback.fallbacks ?? []).length > 0))
    return refuse('invalidParameter', 'a fallback cannot have fallbacks: add them to the action')
  const plain = fallbacks.map(({ id, name, params }) => ({ id, name, params }))
  const all = readActions(plain, { resources, ownIds })
  if ('code' in all) return all
  return {
    ruleAction: { action: read.ruleAction, fallbacks: all.map(({ ruleAction }) => ruleAction) },
    configuredActions: [read, ...all].flatMap(({ configuredActions }) => configuredActions),
  }
}

function readPlainAction(
  action: SentAction,
  resources: V4Resources,
  ownIds: ReadonlySet<string>,
): ParsedAction | ApiError {
  const { name, params = {} } = action
  switch (name) {
    case 'inspect':
      return { ruleAction: { function: 'console', args: {} }, configuredActions: [] }
    case 'do_nothing':
      return { ruleAction: { function: 'do_nothing', args: {} }, configuredActions: [] }
    case 'republish':
      return readRepublish(params)
    default:
      return readServiceAction(action, resources, ownIds)
  }
}

function readRepublish(params: Readonly<Record<string, unknown>>): ParsedAction | ApiError {
  const { target_topic: topic, target_qos: qos = 0, target_retain: retain = false, payload_tmpl: payload } = params
  if (typeof topic !== 'string') return refuse('invalidParameter', 'republish needs target_topic in params')
  const args = { topic, qos, retain }
  const body = payload === undefined || payload === '' ? {} : { payload }
  return { ruleAction: { function: 'republish', args: { ...args, ...body } }, configuredActions: [] }
}

function readServiceAction(
  { id, name, params = {} }: SentAction,
  resources: V4Resources,
  ownIds: ReadonlySet<string>,
): ParsedAction | ApiError {
  const names = resources.listTypes().find(({ action, type }) => action === name || type === name)
  if (names === undefined)
    return refuse('invalidParameter', `there is no action ${JSON.stringify(name)}: GET /api/v4/actions lists them`)
  const { [resourceKey]: resource, ...rest } = params
  const found = typeof resource === 'string' ? resources.find(resource) : undefined
  if (found === undefined)
    return refuse(
      'invalidParameter',
      `${name} needs the ID of a resource as $resource in params: see GET /api/v4/resources`,
    )
  if (found.type !== names.type)
    return refuse(
      'invalidParameter',
      `${name} needs a resource of the type ${names.resource}: ${String(resource)} has the type ${found.type}`,
    )
  const parameters = renameKeys(rest, names.parameters)
  const { method } = parameters
  if (typeof method === 'string' && methods.includes(method.toLowerCase())) parameters['method'] = method.toLowerCase()
  const isKept = id !== undefined && idForm.test(id) && ownIds.has(`${names.type}:${id}`)
  const own = isKept ? id : `${names.action}_${randomBytes(idBytes).toString('hex')}`
  const settings = { connector: found.name, parameters }
  return { ruleAction: `${names.type}:${own}`, configuredActions: [{ type: names.type, name: own, settings }] }
}

/** Returns an action of a rule in the form of version 4; `index`: its index in the rule. */
export function toV4Action(
  action: unknown,
  index: number,
  { rules, resources }: { readonly rules: ConfiguredRules; readonly resources: V4Resources },
): V4Action {
  if (typeof action === 'string') {
    const found = rules.listResources('actions').find(({ type, name }) => `${type}:${name}` === action)
    return found === undefined ? { id: action, name: action, params: {} } : toV4ServiceAction(found, resources)
  }
  const { function: name, args = {} } = action as { function: string; args?: Readonly<Record<string, unknown>> }
  const shown = name === 'console' ? 'inspect' : name
  const params = name === 'republish' ? toV4RepublishParams(args) : {}
  return { id: `${shown}_${index}`, name: shown, params }
}

function toV4ServiceAction({ type, name, settings }: Resource, resources: V4Resources): V4Action {
  const names = findServiceNames(type)
  const { connector = '', parameters = {} } = settings as {
    readonly connector?: string
    readonly parameters?: Readonly<Record<string, unknown>>
  }
  const params = {
    [resourceKey]: resources.formatId({ type, name: connector }),
    ...renameKeys(parameters, reverseNames(names.parameters)),
  }
  return { id: name, name: names.action, params }
}

function toV4RepublishParams(args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { topic, qos, retain, payload } = args
  return {
    target_topic: topic,
    target_qos: /^(?:-1|[012])$/.test(String(qos)) ? Number(qos) : qos === '${qos}' ? keepsQos : qos,
    target_retain: retain === 'true' || retain === 'false' ? retain === 'true' : retain,
    payload_tmpl: payload,
  }
}

/** Splits an action of a rule from its fallbacks. */
export function splitFallbacks(action: unknown): { readonly action: unknown; readonly fallbacks: readonly unknown[] } {
  if (typeof action !== 'object' || action === null || !('action' in action)) return { action, fallbacks: [] }
  const { fallbacks } = action as { readonly fallbacks?: readonly unknown[] }
  return { action: action.action, fallbacks: fallbacks ?? [] }
}

/** Returns the IDs (`type:name`) of the actions and fallbacks of a rule that are stored in the configuration. */
export function listConfiguredActionIds(actions: readonly unknown[]): readonly string[] {
  return actions
    .map(splitFallbacks)
    .flatMap(({ action, fallbacks }) => [action, ...fallbacks])
    .filter((action) => typeof action === 'string')
}

/** Returns whether an action of the configuration was created with a rule of version 4, and is deleted with it. */
export function isCreatedWithRule(id: string): boolean {
  const [type = '', name = ''] = id.split(':')
  return name.startsWith(`${findServiceNames(type).action}_`) || name.startsWith(nanoMqPrefix)
}

/** Prefix of the names of actions and connectors of a rule of NanoMQ's API. */
export const nanoMqPrefix = 'nanomq_rule_'
