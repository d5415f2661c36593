// Network exposure of a node that may be unintended. Each is logged once at the start, by name.

import type { GodwitConfig } from '../config/index.ts'
import type { ShardListener } from '../shard/index.ts'

/** Fields of one log line. */
export interface ExposureWarning {
  readonly key: string
  readonly message: string
}

/** `apiHosts`: addresses that the management API is bound to. */
export function findExposureWarnings(
  { auth, http }: Pick<GodwitConfig, 'auth' | 'http'>,
  listeners: readonly Pick<ShardListener, 'kind' | 'name' | 'host' | 'port' | 'isLoopback' | 'gateway'>[],
  apiHosts: readonly string[],
): readonly ExposureWarning[] {
  const warnings: ExposureWarning[] = []
  if (auth.allowAnonymous === true) {
    for (const { kind, name, host, port, isLoopback, gateway } of listeners) {
      if (isLoopback) continue
      const what = gateway === undefined ? kind : `${gateway.name} over ${kind}`
      const message = `the listener ${what} ${name} on ${host}:${port} accepts clients without a password from the network: set auth.allow_anonymous = false`
      warnings.push({ key: 'auth.allow_anonymous', message })
    }
  }
  const wide = apiHosts.find((host) => host === '0.0.0.0' || host === '::')
  if (http.isEnabled && wide !== undefined) {
    const message = `the management API listens on all addresses (${wide}): set http_server.ip_addr to one address`
    warnings.push({ key: 'http_server.ip_addr', message })
  }
  return warnings
}
