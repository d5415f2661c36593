import type { gatewayEndpoints, ReplyOf } from '../../../contract/index.ts'
import { type ApiError, ApiError as RefusalValue } from '../../api-error.ts'
import type { Handlers } from '../../handler.ts'
import { allGateways, findGateway } from '../../lists/find-gateway.ts'
import type { Gateway, GatewayOperations } from '../../operations/gateways.ts'
import { refusalOf } from './rules.ts'

type Known = typeof gatewayEndpoints
type Written = ReplyOf<Known['get_gateways']>[number]

export function gatewayHandlers(gateways: GatewayOperations): Handlers<Known> {
  return {
    get_gateways: async ({ query: { status } }) => {
      const found = await allGateways(gateways)
      if (found instanceof RefusalValue) return found
      return found.filter((one) => status === undefined || one.status === status).map(written)
    },
    get_gateway: async ({ params: { name } }) => {
      const gateway = await findGateway(gateways, name)
      return gateway instanceof RefusalValue ? gateway : { ...written(gateway), configuration: gateway.settings }
    },
    change_gateway: async ({ params: { name }, body, caller }) => {
      const gateway = await findGateway(gateways, name)
      if (gateway instanceof RefusalValue) return gateway
      const problem = await gateways.change(name, body, caller)
      return doneOr(problem)
    },
    enable_gateway: async ({ params: { name, enable }, caller }) => {
      const gateway = await findGateway(gateways, name)
      if (gateway instanceof RefusalValue) return gateway
      const problem = await gateways.enable(name, enable === 'true', caller)
      return doneOr(problem)
    },
  }
}

function doneOr(problem: Awaited<ReturnType<GatewayOperations['change']>>): { code: 0 } | ApiError {
  return problem === undefined ? { code: 0 } : refusalOf(problem)
}

function written({ name, protocolName, status, listeners, counters, ...times }: Gateway): Written {
  const { createdAtMs, startedAtMs, stoppedAtMs } = times
  return {
    name,
    proto_name: protocolName,
    status,
    ...(createdAtMs === undefined ? {} : { created_at: timeOf(createdAtMs) }),
    ...(startedAtMs === undefined ? {} : { started_at: timeOf(startedAtMs) }),
    ...(stoppedAtMs === undefined ? {} : { stopped_at: timeOf(stoppedAtMs) }),
    max_connections: listeners.reduce((sum, { maxClients }) => sum + maxClients, 0),
    current_connections: listeners.reduce((sum, { clients }) => sum + clients, 0),
    listeners: listeners.map((listener) => ({
      id: `${name}:${listener.type}:${listener.name}`,
      type: listener.type,
      name: listener.name,
      bind: listener.bind,
      running: listener.isOpen,
      max_connections: listener.maxClients,
      current_connections: listener.clients,
    })),
    metrics: counters,
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
