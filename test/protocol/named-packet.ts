// A packet with a name, its bytes and its fields, for tests of reading and writing.

import type { ProtocolVersion, Role } from '../../src/protocol/index.ts'
import type { PlainPacket } from './decoding.ts'

export interface NamedPacket {
  readonly name: string
  readonly version: ProtocolVersion
  /** The end that reads it. */
  readonly role: Role
  readonly bytes: Buffer
  readonly packet: PlainPacket
  /** Another encoding of the previous packet: it is read as the same packet, and written as the previous one. */
  readonly isOnlyRead?: true
}
