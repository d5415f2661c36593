// A bridge in API responses: secrets masked, certificates as PEM, durations with their unit.

import { mask, maskUrlSecrets, type MqttBridgeConfig, resolveSpoolPolicy, selectBridgeTls } from '../../config/index.ts'
import type { bridgeEndpoints } from './endpoints.ts'
import type { ReplyOf } from '../../contract/index.ts'
import type { BridgeReport } from '../../shard/index.ts'
import { formatLocalTime } from '../../management/index.ts'

export type BridgeNode = ReplyOf<(typeof bridgeEndpoints)['get_mqtt_bridges']>['data']['bridge']['nodes'][number]

type Rule = MqttBridgeConfig['forwards'][number]
type ReadPem = (file: string) => Promise<string | undefined>

const msPerSecond = 1_000
/** Default of in-flight messages: see `selectDefaultInFlight` of bridges. */
const defaultQueue = 1_024
const defaultQueueBefore5 = 20

export interface BridgeNodeContext {
  readonly readPem: ReadPem
  readonly report: BridgeReport | undefined
  /** Default for bridges; undefined: not set. */
  readonly spoolMessages: number | undefined
}

export async function toBridgeNode(
  name: string,
  bridge: MqttBridgeConfig,
  { readPem, report, spoolMessages }: BridgeNodeContext,
): Promise<BridgeNode> {
  return {
    name,
    enable: bridge.enable,
    parallel: bridge.max_parallel_processes,
    connector: toConnector(bridge),
    forwards: bridge.forwards.map((rule) => ({
      ...toTopicMapping(rule),
      ...(rule.has('qos') ? { qos: Number(rule.get('qos')) } : {}),
      ...(rule.has('retain') ? { retain: rule.get('retain') === true } : {}),
    })),
    subscription: bridge.subscription.map(toSubscription),
    ...toSubProperties(bridge),
    ...toUnsubProperties(bridge),
    tls: await toTls(bridge, readPem),
    quic_keepalive: formatDuration(bridge.quic_keepalive),
    quic_idle_timeout: formatDuration(bridge.quic_idle_timeout),
    quic_discon_timeout: formatDuration(bridge.quic_discon_timeout),
    quic_handshake_timeout: formatDuration(bridge.quic_handshake_timeout),
    quic_send_idle_timeout: formatDuration(bridge.quic_send_idle_timeout),
    quic_initial_rtt_ms: `${bridge.quic_initial_rtt_ms}ms`,
    quic_max_ack_delay_ms: `${bridge.quic_max_ack_delay_ms}ms`,
    quic_multi_stream: bridge.multi_stream ?? bridge.quic_multi_stream,
    multi_stream: bridge.multi_stream ?? bridge.quic_multi_stream,
    hybrid_bridging: bridge.hybrid_bridging,
    hybrid_servers: bridge.hybrid_servers.map(maskUrlSecrets),
    quic_qos_priority: bridge.quic_qos_priority,
    quic_0rtt: bridge.quic_0rtt,
    // Values that apply if the setting is absent.
    max_send_queue_len:
      bridge.max_send_queue_len ?? (findActiveVersion(bridge, report) === 5 ? defaultQueue : defaultQueueBefore5),
    max_recv_queue_len: bridge.max_recv_queue_len ?? bridge.conn_properties.receive_maximum,
    backoff_max: formatDuration(bridge.backoff_max),
    cancel_timeout: formatDuration(bridge.cancel_timeout),
    resend_interval: formatOptionalDuration(bridge.resend_interval),
    resend_wait: formatOptionalDuration(bridge.resend_wait),
    retry_qos_0: bridge.retry_qos_0,
    no_local_v4: bridge.no_local_v4,
    transparent: bridge.transparent,
    spool_max_messages: bridge.spool_max_messages ?? null,
    spool_full_policy: resolveSpoolPolicy(bridge, spoolMessages),
    will: toWill(bridge),
    tcp: toTcp(bridge),
    status: report === undefined ? null : toStatus(report),
  }
}

