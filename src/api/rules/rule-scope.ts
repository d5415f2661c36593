// Names of rules, connectors, actions and sources of one namespace, or of none. In the configuration their names end in the namespace
// (`hook@plant`): the namespace is added to names in requests and removed from names in replies, so that an account of a namespace cannot
// name anything else.

import { mapActionNames, mapSettingNames, type Resource } from '../../actions/index.ts'
import { toScopedName, splitScopedName } from '../../core/index.ts'
import type { SettingProblem } from '../context/setting-writer.ts'

/** Names of one namespace, or of none. */
export class RuleScope {
  readonly #namespace: string | undefined

  constructor(namespace: string | undefined) {
    this.#namespace = namespace
  }

  /** Returns the name in the configuration. */
  toScopedName(own: string): string {
    return toScopedName(this.#namespace, own)
  }

  /** Returns the name in this namespace; undefined if the name is of another namespace. */
  toOwnName(name: string): string | undefined {
    const split = splitScopedName(name)
    return split.namespace === this.#namespace ? split.name : undefined
  }

  readonly mapKeys = <Value>(all: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> =>
    new Map(
      [...all].flatMap(([name, value]) => {
        const own = this.toOwnName(name)
        return own === undefined ? [] : [[own, value] as const]
      }),
    )

  toOwnAction(action: unknown): unknown {
    return this.#namespace === undefined ? action : mapActionNames(action, (name) => splitScopedName(name).name)
  }

  toScopedSettings(settings: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return mapSettingNames(settings, (name) => this.toScopedName(name))
  }

  toOwnResources({ type, name, settings }: Resource): Resource[] {
    const own = this.toOwnName(name)
    if (own === undefined) return []
    if (this.#namespace === undefined) return [{ type, name: own, settings }]
    return [{ type, name: own, settings: mapSettingNames(settings, (scoped) => splitScopedName(scoped).name) }]
  }

  toOwnEntry<Stored extends { readonly rule: string }>(stored: Stored): Stored {
    return { ...stored, rule: splitScopedName(stored.rule).name }
  }

  toOwnProblem(problem: SettingProblem | undefined): SettingProblem | undefined {
    return problem === undefined ? undefined : { ...problem, problem: this.toOwnText(problem.problem) }
  }

  toOwnText(text: string): string {
    return this.#namespace === undefined ? text : text.replaceAll(toScopedName(this.#namespace, ''), '')
  }
}
