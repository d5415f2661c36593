// Makes the plan of rules, actions and sources from the configuration: SQL compiled, settings read, names looked up, with error texts. All shards get
// the plan, and each runs all rules for its own messages.

import { type DerivedRules, type GodwitConfig, listWithFallbacks } from '../../config/index.ts'
import { compileTemplate } from '../../rules/index.ts'
import { sinkTypes } from '../../sinks/index.ts'
import { findNamespaceProblem } from './check-namespaces.ts'
import { findSqlProblem } from './check-sql.ts'
import { findTopicsProblem } from './check-topics.ts'
import { deriveRules } from './derive-rules.ts'
import { planActions } from './plan-actions.ts'
import { planSchemas } from './plan-schemas.ts'
import { planSources } from './plan-sources.ts'
import { eventMessageNames, type PlanProblem, type RuleAssignment, type RulePlan } from './rule-plan.ts'

/** Maximum number of rules of one node. */
const maxRules = 10_000

/** Compiles the rules and reads the settings of actions and sources. A problem starts with the key of a setting. */
export function planRules(config: GodwitConfig, nodeName: string): { readonly plan: RulePlan } | PlanProblem {
  const rewrites = findTopicsProblem(config)
  if (rewrites !== undefined) return rewrites
  const schemas = planSchemas(config)
  if ('problem' in schemas) return schemas
  const namespaces = findNamespaceProblem(config)
  if (namespaces !== undefined) return namespaces
  const actions = planActions(config)
  if ('problem' in actions) return actions
  const rules = planAllRules(config, new Set(actions.actions.map(({ id }) => id)))
  if ('problem' in rules) return rules
  const derived = planDerived(deriveRules(config))
  if ('problem' in derived) return derived
  const sources = planSources(config)
  if ('problem' in sources) return sources
  const ignoresSysMessages = config.ruleEngine.ignore_sys_message
  const eventMessages = eventMessageNames.filter((name) => config.eventMessage[name])
  return {
    plan: {
      nodeName,
      ignoresSysMessages,
      eventMessages,
      maxEvaluationMs: config.ruleEngine.max_evaluation_time,
      jqTimeoutMs: config.ruleEngine.jq_function_default_timeout,
      schemas: schemas.schemas,
      rules: [...rules.rules, ...derived.rules],
      actions: [...actions.actions, ...derived.actions],
      sources: sources.sources,
      countedTopics: config.countedTopics,
    },
  }
}

/** Checks rules and actions that are derived from sections of other brokers. */
function planDerived(found: DerivedRules | PlanProblem): Pick<RulePlan, 'rules' | 'actions'> | PlanProblem {
  if ('problem' in found) return found
  const { rules, actions } = found
  for (const { type, key, connector, action } of actions) {
    const problem =
      sinkTypes[type].findConnectorProblem(connector) ?? sinkTypes[type].findActionProblem(action, compileTemplate)
    if (problem !== undefined) return { problem: `${key}.${problem}` }
  }
  for (const { key, sql } of rules) {
    const problem = findSqlProblem(sql)
    if (problem !== undefined) return { problem: `${key}: ${problem}` }
  }
  return {
    rules: rules.map(({ id, sql, actions: all }) => ({
      id,
      sql,
      isEnabled: true,
      actions: all,
      stopsAtFailure: false,
    })),
    actions: actions.map(({ id, type, connector, action }) => ({ id, type, connector, action })),
  }
}

function planAllRules(
  { ruleEngine }: GodwitConfig,
  actions: ReadonlySet<string>,
): { readonly rules: readonly RuleAssignment[] } | PlanProblem {
  const rules: RuleAssignment[] = []
  const { named } = ruleEngine.rules
  if (named.size > maxRules) return { problem: `rule_engine.rules: there are more than ${maxRules} rules` }
  for (const [id, rule] of named) {
    const key = `rule_engine.rules.${id}`
    const problem = findSqlProblem(rule.sql)
    if (problem !== undefined) return { problem: `${key}.sql: ${problem}` }
    for (const action of listWithFallbacks(rule.actions)) {
      if (action.kind === 'action' && !actions.has(action.id))
        return {
          problem: `${key}.actions: there is no action ${action.id}: configure actions.${action.id.replace(':', '.')}`,
        }
    }
    const { sql, enable: isEnabled, actions: ofRule } = rule
    rules.push({ id, sql, isEnabled, actions: ofRule, stopsAtFailure: rule.on_action_failed === 'stop' })
  }
  return { rules }
}
