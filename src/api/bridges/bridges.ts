// Bridges.

import { hasMaskedUrl, mask, type MqttBridgeConfig, parseAwsBridgeName, toSpoolMessages } from '../../config/index.ts'
import type { bridgeEndpoints } from './endpoints.ts'
import type { Caller, ReplyOf } from '../../contract/index.ts'
import { toAwsSettings, removeUnchanged } from './aws-bridge-node.ts'
import { type BridgeNode, toBridgeNode } from './to-bridge-node.ts'
import { type Handlers, ApiError, refuse } from '../../management/index.ts'
import {
  type BridgeProblem,
  readCertificates,
  type ConfiguredBridges,
  type NewBridgeSettings,
} from './configured-bridges.ts'
import { isSentObject, readBridgeNode, type ReadBridge, type Sent, replaceUserProperties } from './read-bridge-node.ts'

type Listing = ReplyOf<(typeof bridgeEndpoints)['get_mqtt_bridges']>
type Flattened = ReplyOf<(typeof bridgeEndpoints)['put_mqtt_bridge']>
type Done = { code: 0 } | ApiError

interface BridgeCall {
  readonly params: { readonly bridge_name: string }
  readonly body: unknown
  readonly caller: Caller
}

export function createBridgeHandlers(bridges: ConfiguredBridges): Handlers<typeof bridgeEndpoints> {
  return {
    get_mqtt_bridges: () => createListing(bridges, bridges.list()),
    get_mqtt_bridge: ({ params: { bridge_name: name } }) => {
      const bridge = bridges.list().get(name)
      return bridge === undefined
        ? refuseUnknownBridge(bridges, name)
        : createListing(bridges, new Map([[name, bridge]]))
    },
    put_mqtt_bridge: async (call) => {
      const outcome = await putBridge(bridges, call)
      return outcome instanceof ApiError ? outcome : createFlattenedResponse(bridges, call.params.bridge_name)
    },
    post_mqtt_bridge: async ({ body, caller }) => {
      const outcome = await createBridge(bridges, body, caller)
      return outcome instanceof ApiError ? outcome : createFlattenedResponse(bridges, body.name)
    },
    delete_mqtt_bridge: async ({ params: { bridge_name: name }, caller }) => {
      if (!bridges.list().has(name)) return refuseUnknownBridge(bridges, name)
      return toOutcomeResponse(await bridges.remove(name, caller))
    },
    put_mqtt_bridge_switch: (call) => switchBridge(bridges, call),
    sub_mqtt_bridge: (call) => subscribe(bridges, call),
    post_sub_mqtt_bridge: (call) => subscribe(bridges, call),
    unsub_mqtt_bridge: (call) => unsubscribe(bridges, call),
    post_unsub_mqtt_bridge: (call) => unsubscribe(bridges, call),
  }
}

/** Shown if none is set, as in NanoMQ. */
const defaultCacheSize = 102_400

/** Response of `GET /bridges`: bridges to AWS IoT only, or all others. */
export async function listBridges(bridges: ConfiguredBridges, areOfAws: boolean): Promise<object> {
  const chosen = [...bridges.list()].filter(([name]) => (parseAwsBridgeName(name) !== undefined) === areOfAws)
  const { nodes, sqlite } = (await createListing(bridges, new Map(chosen))).data.bridge
  return areOfAws ? { nodes } : { nodes, sqlite }
}

async function createListing(
  bridges: ConfiguredBridges,
  chosen: ReadonlyMap<string, MqttBridgeConfig>,
): Promise<Listing> {
  const reports = await bridges.readReports()
  const nodes = []
  for (const [name, bridge] of chosen) nodes.push(await createNode(bridges, name, bridge, reports))
  const { enable, flush_mem_threshold, resend_interval, mounted_file_path = null, ...cache } = bridges.readCache()
  const { disk_cache_size = defaultCacheSize } = cache
  const sqlite = { enable, disk_cache_size, flush_mem_threshold, resend_interval, mounted_file_path }
  return { code: 0, data: { bridge: { nodes, sqlite } } }
}

async function createNode(
  bridges: ConfiguredBridges,
  name: string,
  bridge: MqttBridgeConfig,
  reports?: Awaited<ReturnType<ConfiguredBridges['readReports']>>,
): Promise<BridgeNode> {
  return toBridgeNode(name, bridge, {
    readPem: readCertificates,
    report: (reports ?? (await bridges.readReports())).get(name),
    spoolMessages: toSpoolMessages(bridges.readCache()),
  })
}

