// The management API of this node: accounts, operations and addresses. It is served over HTTP as configured, and on a
// socket in the data directory for users who can read that.

import { lookup } from 'node:dns/promises'
import { join } from 'node:path'
import type { GodwitConfig } from '../config/index.ts'
import {
  closeGraceMs,
  createAuthenticator,
  createManagementServer,
  DashboardFiles,
  maxSocketHeaderBytes,
  type Logins,
  type ManagementServer,
  type ManagementSettings,
  type SecondFactors,
  type SingleSignOn,
  createSocketAuthenticator,
  AuthQueue,
} from '../management/index.ts'
import { StoredAccounts, endpoints, createHandlerFactory, type NodeParts, type ShutdownRequests } from '../api/index.ts'
import type { Logger } from '../telemetry/index.ts'
import {
  type ConfigConsumer,
  type Problem,
  controlSocketName,
  writeControlSecret,
  prepareSocketPath,
  listApiHosts,
  listPortHosts,
  isLoopbackAddress,
  createApiTokens,
  PasswordHasher,
  RecentLogins,
  createSecondFactors,
  admitOidcUser,
  OidcProviders,
  createOidcLogin,
  createAdminLogins,
  createAdminAuthentication,
  type ConfiguredAccount,
  findPasswordRisk,
  generateAdminPassword,
  type NewPassword,
  resolveConfiguredAccount,
} from '../node/index.ts'
import { type HttpAddress, type HttpPlace, HttpEndpoint } from './http-endpoint.ts'

export interface RunningManagement {
  /** HTTP address of the API; undefined: the API is not served. */
  readonly address: HttpAddress | undefined
  /** Address of `dashboard.bind`, or that of the API; undefined: the dashboard is not served. */
  readonly dashboardAddress: HttpAddress | undefined
  /** Password that was created at this start because none was set. It must be shown once. */
  readonly newPassword: NewPassword | undefined
  /** Consumer of `http_server`. */
  readonly consumer: ConfigConsumer
  close(): Promise<void>
}

export interface ManagementDependencies {
  readonly node: NodeParts
  /** The folder with `bin/` and the build. Absolute. */
  readonly installationRoot: string
  /** Socket for MQTT clients of the dashboard; undefined: none. */
  readonly dashboardSocket: string | undefined
  readonly control: ShutdownRequests
}

/** Starts the API. A `problem` is a sentence for administrators. */
export async function startManagement(dependencies: ManagementDependencies): Promise<RunningManagement | Problem> {
  const { node, control } = dependencies
  const { config, accessRecords: records, log } = node
  const accounts = new AdminAccounts(node)
  const settings = accounts.createSettings(config)
  if ('problem' in settings) return settings
  const served = {
    endpoints,
    handlersFor: createHandlerFactory(node, { control, accounts: accounts.stored }),
    audit: node.audit,
    log,
  }
  const dashboardFiles = new DashboardFiles(join(dependencies.installationRoot, 'dist', 'dashboard'))
  const { dashboardSocket: mqttSocket } = dependencies
  const create = (settings: ManagementSettings): ManagementServer =>
    createManagementServer({ ...served, dashboardFiles, mqttSocket, ...settings })
  const http = new HttpEndpoint(create, log)
  const dashboard = new HttpEndpoint(create, log)
  const problem =
    (await findExposureProblem(config, log)) ??
    (await http.change(toHttpPlace(config, config), settings)) ??
    (await dashboard.change(toDashboardPlace(config, config), settings))
  if (problem !== undefined) {
    await Promise.all([http.close(), dashboard.close()])
    return problem
  }
  accounts.apply(config)
  const socketSecret = await writeControlSecret(node.dataDirectory)
  const toSocketSettings = (applied: ManagementSettings): ManagementSettings => ({
    ...applied,
    authenticator: createSocketAuthenticator(applied.authenticator, socketSecret.secret),
  })
  const socket = createManagementServer({
    ...served,
    headerBytes: maxSocketHeaderBytes,
    ...toSocketSettings(settings),
  })
  const closeSocket = await serveSocket(socket, node)
  const needsPassword = http.address !== undefined && config.http.authType === 'basic'
  const newPassword = needsPassword ? await generateAdminPassword(accounts.own, records, accounts.work) : undefined
  return {
    get address() {
      return http.address
    },
    get dashboardAddress() {
      return dashboard.address ?? (config.http.dashboard === undefined ? undefined : http.address)
    },
    newPassword,
    consumer: createConsumer(node, { accounts, http, dashboard, socket, toSocketSettings, settings }),
    close: async () => {
      accounts.authQueue.close()
      accounts.oidc.close()
      await Promise.all([http.close(), dashboard.close(), closeSocket(), socketSecret.remove()])
      // The connections of waiting requests are closed, so their passwords are not checked: that would delay the shutdown by many seconds.
      accounts.work.close()
    },
  }
}

