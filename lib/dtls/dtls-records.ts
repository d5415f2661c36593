// Records of DTLS 1.2 (RFC 6347 4.1), and with a connection id (RFC 9146):
//
//   type 1 | version 2 | epoch 2 | sequence 6 | length 2 | body
//   type 25, version 2 | epoch 2 | sequence 6 | connection id | length 2 | body

import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { CipherSuite } from './cipher-suites.ts'

export const contentTypes = {
  changeCipherSpec: 20,
  alert: 21,
  handshake: 22,
  applicationData: 23,
  connectionId: 25,
} as const

export const dtls12 = 0xfefd
export const dtls10 = 0xfeff
export const recordHeaderBytes = 13
/** Maximum number of handled records in one datagram: a flight has fewer than ten. */
const maxRecords = 64
const explicitNonceBytes = 8
const maxPlaintextBytes = 16_384
const lengthBytes = 2
/** RFC 9146 5.3: replaces the sequence number. */
const placeholder = Buffer.alloc(8, 0xff)

export interface DtlsRecord {
  readonly type: number
  readonly version: number
  readonly epoch: number
  readonly sequence: number
  /** Empty except for records of type 25. */
  readonly connectionId: Buffer
  readonly body: Buffer
}

const noConnectionId = Buffer.alloc(0)

/**
 * Returns the records of a datagram up to the first malformed one. `ownIdBytes`: length of the server's connection IDs.
 */
export function parseRecords(datagram: Buffer, ownIdBytes: number): DtlsRecord[] {
  const records: DtlsRecord[] = []
  for (let at = 0; records.length < maxRecords && datagram.length - at >= recordHeaderBytes;) {
    const type = datagram.readUInt8(at)
    const idBytes = type === contentTypes.connectionId ? ownIdBytes : 0
    const isUnknown = type < contentTypes.changeCipherSpec || type > contentTypes.connectionId
    if (isUnknown || (type === contentTypes.connectionId && idBytes === 0)) break
    const start = at + recordHeaderBytes + idBytes
    if (start > datagram.length) break
    const version = datagram.readUInt16BE(at + 1)
    const end = start + datagram.readUInt16BE(start - lengthBytes)
    if (end > datagram.length || (version !== dtls12 && version !== dtls10)) break
    records.push({
      type,
      version,
      epoch: datagram.readUInt16BE(at + 3),
      sequence: datagram.readUIntBE(at + 5, 6),
      connectionId: idBytes === 0 ? noConnectionId : datagram.subarray(at + 11, at + 11 + idBytes),
      body: datagram.subarray(start, end),
    })
    at = end
  }
  return records
}

export interface RecordFields {
  readonly type: number
  readonly version: number
  readonly epoch: number
  readonly sequence: number
}

export function writeRecord(fields: RecordFields, body: Buffer, connectionId: Buffer = noConnectionId): Buffer {
  const bytes = Buffer.allocUnsafe(recordHeaderBytes + connectionId.length + body.length)
  bytes.writeUInt8(fields.type, 0)
  bytes.writeUInt16BE(fields.version, 1)
  bytes.writeUInt16BE(fields.epoch, 3)
  bytes.writeUIntBE(fields.sequence, 5, 6)
  connectionId.copy(bytes, 11)
  bytes.writeUInt16BE(body.length, 11 + connectionId.length)
  body.copy(bytes, recordHeaderBytes + connectionId.length)
  return bytes
}

/** Protects or opens the records of one direction of an epoch. */
export class RecordProtection {
  readonly #suite: CipherSuite
  readonly #key: Buffer
  readonly #iv: Buffer
  /** Connection ID in this direction; empty: none. */
  readonly #connectionId: Buffer

  constructor(suite: CipherSuite, key: Buffer, iv: Buffer, connectionId: Buffer = noConnectionId) {
    this.#suite = suite
    this.#key = key
    this.#iv = iv
    this.#connectionId = connectionId
  }

  /** Difference in size between a record and its content. */
  get overheadBytes(): number {
    const idBytes = this.#connectionId.length === 0 ? 0 : this.#connectionId.length + 1
    return recordHeaderBytes + explicitNonceBytes + this.#suite.tagBytes + idBytes
  }

  /** Returns a complete record. */
  seal(fields: RecordFields, plaintext: Buffer): Buffer {
    const hasId = this.#connectionId.length > 0
    const inner = hasId ? Buffer.concat([plaintext, Buffer.from([fields.type])]) : plaintext
    const explicit = encodeSequence(fields)
    const nonce = Buffer.concat([this.#iv, explicit])
    const cipher = createCipheriv(this.#mode, this.#key, nonce, { authTagLength: this.#suite.tagBytes })
    cipher.setAAD(this.#createAdditionalData(fields, inner.length), { plaintextLength: inner.length })
    const encrypted = cipher.update(inner)
    cipher.final()
    const body = Buffer.concat([explicit, encrypted, cipher.getAuthTag()])
    return hasId
      ? writeRecord({ ...fields, type: contentTypes.connectionId }, body, this.#connectionId)
      : writeRecord(fields, body)
  }

  /** Undefined if the peer has not sent it. */
  open(record: DtlsRecord): { readonly type: number; readonly plaintext: Buffer } | undefined {
    const { tagBytes } = this.#suite
    const { body, connectionId } = record
    const length = body.length - explicitNonceBytes - tagBytes
    if (length < 0 || length > maxPlaintextBytes + 1 || !connectionId.equals(this.#connectionId)) return undefined
    const nonce = Buffer.concat([this.#iv, body.subarray(0, explicitNonceBytes)])
    const decipher = createDecipheriv(this.#mode, this.#key, nonce, { authTagLength: tagBytes })
    decipher.setAuthTag(body.subarray(body.length - tagBytes))
    decipher.setAAD(this.#createAdditionalData(record, length), { plaintextLength: length })
    let plaintext: Buffer
    try {
      plaintext = decipher.update(body.subarray(explicitNonceBytes, body.length - tagBytes))
      decipher.final()
    } catch {
      // These calls throw only for invalid authentication.
      return undefined
    }
    return connectionId.length === 0 ? { type: record.type, plaintext } : readInnerType(plaintext)
  }

  get #mode(): 'aes-128-ccm' {
    // Node's types distinguish the two modes, but these calls are the same for both.
    return this.#suite.cipher as 'aes-128-ccm'
  }

  #createAdditionalData(fields: RecordFields, length: number): Buffer {
    const id = this.#connectionId
    const sequence = encodeSequence(fields)
    if (id.length === 0) {
      const head = Buffer.from([fields.type, fields.version >> 8, fields.version & 0xff, length >> 8, length & 0xff])
      return Buffer.concat([sequence, head])
    }
    const type = contentTypes.connectionId
    const head = Buffer.from([type, id.length, type, fields.version >> 8, fields.version & 0xff])
    return Buffer.concat([placeholder, head, sequence, id, Buffer.from([length >> 8, length & 0xff])])
  }
}

function encodeSequence({ epoch, sequence }: RecordFields): Buffer {
  const bytes = Buffer.allocUnsafe(explicitNonceBytes)
  bytes.writeUInt16BE(epoch, 0)
  bytes.writeUIntBE(sequence, 2, 6)
  return bytes
}

/** RFC 9146 4: the type is the last byte that is not zero. */
function readInnerType(inner: Buffer): { readonly type: number; readonly plaintext: Buffer } | undefined {
  let end = inner.length
  while (end > 0 && inner[end - 1] === 0) end -= 1
  const type = inner[end - 1]
  return type === undefined ? undefined : { type, plaintext: inner.subarray(0, end - 1) }
}
