// The result of a rule, as it is stored with its entry. What waits in the queue is rendered with the present templates of its action, so a
// wrong statement can be corrected.

import { createHash } from 'node:crypto'
import { toJsonText } from '../../rules/index.ts'
import { decodeJson, RuleError, type RuleMap, type RuleValue } from '../../values/index.ts'
import type { ActionEntry, Render, RuleData } from '../../sinks/index.ts'
import type { ActionInput } from './action-input.ts'

/** A result of a rule, as it is stored. */
export interface StoredResult {
  readonly original: ActionInput['original']
  readonly clientId: RuleValue
  readonly topic: RuleValue
  readonly output: RuleMap
  /** When the rule ran; undefined: an earlier version stored the result. */
  readonly atMs: number | undefined
}

/** Increased when the same templates make other entries. */
const renderVersion = 1
const formLength = 12

/** Returns a short text that is different for actions with different templates. */
export function computeForm(type: string, parameters: unknown): string {
  const text = JSON.stringify([renderVersion, type, parameters], (_, value: unknown) =>
    value instanceof Map ? [...(value as Map<unknown, unknown>)] : value,
  )
  return createHash('sha256').update(text).digest('base64url').slice(0, formLength)
}

/** The JSON of all columns of a result. Actions that send all columns and the stored result have the same JSON, which is made once. */
export class ColumnsJson {
  #data: RuleData | undefined
  #json = ''

  /** Throws RuleError if the JSON would be too large. */
  formatColumns(data: RuleData): string {
    if (this.#data !== data) {
      this.#data = undefined
      this.#json = toJsonText(data as RuleMap)
      this.#data = data
    }
    return this.#json
  }
}

/** Returns the stored form of a result of a rule. Undefined: it has no JSON form, or one that is too large. */
export function encodeResult(
  { output, original, event }: Pick<ActionInput, 'output' | 'original' | 'event'>,
  atMs: number,
  columns: ColumnsJson,
): Buffer | undefined {
  return encodeStored(
    { original, clientId: event.readColumn('clientid'), topic: event.readColumn('topic'), output, atMs },
    columns,
  )
}

export function encodeStored(
  { original: { qos, retain }, clientId, topic, output, atMs = Date.now() }: StoredResult,
  columns = new ColumnsJson(),
): Buffer | undefined {
  try {
    const head = toJsonText([qos, retain, clientId, topic]).slice(0, -1)
    return Buffer.from(`${head},${columns.formatColumns(output)},${Math.floor(atMs)}]`)
  } catch (error) {
    // The action itself does not need the JSON form.
    if (error instanceof RuleError) return undefined
    throw error
  }
}

/** Reads a result that `encodeStored` has written. */
export function readResult(result: Buffer): StoredResult | { readonly failure: string } {
  let stored: RuleValue
  try {
    stored = decodeJson(result.toString())
  } catch (error) {
    // A result may be nested deeper than the decoder accepts.
    if (error instanceof RuleError) return { failure: `the stored result cannot be read: ${error.message}` }
    throw error
  }
  const [qos, retain, clientId, topic, output, atMs] = stored as readonly RuleValue[]
  const original = { qos: qos === 1 || qos === 2 ? qos : 0, retain: retain === true } as const
  return {
    original,
    clientId,
    topic,
    output: restoreBytes(output ?? {}) as RuleMap,
    atMs: typeof atMs === 'number' ? atMs : undefined,
  }
}

/** Returns the JSON of the columns of a stored result, for lists of dead letters. */
export function formatResultColumns(result: Buffer): string {
  const stored = readResult(result)
  return 'failure' in stored ? '' : toJsonText(stored.output)
}

const bytesKey = '$base64'

/** Converts objects with the one key `$base64` to bytes: their JSON form, if they are not valid UTF-8. */
export function restoreBytes(value: RuleValue): RuleValue {
  if (Array.isArray(value)) return value.map((item: RuleValue) => restoreBytes(item))
  // Objects with another prototype are numbers.
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value)
  const [[key, bytes] = []] = members
  if (members.length === 1 && key === bytesKey && typeof bytes === 'string') return Buffer.from(bytes, 'base64')
  return Object.fromEntries(members.map(([name, member]: [string, RuleValue]) => [name, restoreBytes(member)]))
}

/** A time that differs from 0 in each unit of time. */
const aLaterTimeMs = 1_000_000_000_000

/** Identifies a message to its service, so it stays when the entry is rendered again. */
const idAttribute = 'id'

/**
 * Returns the entry as the present templates render it. An entry without a result is sent as an earlier version stored it. `why`: the
 * templates cannot render the result.
 */
export function renderEntry(
  entry: ActionEntry,
  { form, render }: { readonly form: string; readonly render: Render },
): ActionEntry | { readonly why: string } {
  if (entry.result === undefined || entry.form === form) return entry
  const stored = readResult(entry.result)
  if ('failure' in stored) return { why: stored.failure }
  try {
    if (stored.atMs === undefined && usesTime(render, stored.output)) return entry
    const { payload, attributes } = render(stored.output, stored.atMs)
    return {
      payload,
      attributes: [...attributes.map((each) => keepEarlierId(each, entry)), ...selectOwnAttributes(entry)],
    }
  } catch (error) {
    if (error instanceof RuleError || error instanceof TypeError) return { why: error.message }
    throw error
  }
}

/**
 * Returns whether the templates write the time of the rule. An earlier version has not stored this time with the result: only the payload that it
 * rendered has it.
 */
function usesTime(render: Render, output: RuleMap): boolean {
  return !render(output, 0).payload.equals(render(output, aLaterTimeMs).payload)
}

function keepEarlierId(attribute: readonly [string, string], entry: ActionEntry): readonly [string, string] {
  if (attribute[0] !== idAttribute) return attribute
  return entry.attributes.find(([name]) => name === idAttribute) ?? attribute
}

/** Returns the attributes that the broker has added to those of the templates. */
function selectOwnAttributes({ attributes }: ActionEntry): ActionEntry['attributes'] {
  return attributes.filter(([name]) => name === 'rule' || name.startsWith('!'))
}