interface ConsumerDependencies {
  readonly accounts: AdminAccounts
  readonly http: HttpEndpoint
  /** The listener of `dashboard.bind`. */
  readonly dashboard: HttpEndpoint
  /** Settings of the start. */
  readonly settings: ManagementSettings
  readonly socket: ManagementServer
  readonly toSocketSettings: (settings: ManagementSettings) => ManagementSettings
}

/**
 * Returns the consumer of `http_server` and `dashboard`. It is called at every change, because the file with the key for tokens may
 * have changed.
 */
function createConsumer({ config: atStart, log }: NodeParts, dependencies: ConsumerDependencies): ConfigConsumer {
  const { accounts, http, dashboard, socket, toSocketSettings } = dependencies
  let appliedHttp = JSON.stringify(atStart.http)
  let before = { place: toDashboardPlace(atStart, atStart), settings: dependencies.settings }
  return {
    canApply: (key) => key.startsWith('http_server.') || key.startsWith('dashboard.'),
    isAlwaysApplied: true,
    apply: async (config) => {
      const newHttp = JSON.stringify(config.http)
      if (newHttp === appliedHttp) return undefined
      const settings = accounts.createSettings(config)
      if ('problem' in settings) return settings
      const problem = accounts.findAccountProblem(config) ?? (await findExposureProblem(config, log))
      if (problem !== undefined) return problem
      const place = toDashboardPlace(config, atStart)
      const unserved =
        (await dashboard.change(place, settings)) ?? (await http.change(toHttpPlace(config, atStart), settings))
      if (unserved !== undefined) {
        await dashboard.change(before.place, before.settings)
        return unserved
      }
      before = { place, settings }
      socket.change(toSocketSettings(settings))
      accounts.apply(config)
      appliedHttp = newHttp
      return undefined
    },
  }
}

/** Returns undefined if the dashboard has no listener of its own. */
function toDashboardPlace({ http }: GodwitConfig, atStart: GodwitConfig): HttpPlace | undefined {
  const bind = http.dashboard?.bind
  if (!http.isEnabled || bind === undefined) return undefined
  const hosts = bind.host === undefined ? listPortHosts(atStart) : [bind.host]
  return { key: 'dashboard.bind', hosts, port: bind.port, isNamed: true }
}

/** Returns undefined if the API is not served over HTTP. The addresses of a port without a host are those of the start. */
function toHttpPlace({ http, places }: GodwitConfig, atStart: GodwitConfig): HttpPlace | undefined {
  if (!http.isEnabled) return undefined
  const isNamed = places.has('http_server.port') || places.has('http_server.ip_addr')
  const hosts = http.host === undefined ? listPortHosts(atStart) : [http.host]
  return { key: 'http_server.port', hosts, port: http.port, isNamed }
}

/** Accounts according to the current configuration. */
class AdminAccounts {
  readonly work: PasswordHasher
  readonly authQueue: AuthQueue
  readonly oidc = new OidcProviders()
  readonly stored: StoredAccounts
  readonly #logins: Logins
  readonly #secondFactors: SecondFactors
  readonly #singleSignOn: SingleSignOn
  readonly #recent = new RecentLogins()
  readonly #dependencies: NodeParts
  #own: ConfiguredAccount
  /** Whether the account of `http_server` is refused: with `auth_type = jwt`. */
  #refusesOwn: boolean

