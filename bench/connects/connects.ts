// Measures the cost of authentication: clients connect and disconnect.
//
//   node bench/connects/connects.ts [--clients 20000] [--users 10000] [--at-once 64]
//
// Each connection sends CONNECT with user name and password, waits for CONNACK and is closed: once with anonymous clients, once with users
// whose passwords are stored as salted SHA-256. The measurement is the processor time of the broker.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { otherBroker, pinSelf, startBroker } from '../load/brokers.ts'
import { cpuSeconds } from '../load/process-facts.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    clients: { type: 'string', default: '20000' },
    users: { type: 'string', default: '10000' },
    'at-once': { type: 'string', default: '64' },
  },
})

const clients = Number(options.clients)
const users = Number(options.users)
const atOnce = Number(options['at-once'])

const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'bench-connects-'))

pinSelf()
const rows: string[][] = []
for (const [name, isKnown] of [
  ['anonymous clients', false],
  ['users, salted SHA-256', true],
] as const) {
  const broker = await startBroker(
    otherBroker(`"${process.execPath}" "${program}" start ${wordsFor(isKnown ? users : 0)}`),
  )
  try {
    await run(broker.port, clients / 4)
    const cpuBefore = cpuSeconds(broker.pid) ?? Number.NaN
    const beganMs = performance.now()
    await run(broker.port, clients)
    const seconds = (performance.now() - beganMs) / 1_000
    const cpu = (cpuSeconds(broker.pid) ?? Number.NaN) - cpuBefore
    rows.push([name, number(clients / seconds), number((cpu / clients) * 1e6, 1)])
  } finally {
    await broker.stop()
  }
}
rmSync(folder, { recursive: true })
printTable(['clients', 'let in a second', 'processor time each, us'], rows)

function wordsFor(known: number): string {
  const file = join(folder, `${known}.conf`)
  const passwords = Array.from({ length: known }, (_, index) => `user-${index} = password-${index}`)
  const lines = ['node.shards = 1', 'log.level = error', `auth.password {`, ...passwords, '}']
  writeFileSync(file, lines.join('\n'))
  return `--data "FOLDER/data" --config "${file}" --set listeners.tcp.bind=127.0.0.1:PORT`
}

async function run(port: number, count: number): Promise<void> {
  let next = 0
  const oneAfterTheOther = async (): Promise<void> => {
    while (next < count) await comeAndGo(port, next++)
  }
  await Promise.all(Array.from({ length: atOnce }, oneAfterTheOther))
}

function comeAndGo(port: number, index: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('error', reject)
    socket.write(connectFrame(`client-${index}`, `user-${index % users}`, `password-${index % users}`))
    socket.once('data', (connack) => {
      if (connack[3] !== 0) reject(new Error(`refused with ${connack[3]}`))
      socket.destroy()
      resolve()
    })
  })
}

function connectFrame(clientId: string, username: string, password: string): Buffer {
  const texts = [clientId, username, password].map((text) => [Buffer.from([0, text.length]), Buffer.from(text)])
  const body = Buffer.concat([Buffer.from([0, 4, 77, 81, 84, 84, 4, 0xc2, 0, 60]), ...texts.flat()])
  return Buffer.concat([Buffer.from([0x10, body.length]), body])
}
