// Decodes the property section of a 5.0 packet (section 2.2.2), as described by the table in `property-table.ts`.

import type { ByteReader } from '../bytes/byte-reader.ts'
import type {
  AckProperties,
  AuthProperties,
  ConnackProperties,
  ConnectProperties,
  DisconnectProperties,
  PublishProperties,
  SubscribeProperties,
  UnsubscribeProperties,
  WillProperties,
} from './properties.ts'
import { ProtocolError } from '../reasons/protocol-error.ts'
import { rulesByHolder, type PropertyHolder, type PropertyRule, type PropertyValue } from './property-table.ts'
import { parseTopicName } from '../topics/topic-names.ts'

/** The type of the properties of each holder. */
export interface PropertiesOf {
  connect: ConnectProperties
  connack: ConnackProperties
  publish: PublishProperties
  will: WillProperties
  puback: AckProperties
  pubrec: AckProperties
  pubrel: AckProperties
  pubcomp: AckProperties
  subscribe: SubscribeProperties
  suback: AckProperties
  unsubscribe: UnsubscribeProperties
  unsuback: AckProperties
  disconnect: DisconnectProperties
  auth: AuthProperties
}

type Properties = Record<string, PropertyValue | PropertyValue[] | undefined>

/**
 * Reads a property section, which starts with its length. Returns `undefined` if it is empty. Throws:
 * - `packetTooLarge` if it has more than `maxBytes`;
 * - `malformedPacket` if it is longer than the packet or has an identifier that `holder` must not have;
 * - `protocolError` if a property occurs twice, or a flag or topic is invalid;
 * - `PropertyRule.reason` if a number is out of its range.
 */
export function readProperties<Holder extends PropertyHolder>(
  reader: ByteReader,
  holder: Holder,
  maxBytes: number,
): PropertiesOf[Holder] | undefined {
  const length = reader.variableInteger('property length')
  if (length === 0) return undefined
  if (length > maxBytes) throw new ProtocolError('packetTooLarge', `properties take more than ${maxBytes} bytes`)
  const packetEnd = reader.end
  const sectionEnd = reader.at + length
  if (sectionEnd > packetEnd) throw new ProtocolError('malformedPacket', 'properties run past the end of the packet')
  reader.end = sectionEnd
  const properties: Properties = {}
  while (reader.hasMore) readProperty(reader, holder, properties)
  reader.end = packetEnd
  return properties
}

function readProperty(reader: ByteReader, holder: PropertyHolder, properties: Properties): void {
  const identifier = reader.variableInteger('property identifier')
  const rule = rulesByHolder[holder].byIdentifier[identifier]
  if (rule === undefined) {
    throw new ProtocolError('malformedPacket', `property ${identifier} is not allowed in ${holder}`)
  }
  const value = readValue(reader, rule)
  const earlier = properties[rule.name]
  if (earlier === undefined) properties[rule.name] = rule.repeats ? [value] : value
  else if (rule.repeats) (earlier as PropertyValue[]).push(value)
  else throw new ProtocolError('protocolError', `${rule.name} occurs twice`)
}

function readValue(reader: ByteReader, rule: PropertyRule): PropertyValue {
  const { shape, name } = rule
  switch (shape) {
    case 'byte':
      return checkRange(reader.uint8(name), rule)
    case 'uint16':
      return checkRange(reader.uint16(name), rule)
    case 'uint32':
      return checkRange(reader.uint32(name), rule)
    case 'variable-integer':
      return checkRange(reader.variableInteger(name), rule)
    case 'flag':
      return readFlag(reader, name)
    case 'text':
      return reader.text(name)
    case 'topic':
      return readTopic(reader, name)
    case 'binary':
      return reader.binary(name)
    case 'text-pair':
      return [reader.text(name), reader.text(name)]
    default:
      return shape satisfies never
  }
}

function checkRange(value: number, rule: PropertyRule): number {
  if (value < rule.min || value > rule.max) {
    throw new ProtocolError(rule.reason, `${rule.name} is out of its range`)
  }
  return value
}

function readFlag(reader: ByteReader, name: string): boolean {
  const value = reader.uint8(name)
  if (value > 1) throw new ProtocolError('protocolError', `${name} is neither 0 nor 1`)
  return value === 1
}

/** [MQTT5-3.3.2-14] A response topic has no wildcards; like every topic name it is not empty [MQTT5-4.7.3-1]. */
function readTopic(reader: ByteReader, name: string): string {
  const topic = reader.text(name)
  if (parseTopicName(topic) === undefined) throw new ProtocolError('protocolError', `${name} is not a topic name`)
  return topic
}
