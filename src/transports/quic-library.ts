// The library of QUIC. It is optional, so it is loaded where it is needed, and a machine that has none hears of it in a sentence.

import type * as http3 from '@currentspace/http3'

export type { QuicClientSession, QuicServer, QuicServerSession } from '@currentspace/http3'

/** Polling needs nothing of the system that a container might forbid. */
export const quicRuntime = { runtimeMode: 'portable', fallbackPolicy: 'error' } as const
/** ALPN of MQTT, registered by IANA. */
export const mqttOverQuic = 'mqtt'
/** Rejects where it is not there: ask `problemOfQuic` first. */
export function loadQuicLibrary(): Promise<typeof http3> {
  return import('@currentspace/http3')
}

/** Why this machine has no QUIC, and what to do about it, without a full stop; undefined: it has. */
export async function problemOfQuic(): Promise<string | undefined> {
  try {
    const library = await loadQuicLibrary()
    // What is compiled of it is only loaded when a listener is opened. This one never is: its key is none.
    await library.createQuicServer({ ...quicRuntime, key: '', cert: '' }).listen(0, '127.0.0.1')
    return undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') {
      return 'the package @currentspace/http3 is not installed; add it with npm install @currentspace/http3'
    }
    const isAboutLoading = /native binding|NativeQuicServer|dlopen|GLIBC/i.test(`${code} ${message}`)
    return isAboutLoading ? `the package @currentspace/http3 does not run on this machine: ${message}` : undefined
  }
}
