// The definitions of the properties of MQTT 5.0 (table 2-4), which decoding and encoding both use.

import { createAssertionError } from '../bytes/assert.ts'
import type { ReasonName } from '../reasons/reason-codes.ts'

/** The place of properties: a packet, or the will of a CONNECT. */
export type PropertyHolder =
  | 'connect'
  | 'connack'
  | 'publish'
  | 'will'
  | 'puback'
  | 'pubrec'
  | 'pubrel'
  | 'pubcomp'
  | 'subscribe'
  | 'suback'
  | 'unsubscribe'
  | 'unsuback'
  | 'disconnect'
  | 'auth'

/** The encoding of a value. `flag` is a byte of 0 or 1, `topic` a text without wildcards. */
export type WireShape =
  | 'byte'
  | 'flag'
  | 'uint16'
  | 'uint32'
  | 'variable-integer'
  | 'text'
  | 'topic'
  | 'binary'
  | 'text-pair'

export interface PropertyRule {
  readonly identifier: number
  /** The name of the field in the types of `properties.ts`. */
  readonly name: string
  readonly shape: WireShape
  readonly holders: readonly PropertyHolder[]
  /** The property may occur several times: the field is an array, in order. */
  readonly repeats: boolean
  /** Numbers outside of `min` and `max` are rejected with `reason`. */
  readonly min: number
  readonly max: number
  readonly reason: ReasonName
}

const defineRule = (
  identifier: number,
  name: string,
  shape: WireShape,
  holders: readonly PropertyHolder[],
  overrides: Partial<PropertyRule> = {},
): PropertyRule => ({
  identifier,
  name,
  shape,
  holders,
  repeats: false,
  min: 0,
  max: Infinity,
  reason: 'protocolError',
  ...overrides,
})

const acknowledgements = ['puback', 'pubrec', 'pubrel', 'pubcomp', 'suback', 'unsuback'] as const
const messages = ['publish', 'will'] as const
const everywhere = [
  ...(['connect', 'connack', 'subscribe', 'unsubscribe', 'disconnect', 'auth'] as const),
  ...messages,
  ...acknowledgements,
] as const

export const propertyRules: readonly PropertyRule[] = [
  defineRule(0x01, 'payloadFormatIndicator', 'byte', messages, { max: 1 }),
  defineRule(0x02, 'messageExpiryIntervalSeconds', 'uint32', messages),
  defineRule(0x03, 'contentType', 'text', messages),
  defineRule(0x08, 'responseTopic', 'topic', messages),
  defineRule(0x09, 'correlationData', 'binary', messages),
  defineRule(0x0b, 'subscriptionIdentifier', 'variable-integer', ['subscribe'], { min: 1 }),
  defineRule(0x0b, 'subscriptionIdentifiers', 'variable-integer', ['publish'], { min: 1, repeats: true }),
  defineRule(0x11, 'sessionExpiryIntervalSeconds', 'uint32', ['connect', 'connack', 'disconnect']),
  defineRule(0x12, 'assignedClientIdentifier', 'text', ['connack']),
  defineRule(0x13, 'serverKeepAliveSeconds', 'uint16', ['connack']),
  defineRule(0x15, 'authenticationMethod', 'text', ['connect', 'connack', 'auth']),
  defineRule(0x16, 'authenticationData', 'binary', ['connect', 'connack', 'auth']),
  defineRule(0x17, 'requestProblemInformation', 'flag', ['connect']),
  defineRule(0x18, 'willDelayIntervalSeconds', 'uint32', ['will']),
  defineRule(0x19, 'requestResponseInformation', 'flag', ['connect']),
  defineRule(0x1a, 'responseInformation', 'text', ['connack']),
  defineRule(0x1c, 'serverReference', 'text', ['connack', 'disconnect']),
  defineRule(0x1f, 'reasonString', 'text', [...acknowledgements, 'connack', 'disconnect', 'auth']),
  defineRule(0x21, 'receiveMaximum', 'uint16', ['connect', 'connack'], { min: 1 }),
  defineRule(0x22, 'topicAliasMaximum', 'uint16', ['connect', 'connack']),
  defineRule(0x23, 'topicAlias', 'uint16', ['publish'], { min: 1, reason: 'topicAliasInvalid' }),
  defineRule(0x24, 'maximumQoS', 'byte', ['connack'], { max: 1 }),
  defineRule(0x25, 'retainAvailable', 'flag', ['connack']),
  defineRule(0x26, 'userProperties', 'text-pair', everywhere, { repeats: true }),
  defineRule(0x27, 'maximumPacketSizeBytes', 'uint32', ['connect', 'connack'], { min: 1 }),
  defineRule(0x28, 'wildcardSubscriptionAvailable', 'flag', ['connack']),
  defineRule(0x29, 'subscriptionIdentifiersAvailable', 'flag', ['connack']),
  defineRule(0x2a, 'sharedSubscriptionAvailable', 'flag', ['connack']),
]

/** The rules of one holder: in the order of their identifiers, and by identifier. */
export interface HolderRules {
  readonly inOrder: readonly PropertyRule[]
  readonly byIdentifier: readonly (PropertyRule | undefined)[]
}

function selectHolderRules(holder: PropertyHolder): HolderRules {
  const inOrder = propertyRules.filter((candidate) => candidate.holders.includes(holder))
  const byIdentifier: (PropertyRule | undefined)[] = Array.from({ length: 0x2b }, () => undefined)
  for (const candidate of inOrder) byIdentifier[candidate.identifier] = candidate
  return { inOrder, byIdentifier }
}

export const rulesByHolder: Readonly<Record<PropertyHolder, HolderRules>> = {
  connect: selectHolderRules('connect'),
  connack: selectHolderRules('connack'),
  publish: selectHolderRules('publish'),
  will: selectHolderRules('will'),
  puback: selectHolderRules('puback'),
  pubrec: selectHolderRules('pubrec'),
  pubrel: selectHolderRules('pubrel'),
  pubcomp: selectHolderRules('pubcomp'),
  subscribe: selectHolderRules('subscribe'),
  suback: selectHolderRules('suback'),
  unsubscribe: selectHolderRules('unsubscribe'),
  unsuback: selectHolderRules('unsuback'),
  disconnect: selectHolderRules('disconnect'),
  auth: selectHolderRules('auth'),
}

/** Returns the identifier of a property, for code that encodes it by itself. `name` is a property of the holder. */
export function findPropertyIdentifier(holder: PropertyHolder, name: string): number {
  const rule = rulesByHolder[holder].inOrder.find((candidate) => candidate.name === name)
  if (rule === undefined) throw createAssertionError(`${holder} has a property ${name}`)
  return rule.identifier
}

/** A value of any property, in the form of the fields in `properties.ts`. */
export type PropertyValue = number | boolean | string | Buffer | readonly [string, string]
