// What the hooks know of a request from its endpoint.

import type { Endpoint } from '../contract/index.ts'
import { isStartPageRequest } from './dashboard/dashboard-routes.ts'
import type { FastifyRequest } from './fastify-library.ts'

type RouteConfig = Pick<Endpoint, 'access' | 'body'>

function readRouteConfig({ routeOptions }: FastifyRequest): Partial<RouteConfig> {
  return (routeOptions.config as Partial<RouteConfig> | undefined) ?? {}
}

export function isPublic(request: FastifyRequest): boolean {
  return readRouteConfig(request).access === 'open' || isForStartPage(request)
}

/** The handler of the endpoint reads the body. */
export function isUpload(request: FastifyRequest): boolean {
  return readRouteConfig(request).body === 'upload'
}

export function isForStartPage({ method, url, headers }: FastifyRequest): boolean {
  return isStartPageRequest(method, url, headers.accept)
}
