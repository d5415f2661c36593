// The state of one evaluation.

import type { RuleEvent } from '../events/rule-event.ts'
import type { HostFunctions } from '../functions/host-functions.ts'
import { Budget, type RuleMap, type RuleValue } from '../../values/index.ts'

export class Frame {
  readonly event: RuleEvent
  readonly host: HostFunctions
  readonly metadata: RuleMap
  readonly budget: Budget
  /** Values of aliases and items, by the number that the scope gave them. */
  readonly slots: RuleValue[]

  constructor(event: RuleEvent, host: HostFunctions, metadata: RuleMap, slots: number) {
    this.event = event
    this.host = host
    this.budget = new Budget(host)
    this.metadata = metadata
    this.slots = slots === 0 ? noSlots : Array.from({ length: slots })
  }
}

const noSlots: RuleValue[] = []

/** A compiled expression. */
export type Evaluate = (frame: Frame) => RuleValue
