// Measures the cost of encryption: messages, new connections and idle connections, over TCP and over TLS.
//
//   node bench/tls/tls.ts [--connections 2000] [--seconds 3]

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Authority } from '../../test/transports/certificates.ts'
import { type BrokerKind, godwit, otherBroker, startBroker } from '../load/brokers.ts'
import { cpuSeconds } from '../load/process-facts.ts'
import { generateIdle, generateLoad, plainLoad } from '../load/run-generator.ts'
import { number, printTable } from '../load/table.ts'

const { values } = parseArgs({
  options: { connections: { type: 'string', default: '2000' }, seconds: { type: 'string', default: '3' } },
})

const folder = mkdtempSync(join(tmpdir(), 'bench-tls-'))
process.on('exit', () => rmSync(folder, { recursive: true }))
const authority = new Authority('The authority of this measurement')
const server = authority.issue('localhost', { hostNames: ['127.0.0.1'] })
writeFileSync(join(folder, 'cert.pem'), server.certificate)
writeFileSync(join(folder, 'key.pem'), server.key)

const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const secure = [
  'node.shards=1',
  'listeners.ssl.bind=127.0.0.1:PORT',
  `listeners.ssl.certfile=${folder}/cert.pem`,
  `listeners.ssl.keyfile=${folder}/key.pem`,
].map((setting) => `--set ${setting}`)
const overTls = otherBroker(`"${process.execPath}" "${program}" start --data FOLDER/data ${secure.join(' ')}`)

const rows: string[][] = []
for (const [name, kind, ca] of [
  ['in the clear', godwit(), undefined],
  ['TLS 1.3', overTls, authority.certificate],
] as const) {
  rows.push([
    name,
    ...(await measureMessages(kind, ca, 0)),
    ...(await measureMessages(kind, ca, 1)),
    ...(await measureIdle(kind, ca)),
  ])
}
const heads = ['QoS 0 messages/s', 'broker us each', 'QoS 1 messages/s', 'broker us each']
printTable(['', ...heads, 'connections/s', 'broker us each', 'KiB each'], rows)

async function measureMessages(kind: BrokerKind, ca: string | undefined, qos: 0 | 1): Promise<string[]> {
  const broker = await startBroker(kind)
  try {
    const { deliveredPerSecond, brokerCpuShare } = await generateLoad({
      ...plainLoad,
      qos,
      publishers: 20,
      subscribers: 20,
      topics: 20,
      port: broker.port,
      brokerPid: broker.pid,
      seconds: Number(values.seconds),
      ...(ca === undefined ? {} : { ca }),
    })
    return [number(deliveredPerSecond), number(((brokerCpuShare ?? NaN) * 1e6) / deliveredPerSecond, 2)]
  } finally {
    await broker.stop()
  }
}

async function measureIdle(kind: BrokerKind, ca: string | undefined): Promise<string[]> {
  const broker = await startBroker(kind)
  const connections = Number(values.connections)
  try {
    const before = cpuSeconds(broker.pid) ?? NaN
    const result = await generateIdle({
      port: broker.port,
      brokerPid: broker.pid,
      version: 4,
      connections,
      ...(ca === undefined ? {} : { ca }),
    })
    const spent = (cpuSeconds(broker.pid) ?? NaN) - before
    return [
      number(result.connectionsPerSecond),
      number((spent * 1e6) / connections),
      number(result.kibPerConnection ?? NaN, 1),
    ]
  } finally {
    await broker.stop()
  }
}
