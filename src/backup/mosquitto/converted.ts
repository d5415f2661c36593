/** The result of the conversion of a file of mosquitto. */
export interface Converted<Value> {
  readonly value: Value
  /** Sentences about what was not converted. */
  readonly skipped: readonly string[]
}
