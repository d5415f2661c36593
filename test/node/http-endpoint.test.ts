// Changes of the address of the HTTP API, with simulated servers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authenticator, ManagementServer, ManagementSettings } from '../../src/management/index.ts'
import { type HttpPlace, HttpEndpoint } from '../../src/boot/http-endpoint.ts'

/** A simulated machine: a listener on all addresses of a port and another listener on this port exclude each other. */
class Machine {
  readonly listening: Set<string> = new Set()
  readonly settings: Map<string, ManagementSettings> = new Map()
  readonly events: string[] = []
  /** Addresses that the machine does not have. */
  readonly missing: Set<string> = new Set()

  readonly createServer = (settings: ManagementSettings): ManagementServer => {
    let place = ''
    return {
      listen: async (at) => {
        assert.ok('host' in at)
        const address = `${at.host}:${at.port === 0 ? 9_999 : at.port}`
        const [, port = ''] = address.split(':')
        const listenersOnPort = [...this.listening].filter((other) => other.endsWith(`:${port}`))
        const isTaken = listenersOnPort.some((other) => other === address || `${other} ${address}`.includes('0.0.0.0'))
        if (isTaken || this.missing.has(at.host)) return { problem: `http_server: cannot listen on ${address}` }
        place = address
        this.listening.add(place)
        this.settings.set(place, settings)
        this.events.push(`open ${place}`)
        return { port: Number(port) }
      },
      change: (changed) => {
        this.settings.set(place, changed)
        this.events.push(`change ${place}`)
      },
      close: async () => {
        if (this.listening.delete(place)) this.events.push(`close ${place}`)
      },
    }
  }
}

const unusedAuthenticator = {} as Authenticator
const some: ManagementSettings = {
  authenticator: unusedAuthenticator,
  maxBodyBytes: 1,
  maxUploadBytes: 1,
  maxRequests: 1,
}
const others: ManagementSettings = { ...some, maxRequests: 2 }

const at = (host: string, port: number): HttpPlace => ({ key: 'http_server.port', hosts: [host], port, isNamed: true })

interface Stage {
  readonly machine: Machine
  readonly served: HttpEndpoint
  readonly errors: string[]
}

function stage(): Stage {
  const machine = new Machine()
  const errors: string[] = []
  const note = (event: string): void => void errors.push(event)
  const log = { debug: note, info: note, warn: note, error: note }
  return { machine, served: new HttpEndpoint(machine.createServer, log), errors }
}

test('if the address is unchanged, the server stays open, and port 0 stands for its current port', async () => {
  const { machine, served } = stage()
  assert.equal(await served.change(at('127.0.0.1', 0), some), undefined)
  assert.equal(await served.change(at('127.0.0.1', 0), others), undefined)
  assert.equal(await served.change(at('127.0.0.1', 9_999), some), undefined)
  assert.deepEqual(machine.events, ['open 127.0.0.1:9999', 'change 127.0.0.1:9999', 'change 127.0.0.1:9999'])
  assert.equal(await served.change(undefined, some), undefined)
  assert.equal(served.address, undefined)
  assert.deepEqual([...machine.listening], [])
})

test('a new address is opened before the old one is closed', async () => {
  const { machine, served } = stage()
  await served.change(at('127.0.0.1', 1), some)
  assert.equal(await served.change(at('127.0.0.1', 2), others), undefined)
  assert.equal(await served.change(at('192.0.2.1', 2), others), undefined)
  assert.deepEqual(machine.events, [
    'open 127.0.0.1:1',
    'open 127.0.0.1:2',
    'close 127.0.0.1:1',
    'open 192.0.2.1:2',
    'close 127.0.0.1:2',
  ])
  assert.deepEqual(served.address, { host: '192.0.2.1', port: 2 })
})

test('if both addresses exclude each other, the old one is closed first', async () => {
  const { machine, served } = stage()
  await served.change(at('127.0.0.1', 1), some)
  assert.equal(await served.change(at('0.0.0.0', 1), others), undefined)
  assert.deepEqual(machine.events, ['open 127.0.0.1:1', 'close 127.0.0.1:1', 'open 0.0.0.0:1'])
})

test('if the new address cannot be opened, the old one stays open with its settings', async () => {
  const { machine, served, errors } = stage()
  machine.missing.add('192.0.2.7').add('0.0.0.0')
  await served.change(at('127.0.0.1', 1), some)
  assert.match((await served.change(at('192.0.2.7', 2), others))?.problem ?? '', /192\.0\.2\.7:2/)
  assert.match((await served.change(at('0.0.0.0', 1), others))?.problem ?? '', /0\.0\.0\.0:1/)
  assert.deepEqual([...machine.listening], ['127.0.0.1:1'])
  assert.equal(machine.settings.get('127.0.0.1:1'), some)
  assert.deepEqual(served.address, { host: '127.0.0.1', port: 1 })
  assert.equal(await served.change(at('127.0.0.1', 1), others), undefined, 'settings can be changed as before')
  assert.equal(machine.settings.get('127.0.0.1:1'), others)
  assert.deepEqual(errors, [])
})

test('a default address that cannot be opened is logged and is not an error', async () => {
  const { machine, served, errors } = stage()
  machine.missing.add('127.0.0.1')
  assert.equal(await served.change({ ...at('127.0.0.1', 1), isNamed: false }, some), undefined)
  assert.equal(served.address, undefined)
  assert.deepEqual(errors, ['HTTP API not available'])
})
