// Makes the plan of rules, actions and sources from the configuration: SQL compiled, settings read, names looked up, with error texts. All shards get
// the plan, and each runs all rules for its own messages.

import { planSchemas } from './schema-plan.ts'
import { type DerivedRules, type GodwitConfig, withFallbacks } from '../../config/index.ts'
import { splitScopedName } from '../../core/index.ts'
import { parseTopicFilter, parseTopicName } from '../../protocol/index.ts'
import { compileRule, compileTemplate, RuleCompileError } from '../../rules/index.ts'
import { compileMatcher } from '../../regex/index.ts'
import {
  type ActionAssignment,
  type PlanProblem,
  eventMessageNames,
  type RuleAssignment,
  type RulePlan,
  type SourceAssignment,
} from './rule-plan.ts'
import {
  type ActionSettings,
  type ConnectorSettings,
  type SinkTypeName,
  sinkTypes,
  type SourceConnectorSettings,
  type SourceSettings,
  type SourceTypeName,
  sourceTypes,
} from '../../sinks/index.ts'
import { problemOfNamespaces } from './rule-namespaces.ts'
import { derivedRulesOf } from './derived-rules.ts'

/** Maximum number of rules and actions of one node. */
const maxRules = 10_000
const maxActions = 1_000

/** Returns why `rewrite`, `auto_subscribe` and `topic_metrics` are invalid. */
function problemOfTopics({
  autoSubscriptions,
  countedTopics,
  core: { topicRewrites = [] },
}: GodwitConfig): PlanProblem | undefined {
  for (const { re, source_topic: source } of topicRewrites) {
    const matcher = compileMatcher(re)
    if (typeof matcher === 'string') return { problem: `rewrite: re ${JSON.stringify(re)}: ${matcher}` }
    if (parseTopicFilter(source) === undefined)
      return { problem: `rewrite: source_topic ${JSON.stringify(source)} is not a topic filter` }
  }
  const wrong = autoSubscriptions.find(({ topic }) => parseTopicFilter(topic) === undefined)
  if (wrong !== undefined)
    return { problem: `auto_subscribe.topics: ${JSON.stringify(wrong.topic)} is not a topic filter` }
  const uncounted = countedTopics.find((topic) => parseTopicName(topic) === undefined)
  if (uncounted !== undefined)
    return { problem: `topic_metrics: ${JSON.stringify(uncounted)} is not a topic name: wildcards are not possible` }
  const twice = countedTopics.find((topic, place) => countedTopics.indexOf(topic) !== place)
  return twice === undefined ? undefined : { problem: `topic_metrics: ${JSON.stringify(twice)} is there twice` }
}

