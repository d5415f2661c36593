// Every operation of the API by its name. A new set of endpoints adds its line here, and nowhere else.

import { brokerEndpoints } from './brokers.ts'

export const endpoints = {
  ...brokerEndpoints,
}

export type EndpointName = keyof typeof endpoints
