// Users of gateways and of their listeners, as they are stored.

import { hashPassword, type HashParameters } from '../../access/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import type { PageFound, PageWanted } from '../../management/index.ts'
import type { GatewayUserRecord } from '../../records/index.ts'
import { gatewayTypes, listSockets, type AccessRecords, filterInSlices } from '../../node/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import { type NotStored, catchStorageFailure, selectPageFromEnd } from '../credentials/credential-lists.ts'
import type { GatewayOrListener } from './configured-gateways.ts'

export interface GatewayUser {
  readonly id: string
  readonly isSuperuser: boolean
}

export interface GatewayUserQuery {
  /** Names that hold this text. */
  readonly like: string | undefined
  readonly isSuperuser: boolean | undefined
  readonly page: PageWanted
}

/** When a change resolves, it is on disk and applies to all clients that connect from then on. */
export class GatewayUsers {
  readonly #records: AccessRecords
  readonly #configuration: { readonly config: GodwitConfig }

  constructor({ accessRecords, configuration }: Pick<ApiContext, 'accessRecords' | 'configuration'>) {
    this.#records = accessRecords
    this.#configuration = configuration
  }

  /** The newest first. */
  async list(
    owner: GatewayOrListener,
    { like, isSuperuser, page: { page, limit } }: GatewayUserQuery,
  ): Promise<PageFound<GatewayUser>> {
    const found = await filterInSlices(this.#records.listGatewayUsers(formatChain(owner)), (user) => {
      const isWanted = isSuperuser === undefined || user.isSuperuser === isSuperuser
      return isWanted && (like === undefined || user.id.includes(like))
    })
    return { items: selectPageFromEnd(found, page, limit).map(toGatewayUser), count: found.length }
  }

  find(owner: GatewayOrListener, id: string): GatewayUser | undefined {
    const user = this.#find(owner, id)
    return user === undefined ? undefined : toGatewayUser(user)
  }

  create(
    owner: GatewayOrListener,
    { id, password, isSuperuser }: GatewayUser & { readonly password: string },
  ): Promise<'created' | 'existed' | NotStored> {
    return catchStorageFailure(async () => {
      let outcome: 'created' | 'existed' = 'existed'
      const made = this.#hash(owner, password)
      await this.#records.decide(() => {
        if (this.#find(owner, id) !== undefined) return nothing
        outcome = 'created'
        const createdAtMs = this.#records.createMomentMs()
        return {
          put: [{ kind: 'gateway-user', chain: formatChain(owner), id, isSuperuser, createdAtMs, ...made }],
          delete: [],
        }
      })
      return outcome
    })
  }

  /** Undefined values stay unchanged. */
  update(
    owner: GatewayOrListener,
    id: string,
    { password, isSuperuser }: { readonly password?: string | undefined; readonly isSuperuser?: boolean | undefined },
  ): Promise<GatewayUser | 'missing' | NotStored> {
    return catchStorageFailure(async () => {
      let outcome: GatewayUser | 'missing' = 'missing'
      if (this.#find(owner, id) === undefined) return outcome
      const made = password === undefined ? undefined : this.#hash(owner, password)
      await this.#records.decide(() => {
        const before = this.#find(owner, id)
        if (before === undefined) return nothing
        const now = { ...before, ...made, isSuperuser: isSuperuser ?? before.isSuperuser }
        outcome = toGatewayUser(now)
        return { put: [now], delete: [] }
      })
      return outcome
    })
  }

  delete(owner: GatewayOrListener, id: string): Promise<'deleted' | 'missing' | NotStored> {
    return catchStorageFailure(async () => {
      let outcome: 'deleted' | 'missing' = 'missing'
      await this.#records.decide(() => {
        if (this.#find(owner, id) === undefined) return nothing
        outcome = 'deleted'
        return { put: [], delete: [{ kind: 'gateway-user', chain: formatChain(owner), id }] }
      })
      return outcome
    })
  }

  /** Deletes all users of a gateway or a listener. Users of the listeners of a gateway stay. */
  deleteAll(owner: GatewayOrListener): Promise<'deleted' | NotStored> {
    const chain = formatChain(owner)
    return catchStorageFailure(async () => {
      await this.#records.decide(() => ({
        put: [],
        delete: [...this.#records.listGatewayUsers(chain)].map(({ id }) => ({
          kind: 'gateway-user' as const,
          chain,
          id,
        })),
      }))
      return 'deleted' as const
    })
  }

  #find(owner: GatewayOrListener, id: string): GatewayUserRecord | undefined {
    return this.#records.find({ kind: 'gateway-user', chain: formatChain(owner), id })
  }

  #hash(owner: GatewayOrListener, password: string): ReturnType<typeof hashPassword> {
    return hashPassword(password, findHashParameters(this.#configuration.config, owner))
  }
}

const nothing = { put: [], delete: [] }

/** As `ListenerAuthentication.chain`. */
function formatChain({ gateway, listener }: GatewayOrListener): string {
  return listener === undefined ? gateway : `${gateway}:${listener.type}:${listener.name}`
}

/** As the configuration in force has it. */
function findHashParameters({ gateways }: GodwitConfig, { gateway, listener }: GatewayOrListener): HashParameters {
  const type = gatewayTypes.find((one) => one === gateway)
  const configured = type === undefined ? undefined : gateways[type]
  const socket =
    listener &&
    configured &&
    listSockets(configured).find(({ kind, name }) => kind === listener.type && name === listener.name)
  const authentication = listener === undefined ? configured?.authentication : socket?.listener.authentication
  if (authentication === undefined) return { algorithm: 'sha256', saltPosition: 'prefix' }
  const { name: algorithm, salt_position: saltPosition } = authentication.password_hash_algorithm
  return { algorithm, saltPosition: saltPosition === 'disable' ? 'prefix' : saltPosition }
}

function toGatewayUser({ id, isSuperuser }: GatewayUserRecord): GatewayUser {
  return { id, isSuperuser }
}
