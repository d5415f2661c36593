// The reason codes of MQTT 5.0 (section 2.4) and the return codes of CONNACK in 3.1 and 3.1.1.

/** The reason codes by their names in the standard, in camel case. Some numbers have several names. */
export const reasonCodes = {
  success: 0x00,
  normalDisconnection: 0x00,
  grantedQoS0: 0x00,
  grantedQoS1: 0x01,
  grantedQoS2: 0x02,
  disconnectWithWill: 0x04,
  noMatchingSubscribers: 0x10,
  noSubscriptionExisted: 0x11,
  continueAuthentication: 0x18,
  reAuthenticate: 0x19,
  unspecifiedError: 0x80,
  malformedPacket: 0x81,
  protocolError: 0x82,
  implementationSpecificError: 0x83,
  unsupportedProtocolVersion: 0x84,
  clientIdentifierNotValid: 0x85,
  badUserNameOrPassword: 0x86,
  notAuthorized: 0x87,
  serverUnavailable: 0x88,
  serverBusy: 0x89,
  banned: 0x8a,
  serverShuttingDown: 0x8b,
  badAuthenticationMethod: 0x8c,
  keepAliveTimeout: 0x8d,
  sessionTakenOver: 0x8e,
  topicFilterInvalid: 0x8f,
  topicNameInvalid: 0x90,
  packetIdentifierInUse: 0x91,
  packetIdentifierNotFound: 0x92,
  receiveMaximumExceeded: 0x93,
  topicAliasInvalid: 0x94,
  packetTooLarge: 0x95,
  messageRateTooHigh: 0x96,
  quotaExceeded: 0x97,
  administrativeAction: 0x98,
  payloadFormatInvalid: 0x99,
  retainNotSupported: 0x9a,
  qosNotSupported: 0x9b,
  useAnotherServer: 0x9c,
  serverMoved: 0x9d,
  sharedSubscriptionsNotSupported: 0x9e,
  connectionRateExceeded: 0x9f,
  maximumConnectTime: 0xa0,
  subscriptionIdentifiersNotSupported: 0xa1,
  wildcardSubscriptionsNotSupported: 0xa2,
} as const

export type ReasonName = keyof typeof reasonCodes
export type ReasonCode = (typeof reasonCodes)[ReasonName]

/** CONNACK return codes of MQTT 3.1 and 3.1.1 (table 3.1). */
export const returnCodes = {
  accepted: 0,
  unacceptableProtocolVersion: 1,
  identifierRejected: 2,
  serverUnavailable: 3,
  badUserNameOrPassword: 4,
  notAuthorized: 5,
} as const

export type ReturnCode = (typeof returnCodes)[keyof typeof returnCodes]

const returnCodeByReason: ReadonlyMap<ReasonCode, ReturnCode> = new Map<ReasonCode, ReturnCode>([
  [reasonCodes.success, returnCodes.accepted],
  [reasonCodes.unsupportedProtocolVersion, returnCodes.unacceptableProtocolVersion],
  [reasonCodes.clientIdentifierNotValid, returnCodes.identifierRejected],
  [reasonCodes.badUserNameOrPassword, returnCodes.badUserNameOrPassword],
  [reasonCodes.badAuthenticationMethod, returnCodes.badUserNameOrPassword],
  [reasonCodes.notAuthorized, returnCodes.notAuthorized],
  [reasonCodes.banned, returnCodes.notAuthorized],
])

/** Returns the return code for a 3.1 or 3.1.1 client that corresponds to `reason`; 3 (server unavailable) if none does. */
export function toReturnCode(reason: ReasonCode): ReturnCode {
  return returnCodeByReason.get(reason) ?? returnCodes.serverUnavailable
}
