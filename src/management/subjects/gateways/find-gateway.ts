// Finds gateways by name.

import { ApiError, refuseFor, shortened } from '../../http/api-error.ts'
import type { Gateway, GatewayListener, GatewayOperations } from '../../operations/gateways.ts'
import { shardUnavailableError } from '../../lists/reply-with-list.ts'

export async function allGateways(gateways: GatewayOperations): Promise<readonly Gateway[] | ApiError> {
  const found = await gateways.gateways()
  return 'unavailableShard' in found ? shardUnavailableError(found) : found
}

export async function findGateway(gateways: GatewayOperations, name: string): Promise<Gateway | ApiError> {
  const found = await allGateways(gateways)
  if (found instanceof ApiError) return found
  const gateway = found.find((one) => one.name === name)
  const known = found.map((one) => one.name).join(', ')
  return gateway ?? refuseFor('NOT_FOUND', `there is no gateway ${name}: the gateways are ${known}`)
}

/** By IDs such as `coap:udp:default`. */
export async function findGatewayListener(
  gateways: GatewayOperations,
  name: string,
  id: string,
): Promise<GatewayListener | ApiError> {
  const gateway = await findGateway(gateways, name)
  if (gateway instanceof ApiError) return gateway
  const found = gateway.listeners.find((one) => idOfListener(name, one) === id)
  return found ?? refuseFor('NOT_FOUND', `the gateway ${name} has no listener ${shortened(id)}`)
}

export function idOfListener(gateway: string, { type, name }: Pick<GatewayListener, 'type' | 'name'>): string {
  return `${gateway}:${type}:${name}`
}
