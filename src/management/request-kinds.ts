// What the hooks know of a request from its endpoint.

import type { Endpoint } from '../contract/index.ts'
import { wantsStartPage } from './dashboard/dashboard-routes.ts'
import type { FastifyRequest } from './fastify-library.ts'

type RouteConfig = Pick<Endpoint, 'access' | 'body'>

function configOf({ routeOptions }: FastifyRequest): Partial<RouteConfig> {
  return (routeOptions.config as Partial<RouteConfig> | undefined) ?? {}
}

export function isPublic(request: FastifyRequest): boolean {
  return configOf(request).access === 'open' || isForStartPage(request)
}

/** The handler of the endpoint reads the body. */
export function isUpload(request: FastifyRequest): boolean {
  return configOf(request).body === 'upload'
}

export function isForStartPage({ method, url, headers }: FastifyRequest): boolean {
  return wantsStartPage(method, url, headers.accept)
}
