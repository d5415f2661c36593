// The properties of MQTT 5.0 (section 2.2.2), by the packet that may have them.

/** Name and value. The same name may occur several times, and the order is preserved [MQTT5-3.3.2-17, -18]. */
export type UserProperties = readonly (readonly [name: string, value: string])[]

interface WithUserProperties {
  userProperties?: UserProperties
}

export interface ConnectProperties extends WithUserProperties {
  sessionExpiryIntervalSeconds?: number
  receiveMaximum?: number
  maximumPacketSizeBytes?: number
  topicAliasMaximum?: number
  requestResponseInformation?: boolean
  requestProblemInformation?: boolean
  authenticationMethod?: string
  authenticationData?: Buffer
}

/** Properties of a message that its receivers get unchanged [MQTT5-3.3.2-4, -15 to -20]. */
export interface MessageProperties extends WithUserProperties {
  /** 0: unspecified bytes, 1: UTF-8 text. */
  payloadFormatIndicator?: 0 | 1
  messageExpiryIntervalSeconds?: number
  contentType?: string
  responseTopic?: string
  correlationData?: Buffer
}

export interface WillProperties extends MessageProperties {
  willDelayIntervalSeconds?: number
}

export interface PublishProperties extends MessageProperties {
  topicAlias?: number
  /** From a server: the identifiers of all matching subscriptions. From a client: a protocol error [MQTT5-3.3.4-6]. */
  subscriptionIdentifiers?: readonly number[]
}

export interface ConnackProperties extends WithUserProperties {
  sessionExpiryIntervalSeconds?: number
  receiveMaximum?: number
  maximumQoS?: 0 | 1
  retainAvailable?: boolean
  maximumPacketSizeBytes?: number
  assignedClientIdentifier?: string
  topicAliasMaximum?: number
  reasonString?: string
  wildcardSubscriptionAvailable?: boolean
  subscriptionIdentifiersAvailable?: boolean
  sharedSubscriptionAvailable?: boolean
  serverKeepAliveSeconds?: number
  responseInformation?: string
  serverReference?: string
  authenticationMethod?: string
  authenticationData?: Buffer
}

/** Properties of PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK and UNSUBACK. */
export interface AckProperties extends WithUserProperties {
  reasonString?: string
}

export interface SubscribeProperties extends WithUserProperties {
  /** 1 to 268,435,455 [MQTT5-3.8.2-1: 0 is a protocol error]. */
  subscriptionIdentifier?: number
}

export type UnsubscribeProperties = WithUserProperties

export interface DisconnectProperties extends WithUserProperties {
  sessionExpiryIntervalSeconds?: number
  reasonString?: string
  serverReference?: string
}

export interface AuthProperties extends WithUserProperties {
  authenticationMethod?: string
  authenticationData?: Buffer
  reasonString?: string
}
