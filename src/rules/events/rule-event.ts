// A message or an event, as rules read it.

import {
  decodeJson,
  isText,
  type MapBuilder,
  RuleError,
  type RuleMap,
  type RuleValue,
  setKey,
  toRuleText,
} from '../../values/index.ts'
import type { EventName } from './event-definitions.ts'

/** The columns of one message or event. A higher module implements it over its own message, without copies. */
export interface EventFields {
  readonly event: EventName
  /**
   * A column, or undefined. It is read for each use in a rule, except `payload`, which is read once. Bytes must not
   * change while outputs and stored values of rules are in use: bytes of a reused buffer are copied first.
   */
  readColumn(name: string): RuleValue
  /** All columns that have a value, for `*`. */
  listColumnNames(): readonly string[]
}

/** One message or event for all rules that it matches. The payload is decoded once at most, and only if it is used. */
export class RuleEvent {
  readonly fields: EventFields
  #payload: RuleValue
  #hasPayload = false
  #decoded: RuleValue
  #decodeError: RuleError | undefined
  #isDecoded = false

  constructor(fields: EventFields) {
    this.fields = fields
  }

  readColumn(name: string): RuleValue {
    return name === 'payload' ? this.readPayload() : toCanonical(this.fields.readColumn(name))
  }

  readPayload(): RuleValue {
    if (!this.#hasPayload) {
      this.#payload = toCanonical(this.fields.readColumn('payload'))
      this.#hasPayload = true
    }
    return this.#payload
  }

  /** The payload as JSON, or as it is if it is not text. Throws RuleError if it is not JSON. */
  readDecodedPayload(): RuleValue {
    if (!this.#isDecoded) {
      this.#isDecoded = true
      const payload = this.readPayload()
      if (!isText(payload)) this.#decoded = payload
      else this.#decodePayload(payload)
    }
    if (this.#decodeError !== undefined) throw this.#decodeError
    return this.#decoded
  }

  #decodePayload(payload: string | Uint8Array): void {
    try {
      this.#decoded = decodeJson(payload)
    } catch (error) {
      if (!(error instanceof RuleError)) throw error
      const message = payload.length === 0 ? 'the payload is empty, not JSON' : `the payload is ${error.message}`
      this.#decodeError = new RuleError(message, error.kind)
    }
  }

  /** All columns, as a new map. */
  collectColumns(): MapBuilder {
    const map: MapBuilder = {}
    for (const name of this.fields.listColumnNames()) {
      const value = this.readColumn(name)
      if (value !== undefined) setKey(map, name, value)
    }
    return map
  }
}

function toCanonical(value: RuleValue): RuleValue {
  return value instanceof Uint8Array ? toRuleText(value) : value
}

/** Event fields from a map, for tests and samples. */
export function toEventFields(event: EventName, columns: RuleMap): EventFields {
  return {
    event,
    readColumn: (name) => (Object.hasOwn(columns, name) ? columns[name] : undefined),
    listColumnNames: () => Object.keys(columns),
  }
}