  constructor(dependencies: NodeParts) {
    const { config, accessRecords: records, log } = dependencies
    this.work = new PasswordHasher()
    this.authQueue = new AuthQueue(log)
    this.#dependencies = dependencies
    this.#own = resolveConfiguredAccount(config, records)
    this.#refusesOwn = isAccountRefused(config)
    const isHardened = config.node.securityProfile === 'hardened'
    const readConfiguredAccount = (): ConfiguredAccount => this.#own
    this.stored = new StoredAccounts({ records, work: this.work, readConfiguredAccount, isHardened, log })
    const canLogIn = (name: string): boolean => !this.#refusesOwn || name !== this.#own.username
    const { nodeName } = dependencies
    this.#secondFactors = createSecondFactors({ records, readConfiguredAccount, nodeName, nowMs: () => Date.now() })
    this.#logins = createAdminLogins({ records, readConfiguredAccount, canLogIn, nowMs: readMonotonicMs })
    const admit = admitOidcUser({ records, readConfiguredName: () => this.#own.username, log })
    this.#singleSignOn = createOidcLogin({ readProvider: () => this.oidc.current, admit, nowMs: readMonotonicMs })
  }

  get own(): ConfiguredAccount {
    return this.#own
  }

  apply(config: GodwitConfig): void {
    this.#refusesOwn = isAccountRefused(config)
    this.oidc.take(config)
    const { username, password } = resolveConfiguredAccount(config, this.#dependencies.accessRecords)
    // The object is replaced only if the account has changed, because logins refer to the object and end with it.
    if (username !== this.#own.username || password !== this.#own.password) this.#own = { username, password }
  }

  createSettings(config: GodwitConfig): ManagementSettings | Problem {
    const tokens = createApiTokens(config)
    if ('problem' in tokens) return tokens
    const { http, node } = config
    const { accessRecords: records } = this.#dependencies
    const accounts = createAdminAuthentication({
      records,
      work: this.work,
      recent: this.#recent,
      own: resolveConfiguredAccount(config, records),
      isHardened: node.securityProfile === 'hardened',
      refusesOwn: isAccountRefused(config),
      nowMs: () => Date.now(),
    })
    const authentication = {
      accounts,
      logins: this.#logins,
      secondFactors: this.#secondFactors,
      singleSignOn: this.#singleSignOn,
      ...tokens,
      isOpen: http.authType === 'no_auth',
    }
    const authenticator = createAuthenticator(authentication, this.authQueue)
    return { authenticator, ...http.limits, dashboard: http.dashboard }
  }

  /**
   * Returns a problem if the account of `http_server` has no password. Only a start creates a password, because it can show it.
   */
  findAccountProblem(config: GodwitConfig): Problem | undefined {
    const { accessRecords: records } = this.#dependencies
    const { username, password } = resolveConfiguredAccount(config, records)
    if (!config.http.isEnabled || config.http.authType !== 'basic' || password !== undefined) return undefined
    if (records.find({ kind: 'account', name: username }) !== undefined) return undefined
    return {
      problem: `http_server.username: ${JSON.stringify(username)} has no password yet: set http_server.password as well`,
    }
  }
}

const readMonotonicMs = (): number => performance.now()

function isAccountRefused({ http }: GodwitConfig): boolean {
  return http.authType === 'jwt'
}

/** Returns why the API cannot start, except for addresses. The start checks this before it opens listeners for clients. */
export async function findManagementProblem(config: GodwitConfig): Promise<Problem | undefined> {
  const tokens = createApiTokens(config)
  return 'problem' in tokens ? tokens : findExposureProblem(config, { warn: () => {} })
}

/** Returns a problem if an API without authentication or with a well-known password would be reachable from other machines. */
export async function findExposureProblem(
  config: GodwitConfig,
  log: Pick<Logger, 'warn'>,
): Promise<Problem | undefined> {
  const { http } = config
  if (!http.isEnabled) return undefined
  const hosts = listApiHosts(config)
  const isLoopback = (await Promise.all(hosts.map(isLoopbackHost))).every(Boolean)
  if (http.authType === 'no_auth' && !isLoopback) {
    return { problem: 'http_server.auth_type: no_auth is for loopback only: set http_server.ip_addr = "127.0.0.1"' }
  }
  const risk = findPasswordRisk(config, isLoopback)
  if (risk === undefined || 'problem' in risk) return risk
  log.warn('configuration', risk)
  return undefined
}

/** Returns whether all addresses of the host are loopback addresses. */
async function isLoopbackHost(host: string): Promise<boolean> {
  try {
    const addresses = await lookup(host, { all: true })
    return addresses.every(({ address }) => isLoopbackAddress(address))
  } catch {
    // Listening reports the error.
    return false
  }
}

/**
 * Opens the control socket. If that fails, for example on a file system without sockets, the error is logged and the broker runs
 * without it. Returns the function that closes the socket.
 */
async function serveSocket(
  server: ManagementServer,
  dependencies: Pick<NodeParts, 'log' | 'dataDirectory'>,
): Promise<() => Promise<void>> {
  const { log, dataDirectory } = dependencies
  try {
    const place = await prepareSocketPath(dataDirectory, controlSocketName)
    const listening = await server.listen({ path: place.path })
    if (!('problem' in listening)) {
      return async () => {
        await server.close(closeGraceMs)
        await place.remove()
      }
    }
    log.error('control socket not available', { why: listening.problem })
    await place.remove()
  } catch (error) {
    log.error('control socket not available', { why: (error as Error).message })
  }
  return () => server.close(closeGraceMs)
}
