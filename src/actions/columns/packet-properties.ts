// Properties of MQTT 5.0 packets as rules read them, by their names in the standard.

import type {
  AckProperties,
  ConnectProperties,
  DisconnectProperties,
  SubscribeProperties,
  UnsubscribeProperties,
  UserProperties,
} from '../../protocol/index.ts'
import type { RuleMap } from '../../values/index.ts'

const none: RuleMap = {}

/** Returns the properties of CONNECT for rules, without authentication data, which is secret. */
export function toConnectProperties(properties: ConnectProperties | undefined): RuleMap {
  if (properties === undefined) return none
  return {
    'Session-Expiry-Interval': properties.sessionExpiryIntervalSeconds,
    'Receive-Maximum': properties.receiveMaximum,
    'Maximum-Packet-Size': properties.maximumPacketSizeBytes,
    'Topic-Alias-Maximum': properties.topicAliasMaximum,
    'Request-Response-Information': toFlag(properties.requestResponseInformation),
    'Request-Problem-Information': toFlag(properties.requestProblemInformation),
    'Authentication-Method': properties.authenticationMethod,
    ...toUserProperties(properties.userProperties),
  }
}

type OtherProperties = Partial<AckProperties & DisconnectProperties & SubscribeProperties & UnsubscribeProperties>

/** Returns the properties of DISCONNECT, SUBSCRIBE, UNSUBSCRIBE, PUBACK and PUBREC for rules. */
export function toOtherProperties(properties: OtherProperties | undefined): RuleMap {
  if (properties === undefined) return none
  return {
    'Reason-String': properties.reasonString,
    'Session-Expiry-Interval': properties.sessionExpiryIntervalSeconds,
    'Subscription-Identifier': properties.subscriptionIdentifier,
    ...toUserProperties(properties.userProperties),
  }
}

function toFlag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}

/** Returns user properties in two forms: as a map, in which the last value of a name applies, and as a complete list. */
export function toUserProperties(pairs: UserProperties | undefined): RuleMap {
  return {
    'User-Property': Object.fromEntries(pairs ?? []),
    'User-Property-Pairs':
      pairs === undefined || pairs.length === 0 ? undefined : pairs.map(([key, value]) => ({ key, value })),
  }
}
