/** The result of the conversion of a file of mosquitto. */
export interface Converted<Value> {
  readonly value: Value
  /** Sentences that name what was not converted. */
  readonly skipped: readonly string[]
  /** Sentences that name what allows less than before. */
  readonly stricter: readonly string[]
}
