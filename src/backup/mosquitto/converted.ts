/** What was made of a file of mosquitto. */
export interface Converted<Value> {
  readonly value: Value
  /** What is not taken over, a sentence each. */
  readonly skipped: readonly string[]
}
