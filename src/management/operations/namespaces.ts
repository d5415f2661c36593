import type { Wisher } from './control.ts'
import type { NotStored } from './credentials.ts'

export interface Namespace {
  readonly name: string
  /** undefined: a listener or an account names it, and nobody made it. */
  readonly createdAtMs: number | undefined
}

/** What the management asks about namespaces themselves. */
export interface NamespaceOperations {
  /** By name. */
  list(): readonly Namespace[]
  create(name: string, by: Wisher): Promise<Namespace | 'exists' | 'too-many' | NotStored>
  /** With its credentials, rules and bans. `in-use`: accounts are kept to it, or a listener names it. */
  remove(name: string, by: Wisher): Promise<'removed' | 'missing' | 'in-use' | NotStored>
}
