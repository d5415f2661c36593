// Whether the settings of `cluster` fit together, and which other settings a node of a cluster cannot have.

import { createConfigError, type ConfigError } from '../hocon/config-errors.ts'
import type { Position } from '../hocon/config-values.ts'
import type { SettingValues } from '../settings/root.ts'

const maxListenPort = 65_534
const tlsFiles = ['cacertfile', 'certfile', 'keyfile'] as const

export function checkCluster(
  { cluster, gateway }: Pick<SettingValues, 'cluster' | 'gateway'>,
  places: ReadonlyMap<string, Position>,
): readonly ConfigError[] {
  if (!cluster.enable) return []
  const errors: ConfigError[] = []
  const complain = (key: string, message: string, hint: string): void => {
    const at = places.get(`cluster.${key}`) ?? places.get('cluster.enable')
    errors.push(createConfigError(at ?? { file: 'configuration', line: 0, column: 0 }, `cluster.${key}`, message, hint))
  }
  const missing = tlsFiles.filter((key) => cluster.tls[key] === undefined)
  const [firstMissing] = missing
  if (missing.length === tlsFiles.length) {
    if (cluster.secret === undefined) {
      complain('secret', 'nodes cannot authenticate each other', 'set cluster.secret, or the files of cluster.tls')
    }
  } else if (firstMissing !== undefined) {
    complain(`tls.${firstMissing}`, 'it is missing', 'set cacertfile, certfile and keyfile of cluster.tls')
  }
  for (const key of ['listen', 'advertise'] as const) {
    const port = cluster[key]?.port
    if (port === undefined || (port > 0 && port <= maxListenPort)) continue
    complain(key, `the port ${port} has no next port for heartbeats`, `choose a port from 1 to ${maxListenPort}`)
  }
  const host = cluster.advertise?.host ?? cluster.listen.host
  if (host === undefined || host === '0.0.0.0' || host === '::') {
    complain(
      'advertise',
      'it has no address by which other nodes reach this one',
      'set host and port, such as "10.0.0.7:7880"',
    )
  }
  const enabled = findGatewayWithListener(gateway, places)
  if (enabled !== undefined) {
    complain('enable', `the gateway ${enabled} does not work in a cluster yet`, `set gateway.${enabled}.enable = false`)
  }
  return errors
}

/** A gateway runs if it has a listener. */
function findGatewayWithListener(
  gateway: SettingValues['gateway'],
  places: ReadonlyMap<string, Position>,
): string | undefined {
  const settings: Readonly<Record<string, unknown>> = gateway
  for (const key of places.keys()) {
    const [, name] = /^gateway\.([^.]+)\.listeners\./.exec(key) ?? []
    if (name !== undefined && !isDisabled(settings[name])) return name
  }
  return undefined
}

function isDisabled(settings: unknown): boolean {
  return typeof settings === 'object' && settings !== null && 'enable' in settings && settings.enable === false
}
