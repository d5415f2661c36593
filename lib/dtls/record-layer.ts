// Both directions of one association: epoch 0 unencrypted, epoch 1 protected. There is no third epoch, because
// renegotiation is not supported.

import { type DtlsRecord, dtls12, type RecordProtection, recordHeaderBytes, writeRecord } from './dtls-records.ts'
import { ReplayWindow } from './replay-window.ts'

export type Epoch = 0 | 1

export interface OpenedRecord {
  readonly type: number
  readonly plaintext: Buffer
  /** True if the record has the highest sequence number so far. Its address is then the newest. */
  readonly isLatest: boolean
}

export class RecordLayer {
  /** Next sequence number of each epoch. */
  readonly #nextSequences: [number, number]
  readonly #windows = [new ReplayWindow(), new ReplayWindow()] as const
  #read: RecordProtection | undefined
  #write: RecordProtection | undefined

  /**
   * `firstSequence`: of epoch 0. The server's first record has the sequence number of the client's record to which it
   * responds [RFC6347-4.2.1].
   */
  constructor(firstSequence: number) {
    this.#nextSequences = [firstSequence, 0]
  }

  protect(protections: { readonly read: RecordProtection; readonly write: RecordProtection }): void {
    this.#read = protections.read
    this.#write = protections.write
  }

  get canReadProtected(): boolean {
    return this.#read !== undefined
  }

  computeOverheadBytes(epoch: Epoch): number {
    return (epoch === 1 ? this.#write?.overheadBytes : undefined) ?? recordHeaderBytes
  }

  seal(type: number, epoch: Epoch, plaintext: Buffer): Buffer {
    const sequence = this.#nextSequences[epoch]++
    const fields = { type, version: dtls12, epoch, sequence }
    if (epoch === 0) return writeRecord(fields, plaintext)
    if (this.#write === undefined) throw new TypeError('there are no keys for epoch 1 yet')
    return this.#write.seal(fields, plaintext)
  }

  /** Undefined for a repeated record, an unknown epoch, or invalid authentication. */
  open(record: DtlsRecord): OpenedRecord | undefined {
    const { epoch, sequence } = record
    const window = epoch === 0 ? this.#windows[0] : epoch === 1 ? this.#windows[1] : undefined
    if (window?.isNew(sequence) !== true) return undefined
    const opened = epoch === 0 ? { type: record.type, plaintext: record.body } : this.#read?.open(record)
    if (opened === undefined) return undefined
    window.recordSequence(sequence)
    return { ...opened, isLatest: window.isLatest(sequence) }
  }
}
