// Entries of action queues and of queues of dead letters, as they are stored and reported.

import { actionClientPrefix, type RulePublication } from '../../core/index.ts'
import { compileTemplate, plainValue, type RuleEvent, type RuleMap } from '../../rules/index.ts'
import { type CompileTemplate, type DeadLetter, joinResult, type ActionEntry } from '../../sinks/index.ts'
import type { MessageProperties } from '../../protocol/index.ts'
import type { AlarmName } from '../../telemetry/index.ts'
import type { ActionAssignment, DeadLetterReport } from '../messages/rule-plan.ts'
import { type ActionOrder, orderAttributes } from './action-order.ts'

/** Topic prefix of queued results; no client subscribes to it. */
const actionQueueTopic = '$action'
const ruleAttribute = 'rule'

/** Maximum number of shared objects of one action. Then all are forgotten. */
const maxShared = 4_096

/** Attribute of an entry that a rule has made. */
export function attributeOfRule(rule: string): readonly [string, string] {
  return [ruleAttribute, rule]
}

/** Undefined: it is of an earlier version. */
export function ruleOf({ attributes }: ActionEntry): string | undefined {
  return attributes.find(([name]) => name === ruleAttribute)?.[1]
}

/** Returns the publication that stores the entry. */
export function publicationOf(entry: ActionEntry): RulePublication {
  const { payload, attributes } = entry.result === undefined ? entry : joinResult(entry)
  return { topic: actionQueueTopic, payload, qos: 1, retain: false, properties: { userProperties: attributes } }
}

/**
 * Makes the entries of one action from results of rules. Most have no attributes but their order and their rule: those with the same ones
 * share one object. In a queue it takes memory once, and entries in a row are encoded once.
 */
export class EntryAttributes {
  readonly #order: ActionOrder
  readonly #byRule = new Map<string, Map<string, MessageProperties>>()
  #count = 0

  constructor(order: ActionOrder) {
    this.#order = order
  }

  /** Returns the publication that stores a result of the rule. */
  publicationOf(
    { event, rule }: { readonly event: Pick<RuleEvent, 'column'>; readonly rule: string },
    { payload, attributes }: ActionEntry,
    result: Buffer | undefined,
  ): RulePublication {
    const order = this.#order.valueOf(event)
    if (attributes.length === 0 && result === undefined)
      return { topic: actionQueueTopic, payload, qos: 1, retain: false, properties: this.#shared(rule, order) }
    const all = [...attributes, ...orderAttributes(order), attributeOfRule(rule)]
    return publicationOf({ payload, attributes: all, result })
  }

  #shared(rule: string, order: string): MessageProperties {
    const known = this.#byRule.get(rule)?.get(order)
    if (known !== undefined) return known
    if (this.#count >= maxShared) {
      this.#byRule.clear()
      this.#count = 0
    }
    const properties = { userProperties: [...orderAttributes(order), attributeOfRule(rule)] }
    const byOrder = this.#byRule.get(rule)
    if (byOrder === undefined) this.#byRule.set(rule, new Map([[order, properties]]))
    else byOrder.set(order, properties)
    this.#count++
    return properties
  }
}

/** Whether a session of an action has its dead letters. */
export function isOfDeadLetters(clientId: string): boolean {
  return clientId.startsWith(`${actionClientPrefix}d`)
}

/** For the API. */
export function deadLetterReport({ id, why, atMs, entry }: DeadLetter): DeadLetterReport {
  // Those of the action itself begin with an exclamation mark.
  const attributes = entry.attributes.filter(([name]) => !name.startsWith('!'))
  return { id, why, atMs, rule: ruleOf(entry) ?? '', attributes, payload: entry.payload }
}

/** Templates of actions over the results of rules, which are maps of the rule language. Exported for tests of sinks. */
export const compileSinkTemplate: CompileTemplate = (text) => {
  const template = compileTemplate(text)
  return {
    parts: template.parts,
    render: (data) => template.render(data as RuleMap),
    values: (data) => template.values(data as RuleMap).map(plainValue),
  }
}

/** Returns why an action does not send; '': it sends. */
export function reasonForNoSink({ action, connector }: ActionAssignment): string {
  if (!action.enable) return 'the action is disabled'
  return connector === undefined ? 'the connector is missing or disabled' : ''
}

/** Name of its alarm. */
export function alarmOf(id: string): AlarmName {
  return `action:${id}`
}
