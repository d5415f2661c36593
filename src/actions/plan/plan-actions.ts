// Plans the actions: settings are checked, and connectors and fallbacks looked up. A problem starts with the key of a setting.

import type { GodwitConfig } from '../../config/index.ts'
import { splitScopedName } from '../../core/index.ts'
import { compileTemplate } from '../../rules/index.ts'
import { type ActionSettings, type ConnectorSettings, type SinkTypeName, sinkTypes } from '../../sinks/index.ts'
import type { ActionAssignment, PlanProblem } from './rule-plan.ts'

/** Maximum number of actions of one node. */
const maxActions = 1_000

/**
 * Settings of actions and connectors that were checked, with their problem. Settings that change are another object. The same settings have
 * the same type: it is part of the key under which they were read.
 */
const checkedSettings = new WeakMap<ActionSettings | ConnectorSettings, { readonly problem: string | undefined }>()

function findKnownProblem(
  settings: ActionSettings | ConnectorSettings,
  find: () => string | undefined,
): string | undefined {
  const known = checkedSettings.get(settings)
  if (known !== undefined) return known.problem
  const problem = find()
  checkedSettings.set(settings, { problem })
  return problem
}

export function planActions(config: GodwitConfig): { readonly actions: readonly ActionAssignment[] } | PlanProblem {
  const actions: ActionAssignment[] = []
  for (const type of Object.keys(sinkTypes) as SinkTypeName[]) {
    const connectors: ReadonlyMap<string, ConnectorSettings> = config.connectors[type].named
    const configured: ReadonlyMap<string, ActionSettings> = config.actions[type].named
    for (const [name, connector] of connectors) {
      const problem = findKnownProblem(connector, () => sinkTypes[type].findConnectorProblem(connector))
      if (problem !== undefined) return { problem: `connectors.${type}.${name}.${problem}` }
    }
    for (const [name, action] of configured) {
      const key = `actions.${type}.${name}`
      const connector = action.connector === undefined ? undefined : connectors.get(action.connector)
      if (connector === undefined)
        return { problem: `${key}.connector: ${describeConnectorProblem(type, action.connector)}` }
      const problem = findKnownProblem(action, () => sinkTypes[type].findActionProblem(action, compileTemplate))
      if (problem !== undefined) return { problem: `${key}.${problem}` }
      actions.push({ id: `${type}:${name}`, type, action, connector: connector.enable ? connector : undefined })
    }
  }
  if (actions.length > maxActions) return { problem: `actions: there are more than ${maxActions} actions` }
  return findFallbackProblem(actions) ?? { actions }
}

function findFallbackProblem(actions: readonly ActionAssignment[]): PlanProblem | undefined {
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

/** Returns why the connector of an action or source cannot be used. */
export function describeConnectorProblem(type: string, name: string | undefined): string {
  if (name === undefined) return `an action needs the name of a connector: configure connectors.${type}`
  return `connector not found: ${JSON.stringify(name)}; configure connectors.${type}.${name}`
}
