// Where `godwit plugins` works: a running broker, or the data directory of one that does not run.

import type { Outcome } from '../ctl/ctl-command.ts'

/** Each function returns what the command prints. */
export interface PluginTarget {
  list(): Promise<Outcome>
  /** `path`: the archive. */
  install(path: string, options: { readonly isUpgrade: boolean }): Promise<Outcome>
  uninstall(name: string): Promise<Outcome>
  /** The plugin starts, now if the broker runs, and with the broker. */
  enable(name: string): Promise<Outcome>
  disable(name: string): Promise<Outcome>
  reload(name: string): Promise<Outcome>
  /** Allows the permissions for which a version was refused. */
  allow(name: string): Promise<Outcome>
  /** `position`: `front`, `rear`, `before:NAME` or `after:NAME`. */
  move(name: string, position: string): Promise<Outcome>
}

/** Columns of the list. */
export const pluginColumns = [
  'name',
  'version',
  'status',
  'enabled',
  'network',
  'permissions',
  'hooks',
  'problem',
] as const

export function describeInstalled(name: string, version: string, isEnabled: boolean): string {
  const next = isEnabled ? '' : `; start it with: godwit plugins enable ${name}`
  return `${name} ${version} is installed${next}`
}

export function describeAllowed(name: string, permissions: readonly string[]): string {
  if (permissions.length === 0) return `no version of ${name} was refused for its permissions`
  return `${name} may have ${permissions.join(', ')}: upgrade it again`
}
