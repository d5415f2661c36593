// Entries of action queues and of queues of dead letters, as they are stored and reported.

import { actionClientPrefix, type RulePublication } from '../../core/index.ts'
import { compileTemplate, plainValue, type RuleEvent } from '../../rules/index.ts'
import type { RuleMap } from '../../values/index.ts'
import { type ActionEntry, type CompileTemplate } from '../../sinks/index.ts'
import { attributeOfForm, joinPayload, joinResult } from '../delivery/stored-result.ts'
import type { DeadLetter } from '../delivery/dead-letters.ts'
import type { MessageProperties } from '../../protocol/index.ts'
import type { AlarmName } from '../../telemetry/index.ts'
import type { ActionAssignment } from '../plan/rule-plan.ts'
import type { DeadLetterReport } from '../plan/rule-reports.ts'
import { type ActionOrder, orderAttributes } from './action-order.ts'
import { columnsOfResult } from './stored-results.ts'

/** Topic prefix of queued results; no client subscribes to it. */
const actionQueueTopic = '$action'
const ruleAttribute = 'rule'

/** Maximum number of shared objects of one action. When it is reached, all are dropped. */
const maxShared = 4_096

/** Returns the attribute that names the rule of an entry. */
export function attributeOfRule(rule: string): readonly [string, string] {
  return [ruleAttribute, rule]
}

/** Returns the rule of an entry; undefined: an earlier version of Godwit stored the entry. */
export function ruleOf({ attributes }: ActionEntry): string | undefined {
  return attributes.find(([name]) => name === ruleAttribute)?.[1]
}

/** Marks an entry that a fallback has caused: it has no fallbacks itself. */
export const fallbackAttribute = ['!fallback', ''] as const

const depthAttribute = '!depth'

/** Returns the attribute of a result of several rules, one after the other; empty for others. */
export function attributesOfDepth(depth: number): ActionEntry['attributes'] {
  return depth > 1 ? [[depthAttribute, String(depth)]] : []
}

/** Returns the number of rules that have led to the entry. */
export function depthOf({ attributes }: ActionEntry): number {
  return Number(attributes.find(([name]) => name === depthAttribute)?.[1] ?? 1)
}

export function isOfFallback({ attributes }: ActionEntry): boolean {
  return attributes.some(([name]) => name === fallbackAttribute[0])
}

/** Returns the publication that stores the entry. */
export function publicationOf(entry: ActionEntry): RulePublication {
  const { payload, attributes } = entry.result === undefined ? entry : joinResult(entry)
  return publicationWith(payload, { userProperties: attributes })
}

function publicationWith(payload: Buffer, properties: MessageProperties): RulePublication {
  return { topic: actionQueueTopic, payload, qos: 1, retain: false, properties }
}

/**
 * Makes the entries of one action from results of rules. Most have no attributes but their order and their rule. Entries with equal
 * attributes share one object, which saves memory, and is encoded once for consecutive entries.
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
    form?: string,
  ): RulePublication {
    const order = this.#order.valueOf(event)
    if (attributes.length === 0 && (result === undefined || form !== undefined)) {
      const stored = result === undefined ? payload : joinPayload(payload, result)
      const last = result === undefined ? undefined : form
      return publicationWith(stored, this.#shared(rule, order, last))
    }
    const all = [...attributes, ...orderAttributes(order), attributeOfRule(rule)]
    return publicationOf({ payload, attributes: all, result, form })
  }

  /** `form`: that of the templates; undefined: the entries have no result. */
  #shared(rule: string, order: string, form: string | undefined): MessageProperties {
    const key = form === undefined ? order : `${form} ${order}`
    const known = this.#byRule.get(rule)?.get(key)
    if (known !== undefined) return known
    if (this.#count >= maxShared) {
      this.#byRule.clear()
      this.#count = 0
    }
    const own = [...orderAttributes(order), attributeOfRule(rule)]
    const properties = { userProperties: form === undefined ? own : [...own, attributeOfForm(form)] }
    const byOrder = this.#byRule.get(rule)
    if (byOrder === undefined) this.#byRule.set(rule, new Map([[key, properties]]))
    else byOrder.set(key, properties)
    this.#count++
    return properties
  }
}

/** Returns true if the session has the dead letters of an action. */
export function isOfDeadLetters(clientId: string): boolean {
  return clientId.startsWith(`${actionClientPrefix}d`)
}

/** Returns what distinguishes the action queues of one action, such as `q0`. */
export function saltOfQueue(clientId: string): string {
  return clientId.slice(actionClientPrefix.length).split('/')[0] ?? ''
}

/** Returns the attributes without those for internal use, whose names begin with an exclamation mark. */
export function visibleAttributes({ attributes }: ActionEntry): ActionEntry['attributes'] {
  return attributes.filter(([name]) => !name.startsWith('!'))
}

/** Returns the form of a dead letter for the API. */
export function deadLetterReport({ id, why, atMs, entry }: DeadLetter): DeadLetterReport {
  const attributes = visibleAttributes(entry)
  const result = entry.result === undefined ? '' : columnsOfResult(entry.result)
  return { id, why, atMs, rule: ruleOf(entry) ?? '', attributes, payload: entry.payload, result }
}

/** Templates of actions over the results of rules, which are maps of the rule language. Exported for tests of sinks. */
export const compileSinkTemplate: CompileTemplate = (text, encoding) => {
  const template = compileTemplate(text, encoding)
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

/** Returns the name of the alarm of an action. */
export function alarmOf(id: string): AlarmName {
  return `action:${id}`
}