async function putBridge(bridges: ConfiguredBridges, { params, body, caller }: BridgeCall): Promise<Done> {
  const name = params.bridge_name
  if (!isSentObject(body)) return refuseNonObject('the body')
  const bridge = bridges.list().get(name)
  if (bridge === undefined) return refuseUnknownBridge(bridges, name)
  const node = Object.hasOwn(body, name) ? body[name] : undefined
  if (node === undefined) {
    return refuse('invalidParameter', `the body has no key ${JSON.stringify(name)}, which is the name in the path`)
  }
  if (!isSentObject(node)) return refuseNonObject(JSON.stringify(name))
  if (!hasServer(node))
    return refuse('missingParameter', `${JSON.stringify(name)} has no server: give it the URL of a broker`)
  const isOfAws = parseAwsBridgeName(name) !== undefined
  const read = readBridgeNode(isOfAws ? removeUnchanged(node, await createNode(bridges, name, bridge)) : node, bridge)
  if ('problem' in read) return refuse('invalidParameter', read.problem)
  const settings = await storeFiles(bridges, name, read)
  return change(bridges, { name, settings: isOfAws ? toAwsSettings(settings) : settings, caller })
}

async function createBridge(
  bridges: ConfiguredBridges,
  { name, ...node }: Sent & { readonly name: string },
  caller: Caller,
): Promise<Done> {
  if (!hasServer(node)) return refuse('missingParameter', 'the body has no server: give it the URL of a broker')
  if (bridges.list().has(name)) {
    return refuse('invalidParameter', `there is already a bridge ${JSON.stringify(name)}: change it with PUT`)
  }
  const masked = findMaskedKey(node)
  if (masked !== undefined) {
    return refuse(
      'invalidParameter',
      `${masked} is masked (${mask}), and a new bridge has no earlier one: give it in clear`,
    )
  }
  const read = readBridgeNode(node, undefined)
  if ('problem' in read) return refuse('invalidParameter', read.problem)
  const settings = await storeFiles(bridges, name, read)
  const isOfAws = parseAwsBridgeName(name) !== undefined
  return toOutcomeResponse(await bridges.create(name, isOfAws ? toAwsSettings(settings) : settings, caller))
}

/**
 * Returns the first key whose value is the mask of a secret, in the node or in a group such as `connector` or `tls`.
 */
function findMaskedKey(node: Sent): string | undefined {
  const groups = Object.values(node).filter(isSentObject)
  const entries = [node, ...groups].flatMap((group) => Object.entries(group))
  return entries.find(([, value]) => value === mask || (typeof value === 'string' && hasMaskedUrl(value)))?.[0]
}

/** Returns a bridge in the form of PUT, by its name. */
async function createFlattenedResponse(bridges: ConfiguredBridges, name: string): Promise<Flattened | ApiError> {
  const bridge = bridges.list().get(name)
  if (bridge === undefined) return refuseUnknownBridge(bridges, name)
  const { connector, ...node } = await createNode(bridges, name, bridge)
  return { code: 0, data: { [name]: { ...node, ...connector } } }
}

function hasServer({ server, connector }: Sent): boolean {
  return (server ?? (isSentObject(connector) ? connector['server'] : undefined) ?? null) !== null
}

/** Certificates sent as text are written to files, which the configuration then names. */
async function storeFiles(bridges: ConfiguredBridges, name: string, { settings, pems }: ReadBridge): Promise<Sent> {
  const tls = { ...(settings['tls'] as Sent) }
  for (const { file, pem } of pems) tls[file] = await bridges.storePem(name, file, pem)
  return { ...settings, tls }
}

async function switchBridge(bridges: ConfiguredBridges, { params, body, caller }: BridgeCall): Promise<Done> {
  const name = params.bridge_name
  if (!isSentObject(body)) return refuseNonObject('the body')
  if (!bridges.list().has(name)) return refuseUnknownBridge(bridges, name)
  const enable = isSentObject(body['data']) ? body['data']['bridge_switch'] : undefined
  if (typeof enable !== 'boolean') return refuse('invalidParameter', 'data.bridge_switch must be true or false')
  return change(bridges, { name, settings: { enable }, caller })
}

