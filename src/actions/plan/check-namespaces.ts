// Checks rules, actions, connectors and sources of namespaces: they may use only those of their own namespace, and their number
// is limited. Their names in the configuration end in the namespace: `hook@plant`.

import { type GodwitConfig, listWithFallbacks } from '../../config/index.ts'
import { splitScopedName } from '../../core/index.ts'
import type { PlanProblem } from './rule-plan.ts'

type Named = ReadonlyMap<string, { readonly connector?: string | undefined }>

/** Returns the first use across namespaces or the first exceeded limit. The text of a problem begins with the key of a setting. */
export function findNamespaceProblem(config: GodwitConfig): PlanProblem | undefined {
  const { maxRules = Infinity, maxActions = Infinity } = config.namespaces ?? {}
  const { rules } = config.ruleEngine
  return (
    findRuleProblem(config) ??
    findCountProblem('rule_engine.rules', rules.named.keys(), { max: maxRules, setting: 'namespaces.max_rules' }) ??
    findKindProblem('connectors', config.connectors, maxActions) ??
    findKindProblem('actions', config.actions, maxActions) ??
    findKindProblem('sources', config.sources, maxActions)
  )
}

function findRuleProblem({ ruleEngine }: GodwitConfig): PlanProblem | undefined {
  for (const [id, { actions }] of ruleEngine.rules.named) {
    const { namespace } = splitScopedName(id)
    for (const action of listWithFallbacks(actions)) {
      if (action.kind === 'action' && splitScopedName(action.id).namespace !== namespace)
        return { problem: `rule_engine.rules.${id}.actions: ${action.id} belongs to another namespace` }
    }
  }
  return undefined
}

function findKindProblem(
  kind: 'connectors' | 'actions' | 'sources',
  types: Readonly<Record<string, unknown>>,
  max: number,
): PlanProblem | undefined {
  const names: string[] = []
  for (const [type, section] of Object.entries(types)) {
    const named = readNamed(section)
    for (const [name, { connector }] of named) {
      names.push(name)
      if (connector !== undefined && splitScopedName(connector).namespace !== splitScopedName(name).namespace)
        return {
          problem: `${kind}.${type}.${name}.connector: ${JSON.stringify(connector)} belongs to another namespace`,
        }
    }
  }
  return findCountProblem(kind, names, { max, setting: 'namespaces.max_actions' })
}

function readNamed(section: unknown): Named {
  const isSection = typeof section === 'object' && section !== null && 'named' in section
  return isSection && section.named instanceof Map ? (section.named as Named) : new Map()
}

function findCountProblem(
  key: string,
  names: Iterable<string>,
  { max, setting }: { readonly max: number; readonly setting: string },
): PlanProblem | undefined {
  const counts = new Map<string, number>()
  for (const name of names) {
    const { namespace } = splitScopedName(name)
    if (namespace === undefined) continue
    const count = (counts.get(namespace) ?? 0) + 1
    if (count > max) return { problem: `${key}: the namespace ${namespace} has more than ${max}: see ${setting}` }
    counts.set(namespace, count)
  }
  return undefined
}

/** Returns whether rules, connectors, actions or sources are of the namespace. */
export function hasRules(config: GodwitConfig, namespace: string): boolean {
  const { ruleEngine, connectors, actions, sources } = config
  const sections = [connectors, actions, sources].flatMap((types) => Object.values(types).map(readNamed))
  const names = [ruleEngine.rules.named, ...sections].flatMap((named) => [...named.keys()])
  return names.some((name) => splitScopedName(name).namespace === namespace)
}
