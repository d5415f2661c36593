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
/** Default of the maximum of in-flight messages with MQTT 5.0. The remote broker may allow fewer. */
const defaultInFlightV5 = 1_024
/**
 * The same default before 5.0, where the limit of the remote broker is unknown. mosquitto acknowledges further QoS 2 messages and drops them.
 */
const defaultInFlightBefore5 = 20

/**
 * Returns the CONNECT to the own broker. `isSessionLost`: the remote broker has no session of the bridge. `endsSession`:
 * the local session ends with this connection. `isSessionNew`: the local session starts empty.
 */
export function connectLocal(
  { name, spool }: Pick<BridgeSettings, 'name' | 'spool'>,
  how: { receiveMaximum: number; endsSession?: boolean; isSessionNew?: boolean; isSessionLost?: boolean },
): ConnectPacket {
  const endsSession = how.endsSession === true
  const userProperties = [...spoolProperties(spool), ...(how.isSessionLost === true ? remoteSessionLostProperty : [])]
  return {
    type: 'connect',
    version: 5,
    clientId: bridgeClientId(name),
    cleanStart: endsSession || how.isSessionNew === true,
    keepAliveSeconds: 0,
    username: undefined,
    password: undefined,
    will: undefined,
    properties: {
      sessionExpiryIntervalSeconds: endsSession ? 0 : neverExpires,
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
  return version === 5 ? defaultInFlightV5 : defaultInFlightBefore5
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
  how: { reason?: DisconnectPacket['reasonCode']; deletesSession?: boolean },
): DisconnectPacket {
  const { reason = reasonCodes.normalDisconnection, deletesSession = false } = how
  return {
    type: 'disconnect',
    reasonCode: reason,
    properties: version === 5 && deletesSession ? { sessionExpiryIntervalSeconds: 0 } : undefined,
  }
}
