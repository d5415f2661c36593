// Alarms of the store of one shard.

import type { StorageAlarm } from '../store.ts'
import type { ShardStopped } from './shard-writer.ts'

export interface StoreAlarmsOptions {
  readonly shard: number
  readonly isReplicated: boolean
  readonly onAlarm: (alarm: StorageAlarm) => void
  readonly onAlarmEnd: (alarm: StorageAlarm['alarm']) => void
}

export class StoreAlarms {
  readonly #options: StoreAlarmsOptions
  /** The first batch that is on one server only. */
  #unreplicatedFrom: number | undefined
  #hasSnapshot = false

  constructor(options: StoreAlarmsOptions) {
    this.#options = options
  }

  /** `standbyNames`: `synchronous_standby_names` of the server; empty: it waited for no standby. */
  recordDurable(sequence: number, standbyNames: string): void {
    const { shard, isReplicated, onAlarm, onAlarmEnd } = this.#options
    if (isReplicated) return
    if (standbyNames !== '') {
      if (this.#unreplicatedFrom !== undefined) onAlarmEnd(`store-unreplicated:${shard}`)
      this.#unreplicatedFrom = undefined
    } else if (this.#unreplicatedFrom === undefined) {
      this.#unreplicatedFrom = sequence
      const text = `Batches of shard ${shard} from ${sequence} on are on one server only, because synchronous_standby_names of the database is empty: acknowledged messages are lost if this server is. Name a standby there.`
      onAlarm({ alarm: `store-unreplicated:${shard}`, text })
    }
  }

  recordRepeated(first: number, last: number): void {
    const { shard, onAlarm } = this.#options
    const text = `The database went back: it had lost batches ${first} to ${last} of shard ${shard}, which are stored again. A standby that was behind was promoted: check which standbys may be.`
    onAlarm({ alarm: `store-went-back:${shard}`, text })
  }

  recordStopped({ reason, message }: ShardStopped): void {
    if (reason !== 'went-back') return
    const { shard, onAlarm } = this.#options
    const text = `The database went back, and shard ${shard} is stopped: ${message}. Promote a server that has them, or accept the loss.`
    onAlarm({ alarm: `store-went-back:${shard}`, text })
  }

  /** Undefined: no snapshot keeps deleted rows. */
  setSnapshot(text: string | undefined): void {
    const { shard, onAlarm, onAlarmEnd } = this.#options
    if (text !== undefined) onAlarm({ alarm: `store-snapshot:${shard}`, text })
    else if (this.#hasSnapshot) onAlarmEnd(`store-snapshot:${shard}`)
    this.#hasSnapshot = text !== undefined
  }
}
