// Derives rules and actions from sections of the configuration that other brokers have: `webhook` of EMQX, `rules` of NanoMQ.

import { resolve } from 'node:path'
import {
  type DerivedRules,
  deriveNanoMqRules,
  deriveWebhookRules,
  type GodwitConfig,
  maskUrlSecrets,
} from '../../config/index.ts'
import { RuleCompileError, listSelectedNames } from '../../rules/index.ts'
import type { PlanProblem, ResourceKind } from './rule-plan.ts'

/** A connector, an action or a source with its settings, as plain values; secrets are masked. */
export interface Resource {
  readonly type: string
  readonly name: string
  readonly settings: Readonly<Record<string, unknown>>
}

/** Returns all derived rules and actions. A problem begins with the key of a setting. */
export function deriveRules({ webhook, nanoMqRules }: GodwitConfig): DerivedRules | PlanProblem {
  const { sqlite } = nanoMqRules
  const path = sqlite.path === undefined ? undefined : resolve(sqlite.path)
  const found = deriveNanoMqRules({ ...nanoMqRules, sqlite: { ...sqlite, path } }, { findSelectedFields: listFields })
  if ('problem' in found) return found
  const ofWebhook = deriveWebhookRules(webhook)
  return { rules: [...ofWebhook.rules, ...found.rules], actions: [...ofWebhook.actions, ...found.actions] }
}

function listFields(sql: string): ReturnType<typeof listSelectedNames> {
  try {
    return listSelectedNames(sql)
  } catch (error) {
    // The error is reported when the rule itself is compiled.
    if (error instanceof RuleCompileError) return undefined
    throw error
  }
}

/** A derived connector or action, as lists show it. */
export interface DerivedResource {
  readonly type: string
  readonly name: string
  readonly settings: Readonly<Record<string, unknown>>
}

/** Returns derived connectors or actions as lists show them, without secrets. */
export function listDerivedResources(config: GodwitConfig, kind: ResourceKind): readonly DerivedResource[] {
  const derived = deriveRules(config)
  if ('problem' in derived || kind === 'sources') return []
  return derived.actions.map(({ id, type, key, connector, action }) => {
    const name = id.slice(id.indexOf(':') + 1)
    const description = `Made by ${key} of the configuration. Change it there.`
    const own =
      kind === 'connectors' ? selectAddress(connector) : { connector: name, parameters: selectTexts(action.parameters) }
    return { type, name, settings: { enable: true, description, ...own } }
  })
}

/** Returns the section from which a connector or an action is derived; undefined: it has its own section. */
export function findDerivedKey(config: GodwitConfig, id: string): string | undefined {
  const derived = deriveRules(config)
  return 'problem' in derived ? undefined : derived.actions.find((action) => action.id === id)?.key
}

const placeNames = ['url', 'server', 'path', 'database']

function selectAddress(connector: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(connector).flatMap(([name, value]) =>
      placeNames.includes(name) && value !== undefined ? [[name, maskValue(value)]] : [],
    ),
  )
}

function maskValue(value: unknown): unknown {
  return typeof value === 'string' ? maskUrlSecrets(value) : value
}

/** Returns only parameters that are texts: headers may contain secrets. */
function selectTexts(parameters: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(parameters).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, maskUrlSecrets(value)]] : [],
    ),
  )
}
