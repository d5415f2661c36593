// Entries of action queues and of queues of dead letters, as the core stores them.

import type { RulePublication } from '../../core/index.ts'
import type { MessageProperties } from '../../protocol/index.ts'
import type { RuleEvent } from '../../rules/index.ts'
import type { ActionEntry } from '../../sinks/index.ts'
import { toFormAttribute, joinPayload, joinResult } from '../delivery/joined-result.ts'
import { type ActionOrder, toOrderAttributes } from './action-order.ts'
import { toRuleAttribute } from './entry-attributes.ts'

/** Topic prefix of queued results; no client subscribes to it. */
const actionQueueTopic = '$action'

/** Maximum number of shared objects of one action. When it is reached, all are dropped. */
const maxShared = 4_096

/** Returns the publication that stores the entry. */
export function toPublication(entry: ActionEntry): RulePublication {
  const { payload, attributes } = entry.result === undefined ? entry : joinResult(entry)
  return createPublication(payload, { userProperties: attributes })
}

function createPublication(payload: Buffer, properties: MessageProperties): RulePublication {
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
  toPublication(
    { event, rule }: { readonly event: Pick<RuleEvent, 'readColumn'>; readonly rule: string },
    { payload, attributes }: ActionEntry,
    result: Buffer | undefined,
    form?: string,
  ): RulePublication {
    const order = this.#order.readOrderValue(event)
    if (attributes.length === 0 && (result === undefined || form !== undefined)) {
      const stored = result === undefined ? payload : joinPayload(payload, result)
      const last = result === undefined ? undefined : form
      return createPublication(stored, this.#ensureShared(rule, order, last))
    }
    const all = [...attributes, ...toOrderAttributes(order), toRuleAttribute(rule)]
    return toPublication({ payload, attributes: all, result, form })
  }

  /** `form`: that of the templates; undefined: the entries have no result. */
  #ensureShared(rule: string, order: string, form: string | undefined): MessageProperties {
    const key = form === undefined ? order : `${form} ${order}`
    const known = this.#byRule.get(rule)?.get(key)
    if (known !== undefined) return known
    if (this.#count >= maxShared) {
      this.#byRule.clear()
      this.#count = 0
    }
    const own = [...toOrderAttributes(order), toRuleAttribute(rule)]
    const properties = { userProperties: form === undefined ? own : [...own, toFormAttribute(form)] }
    const byOrder = this.#byRule.get(rule)
    if (byOrder === undefined) this.#byRule.set(rule, new Map([[key, properties]]))
    else byOrder.set(key, properties)
    this.#count++
    return properties
  }
}
