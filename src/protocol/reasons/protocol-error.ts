import { reasonCodes, type ReasonCode, type ReasonName } from './reason-codes.ts'

/**
 * Invalid input of a client or a remote broker: thrown by decoders, caught in one place by their caller. `reason` is sent to
 * 5.0 clients in CONNACK or DISCONNECT; 3.1 and 3.1.1 clients are disconnected. The message is for logs and for the reason
 * string: it names the field, never its value.
 */
export class ProtocolError extends Error {
  readonly reason: ReasonCode

  constructor(reason: ReasonName, message: string) {
    super(message)
    this.name = 'ProtocolError'
    this.reason = reasonCodes[reason]
  }
}
