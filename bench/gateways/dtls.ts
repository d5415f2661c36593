// Measures how many DTLS handshakes with pre-shared keys one shard completes per second of processor time.
//
//   node bench/gateways/dtls.ts [handshakes]
//
// Server and client are in one process, without sockets; only the time within the server counts.

import { DtlsWorld } from '../../test/dtls/dtls-world.ts'

const handshakes = Number(process.argv[2] ?? 5_000)
const warmUp = 500
const suites = { 'PSK CCM_8': 0xc0a8, 'PSK GCM': 0x00a8, 'ECDHE_PSK CCM_8': 0xd003 } as const
const msPerSecond = 1_000
const microsPerMs = 1_000

function measure(suite: number): number {
  const world = new DtlsWorld({ maxSessions: handshakes + warmUp })
  let serverMs = 0
  for (let count = 0; count < handshakes + warmUp; count++) {
    if (count === warmUp) serverMs = 0
    const peer = { address: `192.0.${count >> 8}.${count & 255}`, port: 1_000 }
    const client = world.client({ suite })
    client.start()
    while (client.outbox.length > 0) {
      for (const datagram of client.outbox.splice(0)) {
        const start = process.threadCpuUsage()
        world.server.handleDatagram(datagram, peer)
        const { user, system } = process.threadCpuUsage(start)
        serverMs += (user + system) / microsPerMs
      }
      for (const { datagram } of world.sent.splice(0)) client.receive(datagram)
    }
    if (!client.isOpen) throw new Error('a handshake failed')
  }
  return (handshakes / serverMs) * msPerSecond
}

for (const [name, suite] of Object.entries(suites))
  console.log(`${name}: ${Math.round(measure(suite)).toLocaleString('en')} handshakes/s of processor time`)
