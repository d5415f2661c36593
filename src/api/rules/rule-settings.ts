// Rules, connectors, actions and sources in the configuration. Names end in their namespace (`hook@plant`).

import { listDerivedResources, type Resource, type ResourceKind } from '../../actions/index.ts'
import {
  describeSection,
  type GodwitConfig,
  toPlainAction,
  type PlainRuleAction,
  listWithFallbacks,
} from '../../config/index.ts'
import { splitScopedName } from '../../core/index.ts'
import { compileRule } from '../../rules/index.ts'
import {
  type ActionSettings,
  type SinkTypeName,
  sinkTypes,
  type SourceTypeName,
  sourceTypes,
} from '../../sinks/index.ts'

/** A rule with its settings. */
export interface Rule {
  readonly id: string
  readonly sql: string
  readonly from: readonly string[]
  /** As in the configuration: names, functions with arguments, and `{action, fallbacks}` with one of these. */
  readonly actions: readonly unknown[]
  readonly isEnabled: boolean
  /** Whether a result for which an action fails is passed to further actions. */
  readonly onActionFailed: 'continue' | 'stop'
  readonly description: string
  /** Warnings about SQL that compiles but cannot work. */
  readonly warnings: readonly string[]
  /** undefined: it is in a file. */
  readonly createdAtMs: number | undefined
  /** undefined: it is in a file. */
  readonly modifiedAtMs: number | undefined
}

type ConfiguredRule =
  GodwitConfig['ruleEngine']['rules']['named'] extends ReadonlyMap<string, infer Value> ? Value : never

export function listRules({ ruleEngine, schemaRegistry }: GodwitConfig): readonly Rule[] {
  return [...ruleEngine.rules.named].map(([id, rule]) => toRule(id, rule, schemaRegistry.schemas.named))
}

/** Compiled SQL of rules, to describe them. A rule that changes is another object. */
const compiledRules = new WeakMap<ConfiguredRule, ReturnType<typeof compileRule>>()

function toRule(id: string, rule: ConfiguredRule, schemas: ReadonlyMap<string, unknown>): Rule {
  const compiled = compiledRules.get(rule) ?? compileRule(rule.sql)
  compiledRules.set(rule, compiled)
  const missing = compiled.schemas.filter((name) => !schemas.has(name)).map((name) => JSON.stringify(name.slice(0, 64)))
  return {
    id,
    sql: rule.sql,
    from: compiled.sources.map(({ text }) => text),
    warnings: [
      ...compiled.warnings.map(({ message, line, column }) => `line ${line}, column ${column}: ${message}`),
      ...missing.map((name) => `there is no schema ${name}: add it to the schema registry`),
    ],
    actions: rule.actions.map(toPlainAction),
    isEnabled: rule.enable,
    onActionFailed: rule.on_action_failed,
    description: rule.description,
    createdAtMs: rule.created_at === 0 ? undefined : rule.created_at,
    modifiedAtMs: rule.last_modified_at === 0 ? undefined : rule.last_modified_at,
  }
}

export function listResources(config: GodwitConfig, kind: ResourceKind): readonly Resource[] {
  const described = describeSection(config, kind)
  const isObject = typeof described === 'object' && described !== null && !Array.isArray(described)
  const configured = Object.entries(isObject ? described : {}).flatMap(([type, named]) =>
    Object.entries(named as Readonly<Record<string, unknown>>).map(([name, settings]) => ({
      type,
      name,
      settings: settings as Readonly<Record<string, unknown>>,
    })),
  )
  return [...configured, ...listDerivedResources(config, kind)]
}

/** Returns the names of the users of a connector, an action or a source. */
export function listUsers(
  { actions, sources, ruleEngine }: GodwitConfig,
  kind: ResourceKind,
  { type, name }: { readonly type: string; readonly name: string },
): readonly string[] {
  const id = `${type}:${name}`
  if (kind === 'actions') {
    const isIt = (action: PlainRuleAction): boolean => action.kind === 'action' && action.id === id
    const rules = [...ruleEngine.rules.named].flatMap(([rule, { actions: all }]) =>
      listWithFallbacks(all).some(isIt) ? [rule] : [],
    )
    return [...rules, ...listActionsWithFallback(actions, isIt)]
  }
  if (kind === 'sources') return listRulesFrom(ruleEngine, id)
  const users: ReadonlyMap<string, { readonly connector: string | undefined }>[] = []
  if (isSinkType(type)) users.push(actions[type].named)
  if (type === 'mqtt' || isSourceType(type)) users.push(sources[type].named)
  return users
    .flatMap((configured) => [...configured])
    .flatMap(([action, { connector }]) => (connector === name ? [`${type}:${action}`] : []))
}

function listActionsWithFallback(
  actions: GodwitConfig['actions'],
  isIt: (fallback: PlainRuleAction) => boolean,
): readonly string[] {
  return (Object.keys(sinkTypes) as SinkTypeName[]).flatMap((type) => {
    const named: ReadonlyMap<string, ActionSettings> = actions[type].named
    return [...named].flatMap(([name, { fallback_actions: all }]) => (all.some(isIt) ? [`${type}:${name}`] : []))
  })
}

/** Rules with the source after FROM. */
function listRulesFrom({ rules }: GodwitConfig['ruleEngine'], source: string): readonly string[] {
  const { namespace, name } = splitScopedName(source)
  const hasSource = (sql: string): boolean => compileRule(sql).sources.some(({ text }) => text === `$bridges/${name}`)
  return [...rules.named].flatMap(([rule, { sql }]) =>
    splitScopedName(rule).namespace === namespace && hasSource(sql) ? [rule] : [],
  )
}

function isSinkType(type: string): type is SinkTypeName {
  return Object.hasOwn(sinkTypes, type)
}

function isSourceType(type: string): type is SourceTypeName {
  return Object.hasOwn(sourceTypes, type)
}
