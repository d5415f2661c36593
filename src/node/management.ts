// The management API of this node: which accounts there are, what it is asked, and where it listens.

import type { GodwitConfig, HttpServerConfig } from '../config/index.ts'
import { createManagementServer, type ManagementServer, type Operations } from '../management/index.ts'
import type { Logger } from '../telemetry/index.ts'
import { hostsOfPort } from './listener-addresses.ts'
import { type ConfiguredAccount, ownAccounts } from './accounts.ts'

export interface ManagementAddress {
  readonly host: string
  readonly port: number
}

export interface RunningManagement {
  /** undefined: it is not served over HTTP. */
  readonly address: ManagementAddress | undefined
  /** Made at this start because none was set: to be shown once. */
  readonly newPassword: ConfiguredAccount | undefined
  close(): Promise<void>
}

export interface ManagementGround {
  readonly config: GodwitConfig
  readonly operations: Operations
  readonly log: Logger
}

/** A problem is a sentence for the operator. */
export async function startManagement(ground: ManagementGround): Promise<RunningManagement | { problem: string }> {
  const { config, operations, log } = ground
  const { accounts, newPassword } = ownAccounts(config)
  if (!config.http.isEnabled) return { address: undefined, newPassword: undefined, close: async () => {} }
  const server = createManagementServer({ operations, accounts, log, maxBodyBytes: config.http.maxBodyBytes })
  const listening = await listen(server, config, config.http)
  if (!('problem' in listening)) return { address: listening, newPassword, close: () => server.close() }
  await server.close()
  // Whoever has said where the API is to be wants it there. By default it only would be nice to have.
  if (config.places.has('http_server.port') || config.places.has('http_server.ip_addr')) return listening
  log.error('the API is not served over HTTP', { why: listening.problem })
  return { address: undefined, newPassword, close: async () => {} }
}

async function listen(
  server: ManagementServer,
  config: GodwitConfig,
  { host, port }: HttpServerConfig,
): Promise<ManagementAddress | { problem: string }> {
  const hosts = host === undefined ? hostsOfPort(config) : [host]
  let problem = ''
  for (const candidate of hosts) {
    const listening = await server.listen({ host: candidate, port })
    if (!('problem' in listening)) return { host: candidate, port: listening.port }
    problem = listening.problem
  }
  return { problem }
}