function findActiveVersion(bridge: MqttBridgeConfig, report: BridgeReport | undefined): number {
  return report?.version ?? Number(bridge.proto_ver)
}

function toConnector(bridge: MqttBridgeConfig): BridgeNode['connector'] {
  const isVersion5 = bridge.proto_ver === '5'
  return {
    server: maskUrlSecrets(bridge.server ?? ''),
    proto_ver: Number(bridge.proto_ver),
    clientid: bridge.clientid ?? null,
    clean_start: bridge.clean_start,
    username: bridge.username ?? null,
    password: maskSecret(bridge.password),
    keepalive: bridge.keepalive / msPerSecond,
    ...(isVersion5 ? { conn_properties: toConnectProperties(bridge), will_properties: toWillProperties(bridge) } : {}),
  }
}

function toConnectProperties({
  conn_properties: properties,
}: MqttBridgeConfig): BridgeNode['connector']['conn_properties'] {
  return {
    session_expiry_interval: properties.session_expiry_interval,
    receive_maximum: properties.receive_maximum,
    maximum_packet_size: properties.maximum_packet_size,
    topic_alias_maximum: properties.topic_alias_maximum,
    request_response_information: isOn(
      properties.request_response_information,
      properties.request_response_infomation,
      properties.request_response_info,
    ),
    request_problem_information: isOn(
      properties.request_problem_information,
      properties.request_problem_infomation,
      properties.request_problem_info,
    ),
    user_properties: toUserProperties(properties.user_property),
  }
}

/** The first spelling that is set applies. */
function isOn(...spellings: readonly (string | undefined)[]): boolean {
  const word = spellings.find((spelling) => spelling !== undefined)
  return word === '1' || word === 'true'
}

function toWillProperties({ will: { properties } }: MqttBridgeConfig): BridgeNode['connector']['will_properties'] {
  const { content_type, response_topic, correlation_data } = properties
  return {
    payload_format_indicator: Number(properties.payload_format_indicator),
    message_expiry_interval: properties.message_expiry_interval,
    will_delay_interval: properties.will_delay_interval,
    ...(content_type === undefined ? {} : { content_type }),
    ...(response_topic === undefined ? {} : { response_topic }),
    ...(correlation_data === undefined ? {} : { correlation_data }),
    user_properties: toUserProperties(properties.user_property),
  }
}

function toWill({ will: { topic = '', payload, qos, retain } }: MqttBridgeConfig): BridgeNode['will'] {
  return topic === '' ? null : { topic, payload, qos: Number(qos), retain }
}

function toTcp({ tcp }: MqttBridgeConfig): BridgeNode['tcp'] {
  return {
    bind_interface: tcp.bind_interface ?? null,
    nodelay: tcp.nodelay,
    keepalive: tcp.keepalive,
    quickack: tcp.quickack,
    keepidle: formatDuration(tcp.keepidle),
    keepintvl: formatDuration(tcp.keepintvl),
    keepcnt: tcp.keepcnt,
    sendtimeo: formatDuration(tcp.sendtimeo),
    recvtimeo: formatDuration(tcp.recvtimeo),
  }
}

function toSubscription(rule: Rule): BridgeNode['subscription'][number] {
  const asPublished = rule.get('retain_as_published')
  return {
    ...toTopicMapping(rule),
    qos: Number(rule.get('qos') ?? 0),
    ...(rule.has('retain') ? { retain: rule.get('retain') === true } : {}),
    ...(asPublished === undefined
      ? {}
      : { retain_as_published: asPublished === 'true' || asPublished === '1' ? 1 : 0 }),
    ...(rule.has('retain_handling') ? { retain_handling: Number(rule.get('retain_handling')) } : {}),
  }
}

function toTopicMapping(rule: Rule): { prefix?: string; suffix?: string; remote_topic: string; local_topic: string } {
  const readText = (field: string): string => {
    const text = rule.get(field)
    return typeof text === 'string' ? text : ''
  }
  return {
    ...(rule.has('prefix') ? { prefix: readText('prefix') } : {}),
    ...(rule.has('suffix') ? { suffix: readText('suffix') } : {}),
    remote_topic: readText('remote_topic'),
    local_topic: readText('local_topic'),
  }
}

