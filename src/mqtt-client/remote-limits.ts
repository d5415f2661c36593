// Limits of a broker: those in its CONNACK, and those that are known without it.

import type { ConnackPacket, ProtocolVersion, QoS } from '../protocol/index.ts'

const maxReceiveMaximum = 65_535
/** Default of the maximum of in-flight messages with MQTT 5.0. The broker may allow fewer. */
const defaultInFlightV5 = 1_024
/**
 * The same default before 5.0, where the limit of the broker is unknown. mosquitto acknowledges further QoS 2 messages and drops them.
 */
const defaultInFlightBefore5 = 20

/** Default for in-flight messages to a broker. */
export function selectDefaultInFlight(version: ProtocolVersion): number {
  return version === 5 ? defaultInFlightV5 : defaultInFlightBefore5
}

export function selectLowerQoS(one: QoS, other: QoS): QoS {
  return one < other ? one : other
}

/** Limits that the broker has sent. */
export interface RemoteLimits {
  readonly receiveMaximum: number
  readonly maximumPacketBytes: number
  readonly maximumQoS: QoS
  readonly retainAvailable: boolean
}

/** `maxInFlight` undefined: the default. */
export function toRemoteLimits(
  { properties }: ConnackPacket,
  {
    version,
    maxInFlight,
    maxQoS,
  }: { readonly version: ProtocolVersion; readonly maxInFlight: number | undefined; readonly maxQoS: QoS },
): RemoteLimits {
  const wanted = maxInFlight ?? selectDefaultInFlight(version)
  return {
    receiveMaximum: Math.min(properties?.receiveMaximum ?? maxReceiveMaximum, wanted),
    maximumPacketBytes: properties?.maximumPacketSizeBytes ?? Infinity,
    maximumQoS: selectLowerQoS(properties?.maximumQoS ?? 2, maxQoS),
    retainAvailable: properties?.retainAvailable ?? true,
  }
}
