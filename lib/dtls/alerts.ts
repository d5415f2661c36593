// Alerts of DTLS (RFC 5246 7.2), and the error that ends a handshake with one.

export const alerts = {
  closeNotify: 0,
  unexpectedMessage: 10,
  handshakeFailure: 40,
  badCertificate: 42,
  unsupportedCertificate: 43,
  certificateExpired: 45,
  certificateUnknown: 46,
  illegalParameter: 47,
  unknownCa: 48,
  decodeError: 50,
  decryptError: 51,
  protocolVersion: 70,
  noRenegotiation: 100,
} as const

export type AlertName = keyof typeof alerts

export const alertLevels = { warning: 1, fatal: 2 } as const

/** Input of the peer that ends its handshake. */
export class HandshakeFailure extends Error {
  readonly alert: AlertName

  constructor(alert: AlertName, message: string) {
    super(message)
    this.alert = alert
  }
}

export function writeAlert(level: keyof typeof alertLevels, name: AlertName): Buffer {
  return Buffer.from([alertLevels[level], alerts[name]])
}
