// What bridges want of the network: a URL becomes a connection.

import type { BridgeConnector, DialHandlers, Dialing } from '../../bridges/index.ts'
import { parseServerUrl, type ServerUrl } from '../../config/index.ts'
import { failedAssertion } from '../../protocol/index.ts'
import { dial, type DialSettings } from '../../transports/index.ts'

/** The link of a bridge, see `BridgeSettings`. */
export interface BridgeLink extends DialSettings {
  /** TLS also where the URL does not say so. */
  readonly usesTls: boolean
  /** For QUIC, where `connectTimeoutMs` is for the others. */
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
    if (!('url' in parsed)) throw failedAssertion(`${server} was read with the configuration`)
    const { url } = parsed
    const target = settings.usesTls ? { ...url, scheme: withTls[url.scheme] } : url
    const connectTimeoutMs = url.scheme === 'quic' ? settings.quicHandshakeTimeoutMs : settings.connectTimeoutMs
    return dial(target, { ...settings, connectTimeoutMs }, handlers)
  }
}
