// Opens connections to URLs for bridges.

import type { BridgeConnector, DialHandlers, Dialing } from '../../bridges/index.ts'
import { parseServerUrl, type ServerUrl } from '../../config/index.ts'
import { createAssertionError } from '../../protocol/index.ts'
import { dial, type DialSettings } from '../../transports/index.ts'

/** Connection settings of a bridge, see `BridgeSettings`. */
export interface BridgeLink extends DialSettings {
  /** Uses TLS even if the URL does not say so. */
  readonly usesTls: boolean
  /** For QUIC; the others use `connectTimeoutMs`. */
  readonly quicHandshakeTimeoutMs: number
}

const withTls = { tcp: 'tls', tls: 'tls', ws: 'wss', wss: 'wss', quic: 'quic' } as const satisfies Record<
  ServerUrl['scheme'],
  ServerUrl['scheme']
>

export class BridgeDialer implements BridgeConnector {
  dial(server: string, link: object, handlers: DialHandlers): Dialing {
    const settings = link as BridgeLink
    const parsed = parseServerUrl(server)
    if (!('url' in parsed)) throw createAssertionError(`${server} was read with the configuration`)
    const { url } = parsed
    const target = settings.usesTls ? { ...url, scheme: withTls[url.scheme] } : url
    const connectTimeoutMs = url.scheme === 'quic' ? settings.quicHandshakeTimeoutMs : settings.connectTimeoutMs
    return dial(target, { ...settings, connectTimeoutMs }, handlers)
  }
}
