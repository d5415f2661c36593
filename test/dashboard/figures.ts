// `npm run dashboard:figures -- [--clients 100000] [--rate 5000] [--seconds 20]`: how long the page keeps the browser busy while many
// clients are connected and messages come fast. Prints the tasks of the browser that took longer than 50 ms, for the pages Topics,
// Overview and Clients. Use a machine that does nothing else.

import { connectAsync } from 'mqtt'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Scope } from '../e2e/godwit-process.ts'
import { administrator, type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '100000' },
    rate: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '20' },
  },
})
const clients = Number(values.clients)
const messagesPerSecond = Number(values.rate)
const measuredMs = Number(values.seconds) * 1_000
/** One address has ports for so many. */
const clientsPerAddress = 20_000
const clientsAtOnce = 200
const publishMs = 10
const topics = 500

const ends: (() => unknown)[] = []
const scope: Scope = { after: (end) => void ends.push(end) }
try {
  await measure()
} finally {
  for (const end of ends.toReversed()) await end()
}

async function measure(): Promise<void> {
  const broker = await startBrokerWithApi(scope)
  await connectClients(broker.port)
  await publishAlways(broker.port)
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  ends.push(() => browser.close())
  for (const route of ['#/topics', '#/overview', '#/clients']) {
    const tasks = await longTasksAt(broker, browser, route)
    const longest = Math.max(0, ...tasks).toFixed(0)
    process.stdout.write(
      `${route}: ${tasks.length} tasks longer than 50 ms, longest ${longest} ms (${clients} clients, ${messagesPerSecond} messages/s)\n`,
    )
  }
}

async function longTasksAt(broker: BrokerWithApi, browser: Browser, route: string): Promise<readonly number[]> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } })
  await signIn(page, broker, route)
  if (route === '#/topics') {
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.getByRole('treeitem').first().click()
  }
  await page.evaluate(() => {
    const durations: number[] = []
    Object.assign(globalThis, { durations })
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) durations.push(duration)
    }).observe({ type: 'longtask' })
  })
  await page.waitForTimeout(measuredMs)
  const tasks = await page.evaluate(() => (globalThis as unknown as { durations: number[] }).durations)
  await page.close()
  return tasks
}

async function signIn(page: Page, broker: BrokerWithApi, route: string): Promise<void> {
  await page.goto(`${broker.url}/dashboard/${route}`)
  const [username = '', password = ''] = administrator.split(':')
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Account', exact: true }).waitFor()
}

async function connectClients(port: number): Promise<void> {
  for (let first = 0; first < clients; first += clientsAtOnce) {
    const numbers = Array.from({ length: Math.min(clientsAtOnce, clients - first) }, (_, at) => first + at)
    const sockets = await Promise.all(numbers.map((number) => connectClient(port, number)))
    ends.push(() => sockets.forEach((socket) => socket.destroy()))
  }
}

/** CONNECT of MQTT 3.1.1, without keep alive; resolves with CONNACK. */
async function connectClient(port: number, number: number): Promise<Socket> {
  const localAddress = `127.0.0.${2 + Math.floor(number / clientsPerAddress)}`
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  const clientId = Buffer.from(`device-${number}`)
  const body = Buffer.concat([
    Buffer.from([0, 4]),
    Buffer.from('MQTT'),
    Buffer.from([4, 2, 0, 0, 0, clientId.length]),
    clientId,
  ])
  socket.write(Buffer.concat([Buffer.from([0x10, body.length]), body]))
  await once(socket, 'data')
  return socket
}

async function publishAlways(port: number): Promise<void> {
  const publisher = await connectAsync({ port, clientId: 'publisher' })
  ends.push(() => publisher.endAsync(true))
  let sent = 0
  const startedAtMs = performance.now()
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAtMs) * messagesPerSecond) / 1_000
    for (; sent < due; sent++) {
      publisher.publish(`plant/hall-${sent % 7}/device-${sent % topics}`, JSON.stringify({ degrees: 20 + (sent % 9) }))
    }
  }, publishMs)
  ends.push(() => clearInterval(timer))
}
