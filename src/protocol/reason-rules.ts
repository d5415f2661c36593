// Which reason codes may stand in which packet (table 2-6 of 5.0), and the return codes of before.

import type { ProtocolVersion } from './packets.ts'
import { ProtocolError } from './protocol-error.ts'
import { reasonCodes, returnCodes, type ReasonCode, type ReasonName } from './reason-codes.ts'

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

const codes = (...names: readonly ReasonName[]): ReadonlySet<number> => new Set(names.map((name) => reasonCodes[name]))

const publishReasons = codes(
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
const releaseReasons = codes('success', 'packetIdentifierNotFound')

const allowed: Readonly<Record<ReasonHolder, ReadonlySet<number>>> = {
  connack: codes(
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
  suback: codes(
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
  unsuback: codes(
    'success',
    'noSubscriptionExisted',
    'unspecifiedError',
    'implementationSpecificError',
    'notAuthorized',
    'topicFilterInvalid',
    'packetIdentifierInUse',
  ),
  disconnect: codes(
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
  auth: codes('success', 'continueAuthentication', 'reAuthenticate'),
}

const allowedBefore5: Readonly<Partial<Record<ReasonHolder, ReadonlySet<number>>>> = {
  connack: new Set(Object.values(returnCodes)),
  // [MQTT-3.9.3-2]
  suback: codes('grantedQoS0', 'grantedQoS1', 'grantedQoS2', 'unspecifiedError'),
}

/** Returns `code`; throws `protocolError` where the standard of `version` has no such code for the packet. */
export function checkReason(holder: ReasonHolder, code: number, version: ProtocolVersion): ReasonCode {
  const known = version === 5 ? allowed[holder] : allowedBefore5[holder]
  if (known?.has(code) !== true) {
    throw new ProtocolError('protocolError', `${holder} has a reason code that it may not have`)
  }
  return code as ReasonCode
}

/** A fault in CONNECT as CONNACK may say it: what its table has no word for is a protocol error. */
export function connackReasonFor(reason: ReasonCode): ReasonCode {
  return allowed.connack.has(reason) ? reason : reasonCodes.protocolError
}
