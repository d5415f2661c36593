// Loads the QUIC library, which is optional. If it is missing, `problemOfQuic` returns why.

import type * as http3 from '@currentspace/http3'

export type { QuicClientSession, QuicServer, QuicServerSession } from '@currentspace/http3'

/** Polling uses no system call that a container might forbid. */
export const quicRuntime = { runtimeMode: 'portable', fallbackPolicy: 'error' } as const
/** ALPN of MQTT, registered by IANA. */
export const mqttOverQuic = 'mqtt'
/** Loads the library. Rejects if the library is missing: call `problemOfQuic` first. */
export function loadQuicLibrary(): Promise<typeof http3> {
  return import('@currentspace/http3')
}

/** Returns why QUIC is unavailable, with the remedy, without a full stop; undefined if it is available. */
export async function findQuicProblem(): Promise<string | undefined> {
  try {
    const library = await loadQuicLibrary()
    // The native part is loaded only when a listener is opened. This one fails, because its key is empty.
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
