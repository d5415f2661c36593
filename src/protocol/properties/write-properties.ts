// Writes the property section of an MQTT 5.0 packet (section 2.2.2), as described by the table in `property-table.ts`.

import { ByteCounter, type ByteSink } from '../bytes/byte-sink.ts'
import { rulesByHolder, type PropertyHolder, type PropertyRule, type PropertyValue } from './property-table.ts'
import type { PropertiesOf } from './read-properties.ts'

type Fields = Record<string, PropertyValue | readonly PropertyValue[] | undefined>

/** Returns the length of the properties in bytes, without the length field. */
export function measureProperties<Holder extends PropertyHolder>(
  holder: Holder,
  properties: PropertiesOf[Holder] | undefined,
): number {
  if (properties === undefined) return 0
  const counter = new ByteCounter()
  writePropertyFields(counter, holder, properties)
  return counter.bytes
}

/** Writes the length and the properties, in the order of their identifiers. */
export function writeProperties<Holder extends PropertyHolder>(
  sink: ByteSink,
  holder: Holder,
  properties: PropertiesOf[Holder] | undefined,
): void {
  sink.variableInteger(measureProperties(holder, properties))
  if (properties !== undefined) writePropertyFields(sink, holder, properties)
}

/** Writes the properties without their length. */
export function writePropertyFields<Holder extends PropertyHolder>(
  sink: ByteSink,
  holder: Holder,
  properties: PropertiesOf[Holder],
): void {
  const fields = properties as Fields
  for (const rule of rulesByHolder[holder].inOrder) {
    const value = fields[rule.name]
    if (value === undefined) continue
    if (!rule.repeats) writeField(sink, rule, value as PropertyValue)
    else for (const one of value as readonly PropertyValue[]) writeField(sink, rule, one)
  }
}

function writeField(sink: ByteSink, rule: PropertyRule, value: PropertyValue): void {
  const { shape } = rule
  sink.variableInteger(rule.identifier)
  switch (shape) {
    case 'byte':
      return sink.uint8(value as number)
    case 'flag':
      return sink.uint8(value === true ? 1 : 0)
    case 'uint16':
      return sink.uint16(value as number)
    case 'uint32':
      return sink.uint32(value as number)
    case 'variable-integer':
      return sink.variableInteger(value as number)
    case 'text':
    case 'topic':
      return sink.text(value as string)
    case 'binary':
      return sink.binary(value as Buffer)
    case 'text-pair':
      return writePair(sink, value as readonly [string, string])
    default:
      return shape satisfies never
  }
}

function writePair(sink: ByteSink, [name, value]: readonly [string, string]): void {
  sink.text(name)
  sink.text(value)
}
