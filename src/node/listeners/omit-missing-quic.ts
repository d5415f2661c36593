import type { Log } from '../../telemetry/index.ts'
import { findQuicProblem } from '../../transports/index.ts'
import type { ListenerAddress } from './listener-addresses.ts'

/** Returns the listeners without those for QUIC if the QUIC library is not available on this machine. */
export async function omitMissingQuic(
  listeners: readonly ListenerAddress[],
  log: Log,
): Promise<readonly ListenerAddress[]> {
  const overQuic = listeners.filter(({ kind }) => kind === 'quic')
  const problem = overQuic.length === 0 ? undefined : await findQuicProblem()
  if (problem === undefined) return listeners
  for (const { name, port } of overQuic) {
    log.warn('listener not available', { listener: `quic:${name}`, port, why: problem })
  }
  return listeners.filter(({ kind }) => kind !== 'quic')
}
