// The entries of the data directory: every file and directory that the broker creates there has its name from this list. So the list
// also says which paths a configuration from the API may not name.

export const dataEntries = {
  accessSecret: 'access-secret',
  audit: 'audit',
  backup: 'backup',
  certificates: 'certs',
  changedSettings: 'changed-settings.conf',
  configuration: 'godwit.conf',
  configurationHistory: 'config-history',
  /** What a program must know to use the control socket. */
  controlSecret: 'ctl.secret',
  controlSocket: 'ctl.sock',
  dashboardSocket: 'dashboard.sock',
  diskReserve: 'disk-reserve',
  lock: 'node.lock',
  log: 'log',
  monitorHistory: 'monitor-history.ndjson',
  nodeName: 'node-name',
  plugins: 'plugins',
  /** Names of single sockets follow. */
  pluginSocket: 'plugin.sock',
  restored: 'restored',
  store: 'store',
  trace: 'trace',
} as const

/** The end of the names of quarantined data. */
export const damagedEnding = '.damaged'

/** Directories from which settings may read files and in which no setting may write. */
const readOnly: ReadonlySet<string> = new Set([dataEntries.certificates, dataEntries.restored])

/** Returns whether a setting from the API must not name a path below `entry`. `use`: the last part of the key of the setting. */
export function isReservedEntry(entry: string, { use, isWritten }: { use: string; isWritten: boolean }): boolean {
  // Drafts and probes of the broker begin with a dot.
  if (entry.startsWith('.') || entry.endsWith(damagedEnding)) return true
  const own = Object.values(dataEntries).find((name) => isDerivedFrom(entry, name))
  if (own === undefined) return false
  // Imports and uploads replace files there: the text of an include would change without a check.
  if (readOnly.has(own)) return entry === own && (isWritten || use === 'include')
  // Only the log (`log.dir`) writes there, and nothing is read.
  return own === dataEntries.log ? entry === own && !(isWritten && use === 'dir') : true
}

/** Including derived names: `godwit.conf.bak`, `disk-reserve.new`, `store.damaged`. */
function isDerivedFrom(entry: string, name: string): boolean {
  return entry === name || entry.startsWith(`${name}.`) || entry.startsWith(`${name}-`)
}
