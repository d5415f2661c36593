// The types of rules and actions that are derived from sections in the format of other brokers, such as NanoMQ.

import { checkSettings } from './check/check-settings.ts'
import type { ActionsConfig, ConnectorsConfig } from './godwit-config.ts'
import { createEmptyObject } from './hocon/merge.ts'
import type { RuleActionConfig } from './schema/rule-action.ts'
import type { Section, ValueOf } from './schema/setting.ts'

export interface DerivedRule {
  /** Starts with `$`, so that it differs from the ID of every configured rule. */
  readonly id: string
  /** Key of the section from which the rule is derived. */
  readonly key: string
  readonly sql: string
  readonly actions: readonly RuleActionConfig[]
}

type NamedOf<Part> = Part extends { readonly named: ReadonlyMap<string, infer Value> } ? Value : never

/** Types of actions that such sections can define. */
type DerivedType = 'http' | 'sqlite' | 'mysql' | 'pgsql' | 'timescale' | 'mqtt'

/** An action with its connector. */
export type DerivedAction = {
  readonly [Type in DerivedType]: {
    /** `type:name`; the name begins with `$`. */
    readonly id: string
    /** Key of the section. */
    readonly key: string
    readonly type: Type
    readonly connector: NamedOf<ConnectorsConfig[Type]>
    readonly action: NamedOf<ActionsConfig[Type]>
  }
}[DerivedType]

export interface DerivedRules {
  readonly rules: readonly DerivedRule[]
  readonly actions: readonly DerivedAction[]
}

const noPlace = { file: '', line: 0, column: 0 }

/** Returns the values of a section whose settings all have their defaults. */
export function createDefaultValues<Node extends Section>(node: Node): ValueOf<Node> {
  return checkSettings(node, createEmptyObject(noPlace)).values
}

/** Returns a string literal of SQL. */
export function quoteSqlText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}
