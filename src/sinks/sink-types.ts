// All kinds of services that actions send to.

import type { ActionsConfig, ConnectorsConfig } from '../config/index.ts'
import { httpSinkType } from './http/http-sink.ts'
import type { SinkType } from './sink.ts'

type Named<Section> = Section extends { readonly named: ReadonlyMap<string, infer Value> } ? Value : never
export type SinkTypeName = 'http'
export type ConnectorSettings = Named<ConnectorsConfig[SinkTypeName]>
export type ActionSettings = Named<ActionsConfig[SinkTypeName]>

export const sinkTypes: { readonly [Name in SinkTypeName]: SinkType<ActionSettings, ConnectorSettings> } = {
  http: httpSinkType,
}