function toSubProperties({
  proto_ver,
  sub_properties: properties,
}: MqttBridgeConfig): Pick<BridgeNode, 'sub_properties'> {
  return proto_ver === '5' && isPresent(properties) ? { sub_properties: toProperties(properties) } : {}
}

function toUnsubProperties({
  proto_ver,
  unsub_properties: properties,
}: MqttBridgeConfig): Pick<BridgeNode, 'unsub_properties'> {
  return proto_ver === '5' && isPresent(properties) ? { unsub_properties: toProperties(properties) } : {}
}

type Identified = Pick<MqttBridgeConfig['sub_properties'], 'identifier' | 'user_property'>

function isPresent({ identifier, user_property: properties }: Identified): boolean {
  return identifier !== undefined || properties.size > 0
}

function toProperties({ identifier, user_property: properties }: Identified): BridgeNode['sub_properties'] & object {
  return { ...(identifier === undefined ? {} : { identifier }), user_properties: toUserProperties(properties) }
}

async function toTls(bridge: MqttBridgeConfig, readPem: ReadPem): Promise<BridgeNode['tls']> {
  const tls = selectBridgeTls(bridge)
  const readOptionalPem = async (file: string | undefined): Promise<string | null> =>
    file === undefined ? null : ((await readPem(file)) ?? null)
  return {
    enable: tls.enable,
    url: null,
    key_password: maskSecret(tls.key_password),
    key: maskSecret(tls.keyfile),
    cert: await readOptionalPem(tls.certfile),
    cacert: await readOptionalPem(tls.cacertfile),
    verify_peer: tls.verify_peer,
    fail_if_no_peer_cert: tls.fail_if_no_peer_cert,
  }
}

function maskSecret(secret: string | undefined): string | null {
  return secret === undefined ? null : mask
}

function toUserProperties(properties: ReadonlyMap<string, string>): { key: string; value: string }[] {
  return [...properties].map(([key, value]) => ({ key, value }))
}

function formatDuration(ms: number): string {
  return ms % msPerSecond === 0 ? `${ms / msPerSecond}s` : `${ms}ms`
}

/** Null: absent, because a value would have an effect. */
function formatOptionalDuration(ms: number | undefined): string | null {
  return ms === undefined ? null : formatDuration(ms)
}

function toStatus(report: BridgeReport): BridgeNode['status'] {
  const { lastErrorAtMs, oldestAtMs, counters } = report
  return {
    state: report.state,
    since: formatLocalTime(report.sinceMs),
    server: maskUrlSecrets(report.server),
    proto_ver: report.version,
    attempts: report.attempts,
    last_error: report.lastError === undefined ? null : maskUrlSecrets(report.lastError),
    last_error_at: lastErrorAtMs === undefined ? null : formatLocalTime(lastErrorAtMs),
    in_flight: report.inFlight,
    spool_depth: report.spooled,
    oldest_age: oldestAtMs === undefined ? null : computeAgeSeconds(oldestAtMs),
    lag: oldestAtMs === undefined ? 0 : computeAgeSeconds(oldestAtMs),
    spool_dropped: report.spoolDropped,
    spool_drops: { ...report.spoolDrops },
    passed_on: report.passedOn,
    not_passed_on: report.notPassedOn,
    sent_rate: report.sentRate,
    received_rate: report.receivedRate,
    counters: {
      sent: counters.sent,
      sent_again: counters.sentAgain,
      sent_bytes: counters.sentBytes,
      acknowledged: counters.acknowledged,
      received: counters.received,
      received_bytes: counters.receivedBytes,
      connects: counters.connects,
      failures: counters.failures,
      unasked: counters.unexpected,
      dropped: { ...counters.dropped },
    },
  }
}

/** The clock of shards is independent of the wall clock, so a time slightly in the future is new. */
export function computeAgeSeconds(atMs: number): number {
  return Math.max(0, Date.now() - atMs) / msPerSecond
}
