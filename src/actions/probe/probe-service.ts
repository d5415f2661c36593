// Connects to a service with settings that are in no configuration. Nothing is stored, and no message is sent.

import { type ConfigObject, createEmptyObject, fromPlain, type GodwitConfig, putValue } from '../../config/index.ts'
import { compileTemplate } from '../../rules/index.ts'
import { type ActionSettings, type ConnectorSettings, type SinkTypeName, sinkTypes } from '../../sinks/index.ts'
import type { ResourceKind } from '../plan/rule-plan.ts'
import { probeSource, type SourceType, sourceTypeNames } from './probe-source.ts'

/** Timeout of the service. */
const timeoutMs = 5_000
/** Name for settings without one. */
const probeName = 'probe'

export interface Probed {
  readonly kind: ResourceKind
  readonly type: string
  readonly settings: Readonly<Record<string, unknown>>
}

export interface ProbeDependencies {
  readonly dataDirectory: string
  /** Returns the configuration with these settings in addition, without applying it; `message`: why there is none. */
  preview(
    settings: ConfigObject,
  ): { readonly isDone: true; readonly config: GodwitConfig } | { readonly isDone: false; readonly message: string }
}

/** Undefined: success. */
export async function probeService(dependencies: ProbeDependencies, probed: Probed): Promise<string | undefined> {
  const { kind, type, settings } = probed
  const isSource = kind === 'sources' || (kind === 'connectors' && !Object.hasOwn(sinkTypes, type))
  const sourceType = sourceTypeNames.find((known) => known === type)
  if (isSource && sourceType !== undefined) return probeAsSource(dependencies, probed, sourceType)
  if (kind === 'sources') return `unknown source type ${JSON.stringify(type)}; use one of ${sourceTypeNames.join(', ')}`
  if (!Object.hasOwn(sinkTypes, type))
    return `unknown type ${JSON.stringify(type)}; use one of ${Object.keys(sinkTypes).join(', ')}`
  const read = fromPlain(settings, 'request')
  if ('errors' in read) return read.errors.map(({ message }) => message).join('; ')
  const place = { file: 'request', line: 0, column: 0 }
  const connector = kind === 'connectors' ? probeName : String(settings['connector'])
  const user = fromPlain({ connector }, 'request')
  if ('errors' in user) return user.errors.map(({ message }) => message).join('; ')
  const asAction = putValue(
    createEmptyObject(place),
    ['actions', type, probeName],
    kind === 'actions' ? read.value : user.value,
  )
  const wanted = kind === 'actions' ? asAction : putValue(asAction, ['connectors', type, probeName], read.value)
  const previewed = dependencies.preview(wanted)
  if (!previewed.isDone) return previewed.message
  return probeSink(previewed.config, {
    kind,
    type: type as SinkTypeName,
    connector,
    dataDirectory: dependencies.dataDirectory,
  })
}

async function probeAsSource(
  { preview }: Pick<ProbeDependencies, 'preview'>,
  { kind, settings }: Probed,
  type: SourceType,
): Promise<string | undefined> {
  const read = fromPlain(settings, 'request')
  if ('errors' in read) return read.errors.map(({ message }) => message).join('; ')
  const place = { file: 'request', line: 0, column: 0 }
  const previewed = preview(putValue(createEmptyObject(place), [kind, type, probeName], read.value))
  if (!previewed.isDone) return previewed.message
  const source = kind === 'sources' ? probeName : undefined
  const { connector: named } = settings
  const connector = kind === 'sources' ? (typeof named === 'string' ? named : '') : probeName
  return await probeSource(previewed.config, type, { source, connector, timeoutMs })
}

interface ProbeRequest {
  readonly kind: ResourceKind
  readonly type: SinkTypeName
  readonly connector: string
  readonly dataDirectory: string
}

async function probeSink(
  config: GodwitConfig,
  { kind, type, connector, dataDirectory }: ProbeRequest,
): Promise<string | undefined> {
  const connectors: ReadonlyMap<string, ConnectorSettings> = config.connectors[type].named
  const actions: ReadonlyMap<string, ActionSettings> = config.actions[type].named
  const service = connectors.get(connector)
  const action = actions.get(probeName)
  if (service === undefined || action === undefined) return `connector not found: ${type}:${connector}`
  const sinkType = sinkTypes[type]
  const ofAction = kind === 'actions' ? sinkType.findActionProblem(action, compileTemplate) : undefined
  const problem = sinkType.findConnectorProblem(service) ?? ofAction
  if (problem !== undefined) return problem
  const sink = sinkType.open(service, action, {
    requestTimeoutMs: timeoutMs,
    action: 'probe',
    nodeName: '',
    compile: compileTemplate,
    dataDirectory,
    shard: 0,
  })
  const timer = Promise.withResolvers<string>()
  const late = setTimeout(() => timer.resolve(`the service does not respond within ${timeoutMs} ms`), timeoutMs)
  try {
    return await Promise.race([sink.check(), timer.promise])
  } finally {
    clearTimeout(late)
    sink.close()
  }
}
