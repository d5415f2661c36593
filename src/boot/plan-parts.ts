// Plans all parts of a node from its configuration, before the store is opened and the shards are started.

import { planRules } from '../actions/index.ts'
import {
  toAccessSettings,
  Alarms,
  GatewayPlanner,
  listApiHosts,
  openDashboardListener,
  planBridges,
  type Problem,
  resolveListeners,
  settleAccessSecret,
  settleNodeName,
  resolveShardCount,
  omitMissingQuic,
} from '../node/index.ts'
import type { PreparedParts } from './config-parts.ts'
import { findExposureWarnings } from './find-exposure-warnings.ts'
import { findManagementProblem } from './management.ts'
import { openPluginLibrary } from './plugin-parts.ts'
import { restoreSettings } from './restore-settings.ts'
import type { NodeOptions } from './running-node.ts'

/** Returns the parts, or why the configuration cannot be used on this machine. Also writes warnings to the log. */
export async function planParts(
  options: NodeOptions,
  dependencies: Pick<PreparedParts, 'directory' | 'lock' | 'log'>,
): Promise<PreparedParts | Problem> {
  const { config } = options
  const name = await settleNodeName(dependencies.directory, config.node.name)
  if (typeof name !== 'string') return name
  const access = await settleAccessSecret(dependencies.directory)
  if ('problem' in access) return access
  const { secret: accessSecret } = access
  const converted = toAccessSettings(config, accessSecret)
  if ('problem' in converted) return converted
  const plannedBridges = planBridges(config, accessSecret)
  if ('problem' in plannedBridges) return plannedBridges
  const plannedRules = planRules(config, name)
  if ('problem' in plannedRules) return plannedRules
  const gatewayPlanner = new GatewayPlanner(resolveShardCount(config))
  const plannedGateways = await gatewayPlanner.plan(config, [])
  if ('problem' in plannedGateways) return plannedGateways
  const resolved = await resolveListeners(config)
  if ('problem' in resolved) return resolved
  const managementProblem = await findManagementProblem(config)
  if (managementProblem !== undefined) return managementProblem
  const plugins = await openPluginLibrary(dependencies.directory)
  if ('problem' in plugins) return plugins
  const listeners = await omitMissingQuic(resolved.listeners, dependencies.log)
  const apiHosts = listApiHosts(config)
  for (const warning of findExposureWarnings(
    config,
    [...listeners, ...plannedGateways.plan.map(({ listener }) => listener)],
    apiHosts,
  ))
    dependencies.log.warn('configuration', { ...warning })
  const alarms = new Alarms(dependencies)
  if (access.loss !== undefined) alarms.raise('secret-replaced', access.loss)
  await restoreSettings(options, alarms)
  return {
    ...dependencies,
    alarms,
    name,
    accessSecret,
    ...converted,
    listeners,
    bridges: plannedBridges.plans,
    rules: plannedRules.plan,
    gateways: plannedGateways.plan,
    gatewayPlanner,
    pluginLibrary: plugins.library,
    dashboard: await openDashboardListener(dependencies.directory, { node: config.node, log: dependencies.log }),
  }
}
