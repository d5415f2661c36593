// Mutated DTLS records and handshakes in memory: no input ends the process, reaches the gateway, or gets a response that is
// more than three times as long while its address is not verified [F8 of the gateway requirements].

import assert from 'node:assert/strict'
import { DtlsWorld } from '../dtls/dtls-world.ts'
import { Amplification, mutate, randomOf } from './fuzz-gateway.ts'

const suites = [0xc0a8, 0xc0a4, 0x00a8, 0xd003]
const maxSessions = 64
/** Mutated copies of each datagram of a client. */
const copies = 8
const portsOfClients = 4_096
const maxUnauthenticatedPorts = 60_000
const microsPerMs = 1_000
/** Maximum time for one datagram. */
const maxHandlingMs = 10

export interface FuzzedDtls {
  readonly opened: number
  readonly refused: number
  readonly responses: number
  /** Largest ratio of responses to unverified addresses. */
  readonly amplification: Amplification
  readonly maxMs: number
  /** Indices of the datagrams that took too long. A seed gives the same datagrams in each run. */
  readonly slowAt: readonly number[]
}

export function fuzzDtls({
  count,
  seed,
  report,
}: {
  readonly count: number
  readonly seed: number
  readonly report?: (done: number) => void
}): FuzzedDtls {
  const world = new DtlsWorld({ maxSessions, usesConnectionIds: true })
  const random = randomOf(seed)
  let [responses, maxMs, opened, refused] = [0, 0, 0, 0]
  const slowAt: number[] = []
  const amplification = new Amplification()
  const progress = { done: 0 }
  const give = (datagram: Buffer, peer: { readonly address: string; readonly port: number }): number => {
    const before = world.sent.length
    // Processor time, because elapsed time depends on other work of the machine.
    const start = process.threadCpuUsage()
    world.server.handleDatagram(datagram, peer)
    const { user, system } = process.threadCpuUsage(start)
    const tookMs = (user + system) / microsPerMs
    maxMs = Math.max(maxMs, tookMs)
    if (tookMs > maxHandlingMs) slowAt.push(progress.done)
    const bytes = world.sent.slice(before).reduce((sum, one) => sum + one.datagram.length, 0)
    world.sent.length = before
    return bytes
  }
  const fuzz = (datagram: Buffer, port: number): void => {
    for (let copy = 0; copy < copies && progress.done < count; copy++, progress.done++) {
      if (progress.done % 100_000 === 0) report?.(progress.done)
      const mutated = mutate(datagram, random)
      const isUnauthenticated = random(2) === 0
      const address = isUnauthenticated ? `198.51.100.${random(250)}` : '192.0.2.1'
      const bytes = give(mutated, { address, port: isUnauthenticated ? 1_024 + random(maxUnauthenticatedPorts) : port })
      if (bytes > 0) responses++
      if (!isUnauthenticated) continue
      amplification.note(bytes, mutated.length)
      assert.ok(bytes <= Math.max(64, mutated.length * 3), `${bytes} octets to ${mutated.toString('hex')}`)
    }
  }
  for (let run = 0; progress.done < count; run++) {
    const port = 1_000 + (run % portsOfClients)
    const client = world.client({ suite: suites[random(suites.length)] ?? 0xc0a8 })
    client.start()
    // Sends each flight of the client unchanged, after mutated copies of it.
    while (client.outbox.length > 0) {
      for (const datagram of client.outbox.splice(0)) {
        fuzz(datagram, port)
        world.server.handleDatagram(datagram, { address: '192.0.2.1', port })
      }
      for (const { datagram } of world.sent.splice(0)) client.receive(datagram)
    }
    // A mutated hello with a valid cookie may have started another handshake.
    if (client.isOpen) client.send('after the handshake')
    for (const datagram of client.outbox.splice(0)) fuzz(datagram, port)
    assert.ok(world.server.sessions <= maxSessions)
    assert.ok(
      world.messages.every((text) => text.endsWith('after the handshake')),
      'a record that was changed on its way reaches no client',
    )
    opened += world.opened.length
    refused += world.refused.length
    for (const list of [world.messages, world.opened, world.closed, world.refused]) list.length = 0
    world.pass(random(1_000))
    world.sent.length = 0
  }
  return { opened, refused, responses, amplification, maxMs, slowAt }
}