async function subscribe(bridges: ConfiguredBridges, { params, body, caller }: BridgeCall): Promise<Done> {
  const name = params.bridge_name
  const list = readList(body, 'subscription')
  if (list instanceof ApiError) return list
  if (!bridges.list().has(name)) return refuseUnknownBridge(bridges, name)
  const added: Sent[] = []
  for (const [index, item] of list.entries()) {
    const isWhole = isSentObject(item) && isTopic(item['remote_topic']) && typeof item['local_topic'] === 'string'
    if (!isWhole) {
      return refuse('invalidParameter', `data.subscription.${index} needs remote_topic and local_topic, both text`)
    }
    added.push({ qos: 0, retain_as_published: 1, retain_handling: 0, ...item })
  }
  const replaced = new Set(added.map((item) => item['remote_topic']))
  const properties = readData(body)['sub_properties']
  const userProperties = properties === undefined ? {} : { sub_properties: replaceUserProperties(properties, {}) }
  const computeSettings = ({ subscription }: MqttBridgeConfig): Sent => {
    const kept = subscription.filter((rule) => !replaced.has(rule.get('remote_topic')))
    return { subscription: [...kept.map(toPlainObject), ...selectLastOfEach(added)], ...userProperties }
  }
  return change(bridges, { name, settings: computeSettings, caller })
}

async function unsubscribe(bridges: ConfiguredBridges, { params, body, caller }: BridgeCall): Promise<Done> {
  const name = params.bridge_name
  const list = readList(body, 'unsubscription')
  if (list instanceof ApiError) return list
  const bridge = bridges.list().get(name)
  if (bridge === undefined) return refuseUnknownBridge(bridges, name)
  if (!bridge.enable) {
    return refuse('invalidParameter', `the bridge ${JSON.stringify(name)}is disabled: enable it first`, 404)
  }
  const gone = new Set<unknown>()
  for (const [index, item] of list.entries()) {
    if (!isSentObject(item) || !isTopic(item['topic'])) {
      return refuse('invalidParameter', `data.unsubscription.${index} needs a topic, as text`)
    }
    gone.add(item['topic'])
  }
  const properties = readData(body)['unsub_properties']
  const userProperties = properties === undefined ? {} : { unsub_properties: replaceUserProperties(properties, {}) }
  const computeSettings = ({ subscription }: MqttBridgeConfig): Sent => {
    const kept = subscription.filter((rule) => !gone.has(rule.get('remote_topic')))
    return { subscription: kept.map(toPlainObject), ...userProperties }
  }
  return change(bridges, { name, settings: computeSettings, caller })
}

async function change(
  bridges: ConfiguredBridges,
  { name, settings, caller }: { readonly name: string; readonly settings: NewBridgeSettings; readonly caller: Caller },
): Promise<Done> {
  return toOutcomeResponse(await bridges.change(name, settings, caller))
}

function toOutcomeResponse(refused: BridgeProblem | undefined): Done {
  if (refused === undefined) return { code: 0 }
  return refuse(refused.isAbout === 'disk' ? 'configNotWritten' : 'invalidParameter', refused.problem)
}

function readList(body: unknown, key: string): readonly unknown[] | ApiError {
  if (!isSentObject(body)) return refuseNonObject('the body')
  const list = readData(body)[key]
  return Array.isArray(list) ? list : refuse('notJson', `data.${key} must be an array`)
}

function readData(body: unknown): Sent {
  return isSentObject(body) && isSentObject(body['data']) ? body['data'] : {}
}

/** If a remote topic occurs twice, the later entry applies. */
function selectLastOfEach(items: readonly Sent[]): readonly Sent[] {
  return [...new Map(items.map((item) => [item['remote_topic'], item])).values()]
}

function isTopic(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !value.includes('\0')
}

function toPlainObject(rule: ReadonlyMap<string, unknown>): Sent {
  return Object.fromEntries(rule)
}

function refuseNonObject(subject: string): ApiError {
  return refuse('notJson', `${subject} is not a JSON object`)
}

function refuseUnknownBridge(bridges: ConfiguredBridges, name: string): ApiError {
  const names = [...bridges.list().keys()].join(', ')
  const known = names === '' ? 'none is configured' : `there are: ${names}`
  return refuse('invalidParameter', `there is no bridge ${JSON.stringify(name)}; ${known}`, 404)
}
