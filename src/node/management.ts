// The management API of this node: who may use it, what it is asked, and where it listens: over HTTP as the
// configuration says, and on a socket in the data directory for whoever may read that.

import { lookup } from 'node:dns/promises'
import type { GodwitConfig, HttpServerConfig } from '../config/index.ts'
import {
  createDoorkeeper,
  createManagementServer,
  type Doorkeeper,
  type ManagementServer,
  type Operations,
  socketDoorkeeper,
} from '../management/index.ts'
import type { Logger } from '../telemetry/index.ts'
import type { AccessRecords } from './access-records.ts'
import { prepareControlSocket } from './control-socket.ts'
import { hostsOfPort, isLoopbackAddress } from './listener-addresses.ts'
import { accountOperations } from './operations/accounts.ts'
import { apiTokens } from './operators/api-tokens.ts'
import { PasswordWork } from './operators/kept-passwords.ts'
import { operatorLogins } from './operators/logins.ts'
import { operatorSignIn } from './operators/operator-sign-in.ts'
import { dangerOfPassword, makeFirstPassword, type NewPassword, ownAccountOf } from './operators/own-account.ts'

export interface ManagementAddress {
  readonly host: string
  readonly port: number
}

export interface RunningManagement {
  /** undefined: it is not served over HTTP. */
  readonly address: ManagementAddress | undefined
  /** Made at this start because none was set: to be shown once. */
  readonly newPassword: NewPassword | undefined
  close(): Promise<void>
}

export interface ManagementGround {
  readonly config: GodwitConfig
  readonly dataDirectory: string
  /** All but those about accounts. */
  readonly operations: Omit<Operations, 'accounts'>
  readonly accessRecords: AccessRecords
  readonly log: Logger
}

type Problem = { readonly problem: string }

/** A problem is a sentence for the operator. */
export async function startManagement(ground: ManagementGround): Promise<RunningManagement | Problem> {
  const { config, accessRecords: records, log } = ground
  const tokens = apiTokens(config)
  if ('problem' in tokens) return tokens
  const work = new PasswordWork()
  const own = ownAccountOf(config, records)
  const isHardened = config.node.securityProfile === 'hardened'
  const refusesPeople = config.http.authType === 'jwt'
  const accounts = operatorSignIn({ records, work, own, isHardened, refusesPeople, nowMs: () => Date.now() })
  const logins = operatorLogins({ records, own, nowMs: () => performance.now() })
  const doorkeeper = createDoorkeeper({ accounts, logins, ...tokens, isOpen: config.http.authType === 'no_auth' })
  const ofAccounts = accountOperations({ records, work, own, isHardened, log })
  const doors = { ...ground, doorkeeper, operations: { ...ground.operations, accounts: ofAccounts } }
  const served = config.http.isEnabled ? await serveHttp(doors) : notServed
  if ('problem' in served) return served
  const closeSocket = await serveSocket(doors)
  const needsPassword = served.address !== undefined && config.http.authType === 'basic'
  const newPassword = needsPassword ? await makeFirstPassword(own, records, work) : undefined
  const close = async (): Promise<void> => void (await Promise.all([served.close(), closeSocket()]))
  return { address: served.address, newPassword, close }
}

/** Why it could not be served as `config` says, as far as that can be known without trying. */
export async function problemOfManagement(config: GodwitConfig): Promise<Problem | undefined> {
  const tokens = apiTokens(config)
  if ('problem' in tokens) return { problem: tokens.problem }
  const danger = config.http.isEnabled ? await dangerOf(config) : undefined
  return danger !== undefined && 'problem' in danger ? danger : undefined
}

interface Doors extends Pick<ManagementGround, 'config' | 'dataDirectory' | 'log'> {
  readonly operations: Operations
  readonly doorkeeper: Doorkeeper
}

const nothingToClose = async (): Promise<void> => {}
const notServed = { address: undefined, close: nothingToClose }

async function serveHttp(doors: Doors): Promise<Pick<RunningManagement, 'address' | 'close'> | Problem> {
  const { config, log } = doors
  const danger = await dangerOf(config)
  if (danger !== undefined && 'problem' in danger) return danger
  if (danger !== undefined) log.warn('configuration', danger)
  const server = serverOf(doors)
  const listening = await listen(server, config, config.http)
  if (!('problem' in listening)) return { address: listening, close: () => server.close() }
  await server.close()
  // Whoever has said where the API is to be wants it there. By default it only would be nice to have.
  if (config.places.has('http_server.port') || config.places.has('http_server.ip_addr')) return listening
  log.error('the API is not served over HTTP', { why: listening.problem })
  return notServed
}

function serverOf({ operations, doorkeeper, config, log }: Doors): ManagementServer {
  const { maxBodyBytes, maxRequests } = config.http
  return createManagementServer({ operations, doorkeeper, log, maxBodyBytes, maxRequests })
}

/** What must not be reached by others is not opened to them. */
async function dangerOf(config: GodwitConfig): Promise<{ readonly warning: string } | Problem | undefined> {
  const { http } = config
  const hosts = http.host === undefined ? hostsOfPort(config) : [http.host]
  const isLoopback = (await Promise.all(hosts.map(isLoopbackHost))).every(Boolean)
  if (http.authType === 'no_auth' && !isLoopback) {
    return { problem: 'http_server.auth_type: no_auth is for loopback only: set http_server.ip_addr = "127.0.0.1"' }
  }
  return dangerOfPassword(config, isLoopback)
}

/** A name counts by the addresses that it leads to. */
async function isLoopbackHost(host: string): Promise<boolean> {
  try {
    const addresses = await lookup(host, { all: true })
    return addresses.every(({ address }) => isLoopbackAddress(address))
  } catch {
    // Listening there will say what is wrong with it.
    return false
  }
}

/** The broker does without it where the file system has no sockets. */
async function serveSocket(doors: Doors): Promise<() => Promise<void>> {
  const { log, dataDirectory } = doors
  const server = serverOf({ ...doors, doorkeeper: socketDoorkeeper(doors.doorkeeper) })
  try {
    const place = await prepareControlSocket(dataDirectory)
    const listening = await server.listen({ path: place.path })
    if (!('problem' in listening)) {
      return async () => {
        await server.close()
        await place.remove()
      }
    }
    log.error('godwit ctl cannot reach this node', { why: listening.problem })
    await place.remove()
  } catch (error) {
    log.error('godwit ctl cannot reach this node', { why: (error as Error).message })
  }
  await server.close()
  return nothingToClose
}

async function listen(
  server: ManagementServer,
  config: GodwitConfig,
  { host, port }: HttpServerConfig,
): Promise<ManagementAddress | Problem> {
  const hosts = host === undefined ? hostsOfPort(config) : [host]
  let problem = ''
  for (const candidate of hosts) {
    const listening = await server.listen({ host: candidate, port })
    if (!('problem' in listening)) return { host: candidate, port: listening.port }
    problem = listening.problem
  }
  return { problem }
}
