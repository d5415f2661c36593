// Plugins and modules of EMQX: what they switch is a setting here.

import { fromPlain, type ConfigValue } from '../../config/index.ts'
import { quoteValue, type FaultList } from '../documents/fault-list.ts'
import type { ManifestPath } from '../documents/manifest-node.ts'
import { normalizeFeatureName, readFeature, type TemplateDraft } from '../resource/open-ports.ts'
import { formatValue, type SettingLine, type Variables } from './setting-lines.ts'

interface Switch {
  readonly key: string
  /** Value if the feature is on; undefined: the default. */
  readonly on: boolean | undefined
  readonly off: boolean
}

/** Features that a setting switches. */
const switches: ReadonlyMap<string, Switch> = new Map<string, Switch>([
  ['retainer', { key: 'mqtt.retain_available', on: undefined, off: false }],
  ['presence', { key: 'sys_topics.client_events', on: true, off: false }],
  ['psk_file', { key: 'auth.psk.enable', on: true, off: false }],
])

/** Names of EMQX 4.4 and its operator that need no setting: what they do is always on, or is configured elsewhere. */
const builtIn: ReadonlySet<string> = new Set(
  `acl_internal auth_clientid auth_http auth_jwt auth_ldap auth_mnesia auth_mongo auth_mysql auth_pgsql auth_redis auth_username bridge_mqtt
  coap conf dashboard data_bridge delayed eviction_agent exhook exproto internal_acl internal_cal jt808 lua_hook lwm2m management modules
  node_rebalance presence prom prometheus psk_file recon reloader retainer rewrite rule_engine s3 schema_registry slow_subs sn stomp subscription
  tcp telemetry topic_metrics trace web_hook hot_confs`.split(/\s+/),
)

const retainerOptions: ReadonlyMap<string, string> = new Map([
  ['expiry_interval', 'retainer.msg_expiry_interval'],
  ['max_payload_size', 'retainer.max_payload_size'],
  ['max_retained_messages', 'retainer.max_retained_messages'],
])

/** Returns whether there is a file of access rules. */
export function hasAclFile(template: TemplateDraft | undefined): boolean {
  const features = template ?? {}
  return readFeature(features, 'acl_internal') !== false && readFeature(features, 'internal_acl') !== false
}

/** Returns the settings of plugins and modules. Warnings and faults are added to `list`. */
export function readFeatures(
  template: TemplateDraft | undefined,
  variables: Variables,
  list: FaultList,
): readonly SettingLine[] {
  if (template === undefined) return []
  const lines: SettingLine[] = []
  for (const kind of ['plugins', 'modules'] as const) {
    for (const [index, item] of (template[kind] ?? []).entries()) {
      if (item?.name === undefined) continue
      const origin: ManifestPath = ['spec', 'emqxTemplate', kind, index]
      const feature = normalizeFeatureName(item.name)
      if (!builtIn.has(feature)) {
        const hint = 'remove it; Godwit has its own plugins, which are installed with godwit plugins'
        list.addWarning([...origin, 'name'], `there is no ${kind.slice(0, -1)} ${quoteValue(item.name)}`, hint)
        continue
      }
      if (feature === 'management' && item.enable !== true)
        list.addWarning(
          [...origin, 'enable'],
          'the management API stays on',
          'remove it: the operator and the probes need the API',
        )
      const switched = switches.get(feature)
      const value = item.enable === true ? switched?.on : switched?.off
      if (switched !== undefined && value !== undefined)
        lines.push(createLine(switched.key, String(value), [...origin, 'enable']))
      if (kind === 'modules' && 'configs' in item)
        lines.push(...readOptions(feature, item.configs, { origin: [...origin, 'configs'], variables, list }))
    }
  }
  return lines
}

function createLine(key: string, text: string, origin: ManifestPath): SettingLine {
  return { key: key.split('.'), text, checkedText: text, origin, lineInText: 0 }
}

interface OptionContext {
  readonly origin: ManifestPath
  readonly variables: Variables
  readonly list: FaultList
}

function readOptions(feature: string, configs: unknown, context: OptionContext): readonly SettingLine[] {
  const { origin, variables, list } = context
  const options = parseOptions(configs)
  if (options === undefined) {
    list.addFault(
      origin,
      'this is neither an object nor a text with a JSON object',
      'write an object, such as {"max_payload_size": "1MB"}',
    )
    return []
  }
  if (feature !== 'retainer') return []
  const read = fromPlain(options, 'configs')
  if ('errors' in read) {
    for (const { key, message, hint } of read.errors) list.addFault(origin, `${key}: ${message}`, hint)
    return []
  }
  return [...read.value.entries].flatMap(([name, value]): SettingLine[] => {
    const key = retainerOptions.get(name)
    if (key === undefined || value.kind === 'null') return []
    return [createLine(key, formatOption(name, value, variables), origin)]
  })
}

/** A number of `expiry_interval` is in milliseconds. */
function formatOption(name: string, value: ConfigValue, variables: Variables): string {
  const isMilliseconds = name === 'expiry_interval' && value.kind === 'number' && value.value !== 0
  return isMilliseconds ? `${value.text}ms` : formatValue(value, variables)
}

function parseOptions(configs: unknown): Readonly<Record<string, unknown>> | undefined {
  if (configs === undefined || configs === '') return {}
  const value: unknown = typeof configs === 'string' ? parseJson(configs) : configs
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
