// The reason codes that each packet may have (MQTT 5.0, table 2-6), and the return codes of earlier versions.

import type { ProtocolVersion } from './packets.ts'
import { ProtocolError } from '../reasons/protocol-error.ts'
import { reasonCodes, returnCodes, type ReasonCode, type ReasonName } from '../reasons/reason-codes.ts'

/** Packets with a reason code. */
export type ReasonHolder =
  | 'connack'
  | 'puback'
  | 'pubrec'
  | 'pubrel'
  | 'pubcomp'
  | 'suback'
  | 'unsuback'
  | 'disconnect'
  | 'auth'

const toCodes = (...names: readonly ReasonName[]): ReadonlySet<number> =>
  new Set(names.map((name) => reasonCodes[name]))

const publishReasons = toCodes(
  'success',
  'noMatchingSubscribers',
  'unspecifiedError',
  'implementationSpecificError',
  'notAuthorized',
  'topicNameInvalid',
  'packetIdentifierInUse',
  'quotaExceeded',
  'payloadFormatInvalid',
)
const releaseReasons = toCodes('success', 'packetIdentifierNotFound')

const allowed: Readonly<Record<ReasonHolder, ReadonlySet<number>>> = {
  connack: toCodes(
    'success',
    'unspecifiedError',
    'malformedPacket',
    'protocolError',
    'implementationSpecificError',
    'unsupportedProtocolVersion',
    'clientIdentifierNotValid',
    'badUserNameOrPassword',
    'notAuthorized',
    'serverUnavailable',
    'serverBusy',
    'banned',
    'badAuthenticationMethod',
    'topicNameInvalid',
    'packetTooLarge',
    'quotaExceeded',
    'payloadFormatInvalid',
    'retainNotSupported',
    'qosNotSupported',
    'useAnotherServer',
    'serverMoved',
    'connectionRateExceeded',
  ),
  puback: publishReasons,
  pubrec: publishReasons,
  pubrel: releaseReasons,
  pubcomp: releaseReasons,
  suback: toCodes(
    'grantedQoS0',
    'grantedQoS1',
    'grantedQoS2',
    'unspecifiedError',
    'implementationSpecificError',
    'notAuthorized',
    'topicFilterInvalid',
    'packetIdentifierInUse',
    'quotaExceeded',
    'sharedSubscriptionsNotSupported',
    'subscriptionIdentifiersNotSupported',
    'wildcardSubscriptionsNotSupported',
  ),
  unsuback: toCodes(
    'success',
    'noSubscriptionExisted',
    'unspecifiedError',
    'implementationSpecificError',
    'notAuthorized',
    'topicFilterInvalid',
    'packetIdentifierInUse',
  ),
  disconnect: toCodes(
    'normalDisconnection',
    'disconnectWithWill',
    'unspecifiedError',
    'malformedPacket',
    'protocolError',
    'implementationSpecificError',
    'notAuthorized',
    'serverBusy',
    'serverShuttingDown',
    'badAuthenticationMethod',
    'keepAliveTimeout',
    'sessionTakenOver',
    'topicFilterInvalid',
    'topicNameInvalid',
    'receiveMaximumExceeded',
    'topicAliasInvalid',
    'packetTooLarge',
    'messageRateTooHigh',
    'quotaExceeded',
    'administrativeAction',
    'payloadFormatInvalid',
    'retainNotSupported',
    'qosNotSupported',
    'useAnotherServer',
    'serverMoved',
    'sharedSubscriptionsNotSupported',
    'connectionRateExceeded',
    'maximumConnectTime',
    'subscriptionIdentifiersNotSupported',
    'wildcardSubscriptionsNotSupported',
  ),
  auth: toCodes('success', 'continueAuthentication', 'reAuthenticate'),
}

const allowedBefore5: Readonly<Partial<Record<ReasonHolder, ReadonlySet<number>>>> = {
  connack: new Set(Object.values(returnCodes)),
  // [MQTT-3.9.3-2]
  suback: toCodes('grantedQoS0', 'grantedQoS1', 'grantedQoS2', 'unspecifiedError'),
}

/** Returns `code`. Throws `protocolError` if the standard of `version` does not allow it in this packet. */
export function checkReason(holder: ReasonHolder, code: number, version: ProtocolVersion): ReasonCode {
  const known = version === 5 ? allowed[holder] : allowedBefore5[holder]
  if (known?.has(code) !== true) {
    throw new ProtocolError('protocolError', `${holder} has a reason code that is not allowed in it`)
  }
  return code as ReasonCode
}

/** Returns the reason code of CONNACK for an error in CONNECT: `reason` itself, or protocol error if CONNACK may not have `reason`. */
export function toConnackReason(reason: ReasonCode): ReasonCode {
  return allowed.connack.has(reason) ? reason : reasonCodes.protocolError
}
