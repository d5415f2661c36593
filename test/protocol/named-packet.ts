// A packet by name: its bytes beside its meaning, for reading and for writing.

import type { ProtocolVersion, Role } from '../../src/protocol/index.ts'
import type { PlainPacket } from './decoding.ts'

export interface NamedPacket {
  readonly name: string
  readonly version: ProtocolVersion
  /** The end that reads it. */
  readonly role: Role
  readonly bytes: Buffer
  readonly packet: PlainPacket
  /** Another spelling of the same: it is read, and written as the one named before it. */
  readonly isOnlyRead?: true
}
