// Rules, actions and sources of the configuration: a change is planned here, and sent to all shards.

import { isDeepStrictEqual } from 'node:util'
import { planRules, type RulePlan } from '../../actions/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import type { ConfigConsumer, Problem } from '../configuration/config-consumers.ts'

export interface RuleConfigOptions {
  readonly plan: RulePlan
  readonly nodeName: string
  /** Sends the plan to the shards. Resolves when every shard has applied it. */
  sendToShards(plan: RulePlan): Promise<void>
}

const sections = [
  'rewrite',
  'auto_subscribe.',
  'topic_metrics',
  'modules.',
  'rule_engine.',
  'schema_registry.',
  'event_message.',
  'connectors.',
  'actions.',
  'sources.',
  'webhook.',
  'rules.',
  'namespaces.max_rules',
  'namespaces.max_actions',
]

export class RuleConfig implements ConfigConsumer {
  readonly #options: RuleConfigOptions
  #plan: RulePlan

  constructor(options: RuleConfigOptions) {
    this.#options = options
    this.#plan = options.plan
  }

  get plan(): RulePlan {
    return this.#plan
  }

  canApply(key: string): boolean {
    return sections.some((section) => key.startsWith(section))
  }

  async apply(config: GodwitConfig): Promise<Problem | undefined> {
    const planned = planRules(config, this.#options.nodeName)
    if ('problem' in planned) return planned
    if (isDeepStrictEqual(planned.plan, this.#plan)) return undefined
    await this.#options.sendToShards(planned.plan)
    this.#plan = planned.plan
    return undefined
  }
}
