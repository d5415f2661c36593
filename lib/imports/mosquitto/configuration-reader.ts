// Reads mosquitto.conf and the files that it includes into listeners and options of the broker.

import { InvalidArchive } from '../../../src/archives/index.ts'
import { type ConfigurationFile, type ConfigurationLine, parseLines } from './configuration-lines.ts'
import {
  booleans,
  brokerNumbers,
  brokerTexts,
  isIgnored,
  listenerOptions,
  listenerSettings,
  pluginOptions,
  pluginReason,
  findReason,
  refusedOptions,
  securityOptions,
} from './configuration-options.ts'

export interface MosquittoListener {
  /** Undefined: not a TCP port. */
  readonly port: number | undefined
  readonly host: string | undefined
  protocol: string
  readonly options: Map<string, string>
  /** Options that `per_listener_settings` gives to each listener. */
  readonly security: Map<string, string>
  hasPlugin: boolean
  /** `mosquitto.conf, line 3: listener 1883` */
  readonly place: string
}

export interface MosquittoConfiguration {
  /** Those that mosquitto opens, with the listener of `port`. */
  readonly listeners: readonly MosquittoListener[]
  /** Without any listener, mosquitto 2 serves clients of the same machine only. */
  readonly isLocalOnly: boolean
  /** Undefined if `per_listener_settings` is true: each listener has its own. */
  readonly security: { readonly options: ReadonlyMap<string, string>; readonly hasPlugin: boolean } | undefined
  readonly broker: ReadonlyMap<string, string>
  /** Settings of Godwit. */
  readonly settings: readonly string[]
  /** Local client IDs of bridges; '': the bridge has a client ID that mosquitto generates. */
  readonly bridgeClientIds: ReadonlySet<string>
  readonly skipped: readonly string[]
}

const standardPort = 1_883

/** `included`: the files of each `include_dir`. Throws InvalidArchive if the import would allow more than mosquitto. */
export function readConfigurationFiles(
  main: ConfigurationFile,
  included: ReadonlyMap<string, readonly ConfigurationFile[]>,
): MosquittoConfiguration {
  const reader = new ConfigurationReader()
  reader.readMain(main, included)
  return reader.toConfiguration()
}

class ConfigurationReader {
  readonly #listeners: MosquittoListener[] = []
  /** The listener of `port`. */
  readonly #default = createListener(undefined, undefined, 'mosquitto.conf: the listener of "port"')
  readonly #security = new Map<string, string>()
  readonly #broker = new Map<string, string>()
  readonly #settings: string[] = []
  readonly #skipped: string[] = []
  readonly #bridgeClientIds = new Set<string>()
  #hasPlugin = false
  #isPerListener = false
  #current = this.#default

  readMain(main: ConfigurationFile, included: ReadonlyMap<string, readonly ConfigurationFile[]>): void {
    for (const line of parseLines(main)) {
      if (line.word !== 'include_dir') {
        this.#read(line)
        continue
      }
      const outer = this.#current
      for (const file of included.get(line.value) ?? []) {
        this.#current = this.#default
        for (const inner of parseLines(file)) this.#readIncluded(inner)
      }
      this.#current = outer
    }
  }

  toConfiguration(): MosquittoConfiguration {
    const { options, security, hasPlugin } = this.#default
    const port = this.#broker.get('port')
    const host = this.#broker.get('bind_address')
    const isConfigured =
      port !== undefined ||
      host !== undefined ||
      options.size > 0 ||
      hasPlugin ||
      security.has('password_file') ||
      security.has('psk_file')
    const isLocalOnly = port === undefined && host === undefined && this.#listeners.length === 0
    const own: MosquittoListener = {
      ...this.#default,
      port: Number(port ?? standardPort),
      host: host ?? (isLocalOnly ? '127.0.0.1' : undefined),
    }
    return {
      listeners: isConfigured || isLocalOnly ? [own, ...this.#listeners] : this.#listeners,
      isLocalOnly,
      security: this.#isPerListener ? undefined : { options: this.#security, hasPlugin: this.#hasPlugin },
      broker: this.#broker,
      settings: this.#settings,
      bridgeClientIds: this.#bridgeClientIds,
      skipped: this.#skipped,
    }
  }

  #readIncluded(line: ConfigurationLine): void {
    if (line.word === 'include_dir') this.#skip(line, 'mosquitto reads it in the main file only')
    else this.#read(line)
  }

  #read(line: ConfigurationLine): void {
    const { word, place } = line
    const refused = refusedOptions[word]
    if (refused !== undefined)
      throw new InvalidArchive(`${place}: ${word}: ${refused}: remove the line to import without it`)
    const value = booleans.has(word) ? readBoolean(line) : line.value
    if (word === 'connection') this.#bridgeClientIds.add('')
    if (word === 'local_clientid') this.#bridgeClientIds.add(value)
    if (word === 'listener') this.#addListener(line)
    else if (word === 'per_listener_settings') this.#isPerListener = value === 'true'
    else if (word === 'protocol') this.#current.protocol = value
    else if (word in listenerSettings || listenerOptions.has(word)) this.#current.options.set(word, value)
    else if (securityOptions.has(word)) (this.#isPerListener ? this.#current.security : this.#security).set(word, value)
    else if (pluginOptions.has(word)) this.#addPlugin(line)
    else if (word in brokerNumbers) this.#readNumber(line)
    else if (brokerTexts.has(word)) this.#broker.set(word, value)
    else if (word === 'retain_available') this.#settings.push(`mqtt.retain_available = ${value}`)
    else if (!isIgnored(word)) this.#skip(line, findReason(word))
  }

  #addListener({ word, value, place }: ConfigurationLine): void {
    const [port = '', host] = value.split(/\s+/)
    // The next options belong to this listener in any case.
    this.#current = createListener(isPort(port) ? Number(port) : undefined, host, `${place}: ${word} ${value}`)
    this.#listeners.push(this.#current)
  }

  #addPlugin(line: ConfigurationLine): void {
    if (this.#isPerListener) this.#current.hasPlugin = true
    else this.#hasPlugin = true
    this.#skip(line, pluginReason)
  }

  #readNumber(line: ConfigurationLine): void {
    const { word, value } = line
    if (value === '0') return this.#skip(line, 'Godwit has no setting for no limit: the default applies')
    if (!/^\d{1,9}$/.test(value)) return this.#skip(line, 'it is not a number')
    this.#settings.push(`${brokerNumbers[word] ?? ''} = ${value}`)
  }

  #skip({ word, place }: ConfigurationLine, why: string): void {
    this.#skipped.push(`${place}: ${word}: ${why}`)
  }
}

function createListener(port: number | undefined, host: string | undefined, position: string): MosquittoListener {
  return { port, host, protocol: 'mqtt', options: new Map(), security: new Map(), hasPlugin: false, place: position }
}

function readBoolean({ word, value, place }: ConfigurationLine): 'true' | 'false' {
  if (value === 'true' || value === '1') return 'true'
  if (value === 'false' || value === '0') return 'false'
  throw new InvalidArchive(
    `${place}: ${word}: the value is neither true nor false, so mosquitto does not start with it`,
  )
}

const isPort = (word: string): boolean => /^\d{1,5}$/.test(word) && Number(word) >= 1 && Number(word) <= 65_535
