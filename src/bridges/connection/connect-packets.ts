// CONNECT of both sides.

import { toBridgeClientId, loopMarkerName, remoteSessionLostProperty, toSpoolProperties } from '../../core/index.ts'
import { createConnectPacket } from '../../mqtt-client/index.ts'
import { returnCodes, type ConnackPacket, type ConnectPacket, type ProtocolVersion } from '../../protocol/index.ts'
import type { BridgeSettings } from '../model/bridge-settings.ts'
import type { LocalBroker } from '../model/bridge-dependencies.ts'

const neverExpires = 0xffffffff

/**
 * Returns the CONNECT to the own broker. `isSessionLost`: the remote broker has no session of the bridge. `endsSession`:
 * the local session ends with this connection. `isSessionNew`: the local session starts empty.
 */
export function connectLocal(
  { name, spool }: Pick<BridgeSettings, 'name' | 'spool'>,
  options: { receiveMaximum: number; endsSession?: boolean; isSessionNew?: boolean; isSessionLost?: boolean },
): ConnectPacket {
  const endsSession = options.endsSession === true
  const userProperties = [
    ...toSpoolProperties(spool),
    ...(options.isSessionLost === true ? remoteSessionLostProperty : []),
  ]
  return createConnectPacket({
    version: 5,
    clientId: toBridgeClientId(name),
    cleanStart: endsSession || options.isSessionNew === true,
    properties: {
      sessionExpiryIntervalSeconds: endsSession ? 0 : neverExpires,
      receiveMaximum: options.receiveMaximum,
      ...(userProperties.length > 0 ? { userProperties } : {}),
    },
  })
}

export function connectRemote(
  settings: BridgeSettings,
  broker: LocalBroker,
  options: { cleanStart: boolean; sendsBridgeBit: boolean },
): ConnectPacket {
  const { version, clientId, keepAliveSeconds, username, password, will } = settings
  return createConnectPacket({
    version,
    clientId,
    cleanStart: options.cleanStart,
    keepAliveSeconds,
    username,
    password,
    will,
    properties: version === 5 ? toConnectProperties(settings, broker) : undefined,
    isBridge: version !== 5 && options.sendsBridgeBit,
  })
}

function toConnectProperties(
  settings: BridgeSettings,
  { limits, receiveMaximum }: LocalBroker,
): ConnectPacket['properties'] {
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

/** True if the remote broker refuses the version. The reason may be the bridge bit alone. */
export function isUnknownVersion({ reasonCode }: ConnackPacket, version: ProtocolVersion): boolean {
  return version !== 5 && reasonCode === returnCodes.unacceptableProtocolVersion
}
