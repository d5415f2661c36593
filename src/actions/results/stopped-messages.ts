// A message or event for which a rule was stopped by a limit, as it is stored as a dead letter. The rule can run for it again.
//
//   payload of the message      attributes: topic, clientid, ..., ['!event', name], ['!columns', JSON of all other columns], ['rule', id]

import { eventDefinitions, toEventFields, RuleEvent, toJsonText } from '../../rules/index.ts'
import { decodeJson, RuleError, type RuleMap, type RuleValue } from '../../values/index.ts'
import type { ActionEntry } from '../../sinks/index.ts'
import { renderEntry, restoreBytes } from './stored-results.ts'

const eventAttribute = '!event'
const columnsAttribute = '!columns'
/** Maximum characters of the columns, so that they fit into an attribute. */
const maxColumnsLength = 16_000
const maxShownBytes = 1_024
/** Columns that lists of dead letters show. */
const shownColumns = ['topic', 'clientid', 'username', 'qos', 'event'] as const

export function toStoppedEntry(event: RuleEvent, rule: string): ActionEntry {
  const { payload, ...columns } = event.collectColumns()
  const attributes: (readonly [string, string])[] = []
  for (const name of shownColumns) {
    const text = toShownText(columns[name])
    if (text !== undefined) attributes.push([name, text])
  }
  attributes.push([eventAttribute, event.fields.event])
  const json = tryFormatJson(columns)
  if (json !== undefined && json.length <= maxColumnsLength) attributes.push([columnsAttribute, json])
  return { payload: toPayloadBytes(payload), attributes: [...attributes, ['rule', rule]] }
}

function toShownText(value: RuleValue): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value)
  return text === '' || text.includes('\0') || Buffer.byteLength(text) > maxShownBytes ? undefined : text
}

function tryFormatJson(columns: RuleMap): string | undefined {
  try {
    return toJsonText(columns)
  } catch (error) {
    if (error instanceof RuleError) return undefined
    throw error
  }
}

function toPayloadBytes(payload: RuleValue): Buffer {
  if (typeof payload === 'string') return Buffer.from(payload)
  return payload instanceof Uint8Array ? Buffer.from(payload) : Buffer.alloc(0)
}

/** Returns whether the entry has a message instead of a result. */
export function hasMessage({ attributes }: ActionEntry): boolean {
  return attributes.some(([name]) => name === eventAttribute)
}

/** Returns the entry as it is sent with the present templates; `why`: it cannot be sent. */
export function prepareEntry(
  entry: ActionEntry,
  templates: Parameters<typeof renderEntry>[1],
): ReturnType<typeof renderEntry> {
  return hasMessage(entry)
    ? { why: 'the entry is a message for which the rule was stopped' }
    : renderEntry(entry, templates)
}

/** Returns the event for which the rule runs again; undefined: its columns were too large to be stored. */
export function restoreEvent({ payload, attributes }: ActionEntry): RuleEvent | undefined {
  const values = new Map(attributes)
  const [name, json] = [values.get(eventAttribute), values.get(columnsAttribute)]
  const event = [...eventDefinitions.keys()].find((each) => each === name)
  if (event === undefined || json === undefined) return undefined
  const columns = restoreBytes(decodeJson(json)) as RuleMap
  return new RuleEvent(toEventFields(event, { ...columns, payload: new Uint8Array(payload) }))
}
