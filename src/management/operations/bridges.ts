import type { DiskCacheConfig, MqttBridgeConfig } from '../../config/index.ts'
import type { Caller } from '../../contract/index.ts'

/** Which of a bridge's files: its certificate, its key, the authorities that it believes. */
export type BridgeFile = 'certfile' | 'keyfile' | 'cacertfile'

/** What the management asks of the node about bridges. */
export interface BridgeOperations {
  /** By name, in the order of the configuration. */
  list(): ReadonlyMap<string, MqttBridgeConfig>
  cache(): DiskCacheConfig
  /** The certificates in a file of a bridge, as PEM; undefined: there is none that can be read. */
  certificatesIn(file: string): Promise<string | undefined>
  /** Writes PEM of a bridge that exists into the data directory. Gives the name of the file. */
  keepPem(bridge: string, file: BridgeFile, pem: string): Promise<string>
  /** Settings by the names of the configuration; null: the default. What is not named stays. */
  change(
    bridge: string,
    settings: Readonly<Record<string, unknown>>,
    caller: Caller,
  ): Promise<BridgeProblem | undefined>
}

export interface BridgeProblem {
  readonly problem: string
  /** The settings are wrong, or they could not be written. */
  readonly isAbout: 'settings' | 'disk'
}
