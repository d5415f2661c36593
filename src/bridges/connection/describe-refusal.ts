// Texts for logs and alarms: why either broker refuses or ends the connection of a bridge.

import {
  reasonCodes,
  describeReason,
  type ConnackPacket,
  type DisconnectPacket,
  type SubackPacket,
  type UnsubackPacket,
} from '../../protocol/index.ts'

/** Returns why the own broker refuses a request of the bridge, as a sentence; undefined if it does not. */
export function describeLocalRefusal(packet: ConnackPacket | SubackPacket | UnsubackPacket): string | undefined {
  if (packet.type !== 'connack') return describeRefusedSubscription('this broker', packet)
  const { reasonCode, properties } = packet
  if (reasonCode === reasonCodes.success) return undefined
  return `this broker does not let the bridge in: ${describeReason(reasonCode, 5, properties?.reasonString)}`
}

/** Does the same for the remote broker's response to subscriptions. */
export function describeRemoteRefusal(packet: SubackPacket | UnsubackPacket): string | undefined {
  return describeRefusedSubscription('the remote broker', packet)
}

function describeRefusedSubscription(
  brokerName: string,
  { reasonCodes: codes }: SubackPacket | UnsubackPacket,
): string | undefined {
  const refused = codes.find((code) => code >= reasonCodes.unspecifiedError)
  return refused === undefined
    ? undefined
    : `${brokerName} refused a subscription of the bridge: ${describeReason(refused, 5)}`
}

/** Returns why the own broker ends the connection. */
export function describeLocalDisconnect({ reasonCode }: DisconnectPacket): string {
  return `this broker ended the connection: ${describeReason(reasonCode, 5)}`
}