/** Compiles the rules and reads the settings of actions and sources. A problem starts with the key of a setting. */
export function planRules(config: GodwitConfig, nodeName: string): { readonly plan: RulePlan } | PlanProblem {
  const rewrites = problemOfTopics(config)
  if (rewrites !== undefined) return rewrites
  const schemas = planSchemas(config)
  if ('problem' in schemas) return schemas
  const namespaces = problemOfNamespaces(config)
  if (namespaces !== undefined) return namespaces
  const actions = planActions(config)
  if ('problem' in actions) return actions
  const rules = planAllRules(config, new Set(actions.actions.map(({ id }) => id)))
  if ('problem' in rules) return rules
  const derived = planDerived(derivedRulesOf(config))
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
      sinkTypes[type].problemOfConnector(connector) ?? sinkTypes[type].problemOfAction(action, compileTemplate)
    if (problem !== undefined) return { problem: `${key}.${problem}` }
  }
  for (const { key, sql } of rules) {
    const problem = problemOfSql(sql)
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

/** Reads the sources. The settings of MQTT sources are read with the bridges. */
function planSources({
  sources,
  connectors,
}: GodwitConfig): { readonly sources: readonly SourceAssignment[] } | PlanProblem {
  const planned: SourceAssignment[] = [...sources.mqtt.named].map(([name, { connector }]) => ({
    id: `mqtt:${name}`,
    server: connectors.mqtt.named.get(connector ?? '')?.server ?? '',
    service: undefined,
  }))
  for (const type of Object.keys(sourceTypes) as SourceTypeName[]) {
    const kind = sourceTypes[type]
    const configured: ReadonlyMap<string, SourceSettings> = sources[type].named
    const known: ReadonlyMap<string, SourceConnectorSettings> = connectors[type].named
    for (const [name, source] of configured) {
      const key = `sources.${type}.${name}`
      const connector = known.get(source.connector ?? '')
      if (connector === undefined) return { problem: `${key}.connector: ${connectorProblem(type, source.connector)}` }
      const reason = kind.problemOfConnector(connector)
      if (reason !== undefined) return { problem: `connectors.${type}.${source.connector}.${reason}` }
      const problem = kind.problemOfSource(source)
      if (problem !== undefined) return { problem: `${key}.${problem}` }
      planned.push({ id: `${type}:${name}`, server: kind.serverOf(connector), service: { type, source, connector } })
    }
  }
  return { sources: planned }
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
    const problem = problemOfSql(rule.sql)
    if (problem !== undefined) return { problem: `${key}.sql: ${problem}` }
    for (const action of withFallbacks(rule.actions)) {
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

/** Maximum number of checked statements that are known, and of their characters. */
const maxKnownStatements = 20_000
const maxKnownCharacters = 16_777_216

/**
 * Statements that were checked. Each change of the configuration checks all rules, of which nearly all are as before. A statement is valid or
 * not whatever the configuration is.
 */
const knownStatements = { problems: new Map<string, string | undefined>(), characters: 0 }

/** Returns why SQL is invalid, with line, column and a caret. */
export function problemOfSql(sql: string): string | undefined {
  const { problems } = knownStatements
  if (problems.has(sql)) return problems.get(sql)
  const problem = checkSql(sql)
  if (problems.size >= maxKnownStatements || knownStatements.characters + sql.length > maxKnownCharacters) {
    problems.clear()
    knownStatements.characters = 0
  }
  problems.set(sql, problem)
  knownStatements.characters += sql.length
  return problem
}

function checkSql(sql: string): string | undefined {
  try {
    compileRule(sql)
    return undefined
  } catch (error) {
    if (!(error instanceof RuleCompileError)) throw error
    return error.message
  }
}

/**
 * Settings of actions and connectors that were checked, with their problem. Settings that change are another object. The same settings have
 * the same type: it is part of the key under which they were read.
 */
const checkedSettings = new WeakMap<ActionSettings | ConnectorSettings, { readonly problem: string | undefined }>()

function knownProblem(
  settings: ActionSettings | ConnectorSettings,
  find: () => string | undefined,
): string | undefined {
  const known = checkedSettings.get(settings)
  if (known !== undefined) return known.problem
  const problem = find()
  checkedSettings.set(settings, { problem })
  return problem
}

function planActions(config: GodwitConfig): { readonly actions: readonly ActionAssignment[] } | PlanProblem {
  const actions: ActionAssignment[] = []
  for (const type of Object.keys(sinkTypes) as SinkTypeName[]) {
    const connectors: ReadonlyMap<string, ConnectorSettings> = config.connectors[type].named
    const configured: ReadonlyMap<string, ActionSettings> = config.actions[type].named
    for (const [name, connector] of connectors) {
      const problem = knownProblem(connector, () => sinkTypes[type].problemOfConnector(connector))
      if (problem !== undefined) return { problem: `connectors.${type}.${name}.${problem}` }
    }
    for (const [name, action] of configured) {
      const key = `actions.${type}.${name}`
      const connector = action.connector === undefined ? undefined : connectors.get(action.connector)
      if (connector === undefined) return { problem: `${key}.connector: ${connectorProblem(type, action.connector)}` }
      const problem = knownProblem(action, () => sinkTypes[type].problemOfAction(action, compileTemplate))
      if (problem !== undefined) return { problem: `${key}.${problem}` }
      actions.push({ id: `${type}:${name}`, type, action, connector: connector.enable ? connector : undefined })
    }
  }
  if (actions.length > maxActions) return { problem: `actions: there are more than ${maxActions} actions` }
  return problemOfFallbacks(actions) ?? { actions }
}

function problemOfFallbacks(actions: readonly ActionAssignment[]): PlanProblem | undefined {
  const ids = new Set(actions.map(({ id }) => id))
  for (const { id, action } of actions) {
    const key = `actions.${id.replace(':', '.')}.fallback_actions`
    for (const fallback of action.fallback_actions) {
      if (fallback.kind !== 'action') continue
      if (fallback.id === id) return { problem: `${key}: an action cannot be its own fallback` }
      if (!ids.has(fallback.id))
        return {
          problem: `${key}: there is no action ${fallback.id}: configure actions.${fallback.id.replace(':', '.')}`,
        }
      if (splitScopedName(fallback.id).namespace !== splitScopedName(id).namespace)
        return { problem: `${key}: ${fallback.id} is of another namespace` }
    }
  }
  return undefined
}

function connectorProblem(type: string, name: string | undefined): string {
  if (name === undefined) return `an action needs the name of a connector: configure connectors.${type}`
  return `connector not found: ${JSON.stringify(name)}; configure connectors.${type}.${name}`
}
