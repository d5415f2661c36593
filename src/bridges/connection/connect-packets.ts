// CONNECT and DISCONNECT of both sides, and the limits in CONNACK.

import { bridgeClientId, loopMarkerName, remoteSessionLostProperty, spoolProperties } from '../../core/index.ts'
import {
  reasonCodes,
  returnCodes,
  type ConnackPacket,
  type ConnectPacket,
  type DisconnectPacket,
  type ProtocolVersion,
  type QoS,
} from '../../protocol/index.ts'
import type { BridgeSettings } from '../model/settings.ts'
import type { LocalBroker } from '../model/bridge-dependencies.ts'

const neverExpires = 0xffffffff
const maxReceiveMaximum = 65_535
/** Maximum in-flight messages, whatever a setting or the remote broker allows. */
const defaultInFlightV5 = 1_024
/**
 * Before 5.0 the limit of the remote broker is unknown. mosquitto acknowledges further QoS 2 messages and drops them.
 */
const defaultInflight = 20

/** To the own broker. `isForgotten`: the remote broker has no session of the bridge. */
export function connectLocal(
  { name, spool }: Pick<BridgeSettings, 'name' | 'spool'>,
  how: { receiveMaximum: number; ends?: boolean; isAnew?: boolean; isForgotten?: boolean },
): ConnectPacket {
  const ends = how.ends === true
  const userProperties = [...spoolProperties(spool), ...(how.isForgotten === true ? remoteSessionLostProperty : [])]
  return {
    type: 'connect',
    version: 5,
    clientId: bridgeClientId(name),
    cleanStart: ends || how.isAnew === true,
    keepAliveSeconds: 0,
    username: undefined,
    password: undefined,
    will: undefined,
    properties: {
      sessionExpiryIntervalSeconds: ends ? 0 : neverExpires,
      receiveMaximum: how.receiveMaximum,
      ...(userProperties.length > 0 ? { userProperties } : {}),
    },
    isBridge: false,
  }
}

export function connectRemote(
  settings: BridgeSettings,
  broker: LocalBroker,
  how: { cleanStart: boolean; sendsBridgeBit: boolean },
): ConnectPacket {
  const { version, clientId, keepAliveSeconds, username, password, will } = settings
  return {
    type: 'connect',
    version,
    clientId,
    cleanStart: how.cleanStart,
    keepAliveSeconds,
    username,
    // [MQTT-3.1.2-22] Before 5.0 a password requires a user name.
    password: version === 5 || username !== undefined ? password : undefined,
    will,
    properties: version === 5 ? propertiesOf(settings, broker) : undefined,
    isBridge: version !== 5 && how.sendsBridgeBit,
  }
}

function propertiesOf(settings: BridgeSettings, { limits, receiveMaximum }: LocalBroker): ConnectPacket['properties'] {
  const { maximumPacketBytes = Infinity, topicAliasMaximum, sessionExpirySeconds, maxUnacknowledged } = settings
  return {
    sessionExpiryIntervalSeconds: sessionExpirySeconds,
    receiveMaximum: Math.min(settings.receiveMaximum, receiveMaximum, maxUnacknowledged ?? Infinity),
    maximumPacketSizeBytes: Math.min(maximumPacketBytes, limits.maxPacketBytes),
    ...(topicAliasMaximum > 0 ? { topicAliasMaximum } : {}),
    ...(settings.requestProblemInformation ? {} : { requestProblemInformation: false }),
    ...(settings.requestResponseInformation ? { requestResponseInformation: true } : {}),
    // Requests the name of the remote broker.
    userProperties: [...settings.connectUserProperties, [loopMarkerName, settings.brokerId]],
  }
}

/** Default for in-flight messages to the remote broker. */
export function defaultInFlightOf(version: ProtocolVersion): number {
  return version === 5 ? defaultInFlightV5 : defaultInflight
}

export function lowerQoS(one: QoS, other: QoS): QoS {
  return one < other ? one : other
}

/** Limits that the remote broker has sent. */
export interface RemoteLimits {
  readonly receiveMaximum: number
  readonly maximumPacketBytes: number
  readonly maximumQoS: QoS
  readonly retainAvailable: boolean
}

export function limitsOf(
  { properties }: ConnackPacket,
  { version, maxInFlight, maxQoS }: Pick<BridgeSettings, 'version' | 'maxInFlight' | 'maxQoS'>,
): RemoteLimits {
  const wanted = maxInFlight ?? defaultInFlightOf(version)
  return {
    receiveMaximum: Math.min(properties?.receiveMaximum ?? maxReceiveMaximum, wanted),
    maximumPacketBytes: properties?.maximumPacketSizeBytes ?? Infinity,
    maximumQoS: lowerQoS(properties?.maximumQoS ?? 2, maxQoS),
    retainAvailable: properties?.retainAvailable ?? true,
  }
}

/** True if the remote broker refuses the version. The reason may be the bridge bit alone. */
export function isUnknownVersion({ reasonCode }: ConnackPacket, version: ProtocolVersion): boolean {
  return version !== 5 && reasonCode === returnCodes.unacceptableProtocolVersion
}

export function disconnectPacket(
  version: ProtocolVersion,
  how: { reason?: DisconnectPacket['reasonCode']; forgets?: boolean },
): DisconnectPacket {
  const { reason = reasonCodes.normalDisconnection, forgets = false } = how
  return {
    type: 'disconnect',
    reasonCode: reason,
    properties: version === 5 && forgets ? { sessionExpiryIntervalSeconds: 0 } : undefined,
  }
}
