// Users of gateways and of their listeners, as they are stored.

import { hashPassword, type HashParameters } from '../../access/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import type { GatewayOrListener, GatewayUser, GatewayUserOperations } from './gateways.ts'
import type { GatewayUserRecord } from '../../records/index.ts'
import { gatewayTypes, socketsOf, type AccessRecords, filterInSlices } from '../../node/index.ts'
import { orNotStored, pageFromTheEnd } from '../credentials/credential-lists.ts'

interface GatewayUserDependencies {
  readonly accessRecords: AccessRecords
  readonly configuration: { readonly config: GodwitConfig }
}

export function gatewayUserOperations({
  accessRecords: records,
  configuration,
}: GatewayUserDependencies): GatewayUserOperations {
  const find = (of: GatewayOrListener, id: string): GatewayUserRecord | undefined =>
    records.find({ kind: 'gateway-user', chain: chainOf(of), id })
  const hashed = (of: GatewayOrListener, password: string) => hashPassword(password, mannerOf(configuration.config, of))
  return {
    list: async (of, { like, isSuperuser, page: { page, limit } }) => {
      const found = await filterInSlices(records.gatewayUsers(chainOf(of)), (user) => {
        const isWanted = isSuperuser === undefined || user.isSuperuser === isSuperuser
        return isWanted && (like === undefined || user.id.includes(like))
      })
      return { items: pageFromTheEnd(found, page, limit).map(shown), count: found.length }
    },
    find: (of, id) => {
      const user = find(of, id)
      return user === undefined ? undefined : shown(user)
    },
    create: (of, { id, password, isSuperuser }) =>
      orNotStored(async () => {
        let outcome: 'created' | 'existed' = 'existed'
        const made = hashed(of, password)
        await records.decide(() => {
          if (find(of, id) !== undefined) return nothing
          outcome = 'created'
          const createdAtMs = records.newMomentMs()
          return {
            put: [{ kind: 'gateway-user', chain: chainOf(of), id, isSuperuser, createdAtMs, ...made }],
            delete: [],
          }
        })
        return outcome
      }),
    update: (of, id, { password, isSuperuser }) =>
      orNotStored(async () => {
        let outcome: GatewayUser | 'missing' = 'missing'
        if (find(of, id) === undefined) return outcome
        const made = password === undefined ? undefined : hashed(of, password)
        await records.decide(() => {
          const before = find(of, id)
          if (before === undefined) return nothing
          const now = { ...before, ...made, isSuperuser: isSuperuser ?? before.isSuperuser }
          outcome = shown(now)
          return { put: [now], delete: [] }
        })
        return outcome
      }),
    delete: (of, id) =>
      orNotStored(async () => {
        let outcome: 'deleted' | 'missing' = 'missing'
        await records.decide(() => {
          if (find(of, id) === undefined) return nothing
          outcome = 'deleted'
          return { put: [], delete: [{ kind: 'gateway-user', chain: chainOf(of), id }] }
        })
        return outcome
      }),
    deleteAll: (of) =>
      orNotStored(async () => {
        const chain = chainOf(of)
        await records.decide(() => ({
          put: [],
          delete: [...records.gatewayUsers(chain)].map(({ id }) => ({ kind: 'gateway-user' as const, chain, id })),
        }))
        return 'deleted' as const
      }),
  }
}

const nothing = { put: [], delete: [] }

/** As `ListenerAuthentication.chain`. */
function chainOf({ gateway, listener }: GatewayOrListener): string {
  return listener === undefined ? gateway : `${gateway}:${listener.type}:${listener.name}`
}

/** As the configuration in force has it. */
function mannerOf({ gateways }: GodwitConfig, { gateway, listener }: GatewayOrListener): HashParameters {
  const type = gatewayTypes.find((one) => one === gateway)
  const configured = type === undefined ? undefined : gateways[type]
  const socket =
    listener &&
    configured &&
    socketsOf(configured).find(({ kind, name }) => kind === listener.type && name === listener.name)
  const authentication = listener === undefined ? configured?.authentication : socket?.listener.authentication
  if (authentication === undefined) return { algorithm: 'sha256', saltPosition: 'prefix' }
  const { name: algorithm, salt_position: saltPosition } = authentication.password_hash_algorithm
  return { algorithm, saltPosition: saltPosition === 'disable' ? 'prefix' : saltPosition }
}

function shown({ id, isSuperuser }: GatewayUserRecord): GatewayUser {
  return { id, isSuperuser }
}
