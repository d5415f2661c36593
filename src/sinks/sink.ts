// The parts of an action: a function that renders results as entries, and a sink that sends entries to the service.
//
//   rule output ──render──► ActionEntry ──► action queue (a persistent session) ──► Sink.write(batch) ──► service

import type { UserProperties } from '../protocol/index.ts'

/** The stored form of one result of a rule. */
export interface ActionEntry {
  readonly payload: Buffer
  /** Values for the service besides the payload, such as a path or a key. */
  readonly attributes: UserProperties
  /** The result of the rule. It is rendered again if the templates of the action have changed, and for fallbacks. */
  readonly result?: Buffer | undefined
  /** The form of the templates that made the payload; absent or undefined: an earlier version stored the entry. */
  readonly form?: string | undefined
}

/** The settings of one name of a section. */
export type NamedValue<Section> = Section extends { readonly named: ReadonlyMap<string, infer Value> } ? Value : never

/** A result of a rule. */
export type RuleData = Readonly<Record<string, unknown>>

/** A compiled text with placeholders. It throws for data that has no text form. */
export interface Template {
  readonly parts: readonly unknown[]
  render(data: RuleData): string | Uint8Array
  resolveValues(data: RuleData): unknown[]
}

/** The form of inserted values: see `TemplateEncoding` of the module `rules`. */
export type ValueEncoding = 'text' | 'json' | 'json-if-shaped' | 'path' | 'query' | 'key' | 'word' | 'topic' | 'index'

export type CompileTemplate = (text: string, encoding?: ValueEncoding) => Template

/** `atMs`: when the rule ran; absent or undefined: now. Throws RuleError or TypeError for data that has no entry. */
export type Render = (data: RuleData, atMs?: number) => ActionEntry

/** The outcome of one entry. */
export type WriteOutcome =
  | { readonly outcome: 'done' }
  /** The service cannot be reached, or cannot accept the entry now. */
  | { readonly outcome: 'retry'; readonly why: string }
  /** The service refuses this entry; a retry has the same outcome. */
  | { readonly outcome: 'refused'; readonly why: string }

export interface Sink {
  /** Sends a batch. Returns one outcome for each entry, in order. Never rejects. */
  write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]>
  /** Returns why the service is not available; undefined: it is available. Never rejects. */
  check(): Promise<string | undefined>
  /** Closes the connection. Writes in progress fail. */
  close(): void
}

/** Properties of the action and the node, for sinks. */
export interface SinkContext {
  readonly requestTimeoutMs: number
  /** `type:name` */
  readonly action: string
  readonly nodeName: string
  readonly compile: CompileTemplate
  /** Absolute path, to which relative paths are appended. */
  readonly dataDirectory: string
  /** Each shard has its own sinks. The first is 0. */
  readonly shard: number
}

export interface Batching {
  readonly batchSize: number
  readonly batchTimeMs: number
}

export type KeptOrder = 'calls' | 'batch' | 'nothing'

/** One kind of service. `Action` and `Connector`: their settings. */
export interface SinkType<Action, Connector> {
  /** Returns why the settings are invalid; the text begins with the name of a setting. Undefined: they are valid. */
  findConnectorProblem(connector: Connector): string | undefined
  findActionProblem(action: Action, compile: CompileTemplate): string | undefined
  createRenderer(action: Action, compile: CompileTemplate, allColumns: (data: RuleData) => string): Render
  /** Returns values that replace batch_size and batch_time; absent or undefined: the settings apply. */
  overrideBatching?(action: Action): Batching | undefined
  /** Returns a value that replaces max_retries; absent or undefined: the setting applies. */
  overrideMaxRetries?(action: Action): number | undefined
  /**
   * Returns the order in which writes take effect at the service. `calls`: in the order of `write` calls, also after a failure.
   * `batch`: only the entries of one call are in order. `nothing`: the entries of one call are sent at the same time, in no order.
   */
  findWriteOrder(action: Action): KeptOrder
  open(connector: Connector, action: Action, context: SinkContext): Sink
}

/** Returns the bytes of a text. A `Uint8Array` is not copied. */
export function toBytes(text: string | Uint8Array): Buffer {
  if (typeof text === 'string') return Buffer.from(text)
  return Buffer.from(text.buffer, text.byteOffset, text.byteLength)
}

/** Maximum bytes of one attribute: those of an MQTT string. */
const maxAttributeBytes = 65_535

/** Returns a text that becomes an attribute, such as a path. Throws TypeError if it cannot be an MQTT string. */
export function requireAttributeText(text: string | Uint8Array, subject: string): string {
  if (typeof text !== 'string' || !text.isWellFormed()) throw new TypeError(`${subject} is not valid UTF-8`)
  if (/\p{Cc}/u.test(text)) throw new TypeError(`${subject} has a control character`)
  if (Buffer.byteLength(text) > maxAttributeBytes)
    throw new TypeError(`${subject} is longer than ${maxAttributeBytes} bytes`)
  return text
}
